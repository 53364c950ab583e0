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
	tidemark "tidemark/edge/client/go"
)

// BuildCorpus makes a corpus: it starts a node with the Spec's configuration,
// waits until every chain has published the end of its history, compacts the
// store, and measures what came out. The directory must not hold a corpus yet.
func BuildCorpus(
	ctx context.Context, dir string, spec corpus.Spec, out *os.File,
) (*corpus.Record, error) {
	if err := spec.SetDefaults(); err != nil {
		return nil, err
	}
	if _, err := corpus.Read(dir); !errors.Is(err, corpus.ErrNone) {
		return nil, errors.Join(fmt.Errorf("cannot make a corpus in %s: there is one", dir), err)
	}
	if err := errors.Join(corpus.RemoveUnfinished(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, fmt.Errorf("cannot make a corpus: %w", err)
	}

	now := time.Now().UTC().Truncate(time.Hour)
	spec.Genesis = now.AddDate(0, 0, -spec.Days).Format(time.RFC3339)
	r := &corpus.Record{Spec: spec}
	if err := runHistory(ctx, dir, r, out); err != nil {
		return nil, err
	}
	if err := corpus.Compact(dir); err != nil {
		return nil, err
	}
	if err := r.Measure(corpus.DataDir(dir)); err != nil {
		return nil, err
	}
	return r, r.Write(dir)
}

// runHistory runs the node until it has caught up.
func runHistory(ctx context.Context, dir string, r *corpus.Record, out *os.File) error {
	all, err := process.Split(false)
	if err != nil {
		return err
	}
	args, err := r.Spec.Args(&corpus.Node{})
	if err != nil {
		return err
	}
	n, err := process.StartNode(ctx, all, args, corpus.DataDir(dir), r.Spec.Config(&corpus.Node{}), dir)
	if err != nil {
		return err
	}

	p := progress{n, r.Spec.Events(), out, term.IsTerminal(int(out.Fd())), time.Now()}
	err = waitUntil(ctx, n, func(h *tidemark.Health) bool {
		p.show()
		return ready(h)
	})
	if err == nil {
		p.end()
	}
	if p.terminal {
		fmt.Fprintln(out)
	}
	r.Seconds, r.CPU = time.Since(n.Began).Seconds(), n.CPU().Seconds()
	r.Events = p.events()
	return errors.Join(err, n.Stop())
}

// progress shows how far a node is: on a terminal a line that is written over,
// elsewhere a line now and then. It counts events, since nearly all of them are
// in the last blocks. The number of all is an estimate.
type progress struct {
	node     *process.Node
	all      int64 // events
	out      *os.File
	terminal bool
	shown    time.Time
}

// events is how many events the node has applied.
func (p *progress) events() int64 { return int64(process.Sum(p.node.Counters(), eventsCount)) }

// end shows that all is done: the last look may be seconds old, and the estimate was one.
func (p *progress) end() {
	done := p.events()
	p.print("%d of %d events, 100 %%", done, done)
}

// print writes a line, on a terminal over the one before.
func (p *progress) print(format string, args ...any) {
	start, end := "", "\n"
	if p.terminal {
		start, end = "\r\033[K", "" // clear the line
	}
	fmt.Fprintf(p.out, start+format+end, args...)
}

func (p *progress) show() {
	pause := 10 * time.Second
	if p.terminal {
		pause = time.Second
	}
	if time.Since(p.shown) < pause {
		return
	}

	p.shown = time.Now()
	done := p.events()
	left := time.Since(p.node.Began).Seconds() * float64(max(p.all-done, 0)) / float64(max(done, 1))
	p.print("%d of about %d events, about %.0f s left", done, p.all, left)
}
