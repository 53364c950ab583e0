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
	"golang.org/x/sys/unix"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// BuildCorpus makes a corpus: it starts a node with the Spec's configuration,
// waits until every chain has published the end of its history, and measures
// what came out. The directory must not hold one already.
func BuildCorpus(
	ctx context.Context, exe, dir string, spec corpus.Spec, out *os.File,
) (*corpus.Record, error) {
	if err := spec.Fill(); err != nil {
		return nil, err
	}
	if _, err := corpus.Read(dir); !errors.Is(err, corpus.ErrNone) {
		return nil, errors.Join(fmt.Errorf("cannot make a corpus in %s: there is one", dir), err)
	}
	if err := os.RemoveAll(corpus.DataDir(dir)); err != nil { // one that was not finished
		return nil, fmt.Errorf("cannot make a corpus: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make a corpus: %w", err)
	}
	now := time.Now().UTC().Truncate(time.Hour)
	spec.Genesis = now.AddDate(0, 0, -spec.Days).Format(time.RFC3339)
	r := &corpus.Record{Spec: spec}
	if err := grow(ctx, exe, dir, r, out); err != nil {
		return nil, err
	}
	shape, err := corpus.Measure(corpus.DataDir(dir))
	if err != nil {
		return nil, err
	}
	r.Shape = shape
	return r, r.Write(dir)
}

// grow runs the node until it has caught up.
func grow(ctx context.Context, exe, dir string, r *corpus.Record, out *os.File) error {
	all, err := splitCores(false)
	if err != nil {
		return err
	}
	var units report.Units
	engine, err := r.Spec.Engine(corpus.Node{}, time.Time{})
	if err != nil {
		return err
	}
	n, err := startNode(ctx, &all, launch{
		exe: exe, data: corpus.DataDir(dir), config: r.Spec.Config(corpus.Node{}),
		engine: &engine, scratch: dir,
	}, &units)
	if err != nil {
		return err
	}
	p := newProgress(out, n, &r.Spec)
	err = n.waitReady(ctx, p.look)
	p.done()
	r.Seconds, r.CPU = time.Since(n.Began).Seconds(), n.CPU().Seconds()
	for values, i := n.counters(), 0; i < r.Spec.Chains; i++ {
		r.Events += events(values, corpus.Chains[i].ID)
	}
	return errors.Join(err, n.Stop())
}

// events returns how many events a chain has applied.
func events(values map[string]float64, chain int64) int64 {
	return int64(values[fmt.Sprintf(`tidemark_chain_events_total{chain="%d"}`, chain)])
}

// progress shows how far a node has come: a bar for every chain on a terminal,
// lines elsewhere. Blocks would say little: nearly all events are in the last.
type progress struct {
	node  *node
	spec  *corpus.Spec
	out   io.Writer
	bars  *mpb.Progress // nil: lines
	chain map[int64]*mpb.Bar
	said  time.Time
}

// sayEvery is the pause between lines.
const sayEvery = 10 * time.Second

func newProgress(out *os.File, n *node, spec *corpus.Spec) *progress {
	p := &progress{node: n, spec: spec, out: out, chain: map[int64]*mpb.Bar{}, said: time.Now()}
	if _, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS); err == nil {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(60))
	}
	return p
}

// look asks the node how many events it has.
func (p *progress) look(health) {
	if p.bars == nil && time.Since(p.said) < sayEvery {
		return
	}
	p.said = time.Now()
	values, line, sum := p.node.counters(), "", int64(0)
	for i, c := range corpus.Chains[:p.spec.Chains] {
		all, done := p.spec.Events(i), events(values, c.ID)
		sum += done
		done = min(done, all-all/100) // the rest of it is an estimate
		line += fmt.Sprintf("  chain %d %d %%", c.ID, 100*done/all)
		if p.bars != nil {
			p.bar(c.ID, all).SetCurrent(done)
		}
	}
	if p.bars == nil {
		fmt.Fprintf(p.out, "%d events%s\n", sum, line)
	}
}

func (p *progress) bar(chain, all int64) *mpb.Bar {
	b := p.chain[chain]
	if b == nil {
		b = p.bars.AddBar(all, mpb.PrependDecorators(decor.Name(fmt.Sprintf("chain %-6d", chain))),
			mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
		p.chain[chain] = b
	}
	return b
}

func (p *progress) done() {
	if p.bars == nil {
		return
	}
	for _, b := range p.chain {
		b.SetTotal(-1, true)
	}
	p.bars.Shutdown() // Wait would wait for a terminal that is gone
}
