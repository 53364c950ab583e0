package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
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
	if err := spec.Fill(); err != nil {
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
	if err := corpus.Settle(dir); err != nil {
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

	p := newProgress(out, n, &r.Spec)
	err = n.WaitUntil(ctx, func(h *process.Health) bool {
		p.show(h.Ready())
		return h.Ready()
	})
	p.close()

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

// progress shows how far a node is: a bar for every chain on a terminal, lines
// elsewhere. It counts events, since nearly all of them are in the last blocks.
type progress struct {
	node *process.Node
	spec *corpus.Spec
	out  io.Writer
	bars *mpb.Progress // nil: lines
	bar  map[int64]*mpb.Bar
	said time.Time
}

// sayEvery is the pause between lines.
const sayEvery = 10 * time.Second

func newProgress(out *os.File, n *process.Node, spec *corpus.Spec) *progress {
	p := &progress{node: n, spec: spec, out: out, bar: map[int64]*mpb.Bar{}, said: time.Now()}
	if !term.IsTerminal(int(out.Fd())) {
		return p
	}

	p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(60))
	for i, c := range corpus.Chains[:spec.Chains] {
		p.bar[c.ID] = p.bars.AddBar(spec.Events(i),
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("chain %-6d", c.ID))),
			mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
	}
	return p
}

// show asks the node how many events it has. The number of all is an estimate:
// until the node is ready, the last hundredth is not believed.
func (p *progress) show(ready bool) {
	if p.bars == nil && !ready && time.Since(p.said) < sayEvery {
		return
	}
	p.said = time.Now()

	values, line, sum := p.node.Counters(), "", int64(0)
	for i, c := range corpus.Chains[:p.spec.Chains] {
		all, done := p.spec.Events(i), eventsOf(values, c.ID)
		sum += done
		if done = min(done, all-all/100); ready {
			done = all
		}
		line += fmt.Sprintf("  chain %d %d %%", c.ID, 100*done/all)
		if p.bars != nil {
			p.bar[c.ID].SetCurrent(done)
		}
	}
	if p.bars == nil {
		fmt.Fprintf(p.out, "%d events%s\n", sum, line)
	}
}

func (p *progress) close() {
	if p.bars != nil {
		p.bars.Shutdown() // Wait would wait for a terminal that is gone
	}
}
