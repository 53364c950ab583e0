package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// peersOf reads what `make bench-peers` wrote about a corpus; nil when there is
// no file, or one about another corpus.
func peersOf(path string, record *corpus.Record) (*report.Peers, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}

	p := new(report.Peers)
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the peers in %s: %w", path, err)
	}
	if p.Positions != record.Shape.Positions || p.Genesis != record.Spec.Genesis {
		return nil, nil
	}
	return p, nil
}

// peersFigure is the row of the peers: met by less CPU time than every peer's
// on every question that it can answer, with the key check before them and
// without.
func peersFigure(peers *report.Peers) report.Figure {
	f := report.Figure{
		Number: "17", What: "the peers, with the key check and without", Yardstick: "each of them, by CPU",
		Goal: "ahead on every question that it can answer", Reached: "not in this run",
		Verdict: report.NotMeasured,
	}
	if peers == nil {
		return f
	}

	asked, missing := 0, 0
	var behind []string
	for i := range peers.Results {
		p := &peers.Results[i]
		switch {
		case p.Why == report.Cannot:
		case p.Why != "" || p.RatioCPU == 0:
			missing++
		case p.RatioCPU < 1:
			behind = append(behind, fmt.Sprintf("%s on %s (%.2f x)", p.Peer, p.Question, p.RatioCPU))
			asked++
		default:
			asked++
		}
	}

	f.Reached = fmt.Sprintf("ahead on %d of %d", asked-len(behind), asked)
	if len(behind) > 0 {
		f.Reached += ", behind " + strings.Join(behind, ", ")
	}
	switch {
	case asked == 0 || missing > 0:
		f.Reached += fmt.Sprintf("; %d not measured", missing)
	case len(behind) > 0:
		f.Verdict = report.Missed
	default:
		f.Verdict = report.Met
	}
	return f
}
