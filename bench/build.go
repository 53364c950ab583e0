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
	p := newProgress(out, n)
	err = n.waitReady(ctx, p.look)
	p.done()
	r.Seconds, r.CPU = time.Since(n.Began).Seconds(), n.CPU().Seconds()
	r.Events = int64(n.events())
	return errors.Join(err, n.Stop())
}

// events returns how many events all chains have applied.
func (n *node) events() (sum float64) {
	values := n.counters()
	for _, c := range corpus.Chains {
		sum += values[fmt.Sprintf(`tidemark_chain_events_total{chain="%d"}`, c.ID)]
	}
	return sum
}

// progress shows how far a node has come: a bar for every chain on a terminal,
// lines elsewhere.
type progress struct {
	node  *node
	out   io.Writer
	bars  *mpb.Progress // nil: lines
	chain map[int64]*mpb.Bar
	first map[int64]uint64
	said  time.Time
}

// sayEvery is the pause between lines.
const sayEvery = 10 * time.Second

func newProgress(out *os.File, n *node) *progress {
	p := &progress{
		node: n, out: out, chain: map[int64]*mpb.Bar{}, first: map[int64]uint64{}, said: time.Now(),
	}
	if _, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS); err == nil {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(60))
	}
	return p
}

// look takes in what the node says of itself.
func (p *progress) look(h health) {
	line := ""
	for _, c := range h.Chains {
		if c.LastIndexedBlock == nil || c.ChainHeadBlock == nil || *c.ChainHeadBlock == 0 {
			continue
		}
		at, head := *c.LastIndexedBlock, *c.ChainHeadBlock
		if _, ok := p.first[c.ChainID]; !ok {
			p.first[c.ChainID] = at
		}
		done, all := at-min(at, p.first[c.ChainID]), max(head-min(head, p.first[c.ChainID]), 1)
		line += fmt.Sprintf("  chain %d %d %%", c.ChainID, 100*done/all)
		if p.bars != nil {
			p.bar(c.ChainID, int64(all)).SetCurrent(int64(min(done, all-1)))
		}
	}
	if p.bars == nil && time.Since(p.said) > sayEvery && line != "" {
		p.said = time.Now()
		fmt.Fprintf(p.out, "%.0f events%s\n", p.node.events(), line)
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
