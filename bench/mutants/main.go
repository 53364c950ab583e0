package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// options are the flags.
type options struct {
	size        int
	seed        string
	only, match string
	short       bool
}

func main() {
	o := &options{}
	flag.IntVar(&o.size, "sample", 400, "how many mistakes")
	flag.StringVar(&o.seed, "seed", "1", "what the sample is drawn by")
	flag.StringVar(&o.only, "only", "", "packages to take the mistakes from, with commas between")
	flag.StringVar(&o.match, "match", "", "try those of the sample that match this `expression`")
	flag.BoolVar(&o.short, "short", false, "run the short tests only")
	budget := flag.Duration("budget", 0, "when to stop, with what is not tried counted; 0 for never")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *budget > 0 {
		ctx, stop = context.WithTimeout(ctx, *budget)
		defer stop()
	}
	if err := o.measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// measure draws a sample, tries it and prints what was noticed. Running out of
// time is no error.
func (o *options) measure(ctx context.Context) error {
	start := time.Now()
	equivalents, err := readEquivalents(known)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(o.match)
	if err != nil {
		return err
	}
	t, err := loadTree()
	if err != nil {
		return err
	}
	only := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
	sample, err := takeSample(t, t.measured(only), o.size, o.seed)
	if err != nil {
		return err
	}
	sample = slices.DeleteFunc(sample, func(m *mistake) bool { return !match.MatchString(m.name()) })

	r := &runner{short: o.short}
	if r.dir, err = os.MkdirTemp("", "mutants"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	if r.overlay, err = writeOverlay(r.dir, sample); err != nil {
		return err
	}
	r.binaries = t.binaries()
	fmt.Printf("%d mistakes by seed %s, chosen in %.0f s\n", len(sample), o.seed, time.Since(start).Seconds())

	results, err := r.tryAll(ctx, sample, equivalents)
	if err != nil {
		return err
	}
	printReport(os.Stdout, sample, results, r.left())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		fmt.Println("\nthe budget ended before all were tried")
	}
	fmt.Printf("\n%.0f s in all\n", time.Since(start).Seconds())
	return nil
}

// tryAll tries a sample, and tells what passed as soon as it is known.
func (r *runner) tryAll(ctx context.Context, sample []*mistake, equivalents map[string]bool) ([]outcome, error) {
	results := make([]outcome, len(sample))
	var broken atomic.Pointer[error]
	each(len(sample), func(i int) {
		m := sample[i]
		if equivalents[m.name()] {
			results[i] = same
			return
		}

		result, err := r.try(ctx, m)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			broken.Store(&err)
		case result != noticed:
			fmt.Fprintf(os.Stderr, "%s:%d %s\t%s\t%s (%s)\n", m.path, m.line, m.function, m.was, m.is, result)
		}
		results[i] = result
	})
	if err := broken.Load(); err != nil {
		return nil, *err
	}
	return results, nil
}

// binaries lists the packages with tests.
func (t *tree) binaries() (list []*binary) {
	for path, p := range t.packages {
		if strings.HasPrefix(path, module) && len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 && p.name != "bench/mutants" {
			list = append(list, &binary{p: p, imports: slices.Concat(p.Imports, p.TestImports, p.XTestImports)})
		}
	}
	slices.SortFunc(list, func(a, b *binary) int { return strings.Compare(a.p.name, b.p.name) })
	return list
}

// left lists the tests that were left out.
func (r *runner) left() (list []string) {
	for _, b := range r.binaries {
		for _, name := range b.left {
			list = append(list, b.p.name+"."+name)
		}
	}
	return list
}
