package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// ReadPeers reads what `make bench-peers` wrote; of several runs the last.
func ReadPeers(r io.Reader) (*report.Peers, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	var peers *report.Peers
	for n := 1; in.Scan(); n++ {
		var l struct {
			Peers *report.Peers
			Peer  *report.Peer
		}
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("cannot read peers: line %d: %w", n, err)
		}
		switch {
		case l.Peers != nil:
			peers = l.Peers
		case peers == nil || l.Peer == nil:
			return nil, fmt.Errorf("cannot read peers: line %d is of no run", n)
		default:
			peers.Results = append(peers.Results, *l.Peer)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("cannot read peers: %w", err)
	}
	return peers, nil
}

// peersOf reads the peers of a run's corpus; nil when no file has them, or has
// those of another.
func peersOf(path string, record *corpus.Record) (*report.Peers, error) {
	if path == "" || record == nil {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read peers: %w", err)
	}
	defer f.Close()
	p, err := ReadPeers(f)
	if err != nil || p == nil || p.Positions != record.Shape.Positions || p.Genesis != record.Spec.Genesis {
		return nil, err
	}
	return p, nil
}

// peersGoal is met by less CPU time than every peer's on every question that it
// can answer.
func peersGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	const most = 4 // that are named
	if r.Peers == nil {
		return "", report.NotMeasured
	}
	ahead, asked, missing := 0, 0, 0
	var behind []string
	for i := range r.Peers.Results {
		p := &r.Peers.Results[i]
		switch {
		case p.Why == report.Cannot:
			continue
		case p.Why != "" || p.RatioCPU == 0:
			missing++
			continue
		}
		asked++
		if p.RatioCPU >= 1 {
			ahead++
		} else if len(behind) < most {
			behind = append(behind, fmt.Sprintf("%s on %s (%.2f x)", p.Peer, p.Question, p.RatioCPU))
		}
	}
	text := fmt.Sprintf("ahead on %d of %d by CPU", ahead, asked)
	if len(behind) > 0 {
		text += ", behind " + strings.Join(behind, ", ")
	}
	if more := asked - ahead - len(behind); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if asked == 0 || missing > 0 {
		return fmt.Sprintf("%s; %d not measured", text, missing), report.NotMeasured
	}
	return text, judge(ahead == asked)
}
