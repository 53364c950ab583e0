package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"tidemark/bench/corpus"
	"tidemark/bench/process"
)

// BuildCorpus makes a corpus: it starts a node with the Spec's configuration,
// waits until every chain has published the end of its history, compacts the
// store, and measures what came out. The directory must not hold a corpus yet.
func BuildCorpus(
	ctx context.Context, exe, dir string, spec corpus.Spec, out *os.File,
) (*corpus.Record, error) {
	if err := spec.SetDefaults(); err != nil {
		return nil, err
	}
	if _, err := corpus.Read(dir); !errors.Is(err, corpus.ErrNone) {
		return nil, errors.Join(fmt.Errorf("cannot make a corpus in %s: there is one", dir), err)
	}
	err := os.RemoveAll(corpus.DataDir(dir)) // one that was not finished
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make a corpus: %w", err)
	}

	now := time.Now().UTC().Truncate(time.Hour)
	spec.Genesis = now.AddDate(0, 0, -spec.Days).Format(time.RFC3339)
	r := &corpus.Record{Spec: spec}
	if err := grow(ctx, exe, dir, r, out); err != nil {
		return nil, err
	}
	if err := corpus.Compact(dir); err != nil {
		return nil, err
	}
	if r.Shape, err = corpus.Measure(corpus.DataDir(dir)); err != nil {
		return nil, err
	}
	return r, r.Write(dir)
}

// grow runs the node until it has caught up.
func grow(ctx context.Context, exe, dir string, r *corpus.Record, out *os.File) (err error) {
	all, err := process.Split(false)
	if err != nil {
		return err
	}
	args, err := r.Spec.Args(corpus.Node{})
	if err != nil {
		return err
	}
	n, err := process.StartNode(ctx, all, process.NodeConfig{
		Exe: exe, Args: args, Data: corpus.DataDir(dir), Config: r.Spec.Config(corpus.Node{}), Dir: dir,
	})
	if err != nil {
		return err
	}

	p := progress{n, &r.Spec, out, term.IsTerminal(int(out.Fd())), time.Now()}
	err = n.WaitUntil(ctx, func(h *process.Health) bool {
		p.show(h.Ready())
		return h.Ready()
	})

	r.Seconds, r.CPU = time.Since(n.Began).Seconds(), n.CPU().Seconds()
	for values, i := n.Counters(), 0; i < r.Spec.Chains; i++ {
		r.Events += eventsOf(values, corpus.Chains[i].ID)
	}
	return errors.Join(err, n.Stop())
}

// eventsOf returns how many events a chain has applied.
func eventsOf(values map[string]float64, chain int64) int64 {
	return int64(values[fmt.Sprintf(`tidemark_chain_events_total{chain="%d"}`, chain)])
}

// progress shows how far a node is: on a terminal a line that is written over,
// elsewhere a line now and then. It counts events, since nearly all of them are
// in the last blocks.
type progress struct {
	node     *process.Node
	spec     *corpus.Spec
	out      *os.File
	terminal bool
	said     time.Time
}

// Pauses between two looks, on a terminal and elsewhere.
const (
	redrawEvery = time.Second
	sayEvery    = 10 * time.Second
)

// show asks the node how many events it has. The number of all is an estimate:
// until the node is ready, the last hundredth is not believed.
func (p *progress) show(ready bool) {
	pause, start, end := sayEvery, "", "\n"
	if p.terminal {
		pause, start = redrawEvery, "\r\033[K" // and clear the line
	}
	if !ready && time.Since(p.said) < pause {
		return
	}
	p.said = time.Now()

	line, done, all := "", int64(0), int64(0)
	for i, c := range corpus.Chains[:p.spec.Chains] {
		expected, events := p.spec.Events(i), eventsOf(p.node.Counters(), c.ID)
		if events = min(events, expected-expected/100); ready {
			events = expected
		}
		line += fmt.Sprintf("  chain %d %d %%", c.ID, 100*events/expected)
		done, all = done+events, all+expected
	}
	left := time.Since(p.node.Began).Seconds() * float64(all-done) / float64(max(done, 1))
	if p.terminal && !ready {
		end = ""
	}
	fmt.Fprintf(p.out, "%s%d of about %d events%s, about %.0f s left%s", start, done, all, line, left, end)
}
