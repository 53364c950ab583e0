package torture

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/bench/load"
	"tidemark/bench/process"
)

const (
	manyAccounts   = 40
	overloadTimes  = 3 // of what can be served at most
	overloadLength = 2 * time.Second
	calmShare      = 0.15 // of what can be served, without overload
	hotRate        = 50   // pages of a default ranking, a second

	maxRatio       = 5 // of the p99 of accepted filters to the one without overload
	maxOthersRatio = 2 // of the p99 of others beside a flood to the one without
	refusalWithin  = 2 * time.Millisecond
	// slowRefusals is the share of refusals that may take longer: the scheduler's part.
	slowRefusals = 0.02
	// waitedInVain is the share of refusals that may take as long as the queue: they
	// were decided at once, and the machine stopped the node in between.
	waitedInVain = 0.002
	queueWait    = 50 * time.Millisecond // the default limits.queue
	// hotWithin is what overload may add to the median of hot pages. Were jobs not to
	// give way, that would be some 10 ms.
	hotWithin   = 3 * time.Millisecond
	wholeWithin = time.Second
	// othersSlack is noise of the p99 of short measurements on a shared machine.
	othersSlack = 2 * time.Millisecond
	// busySlack widens the bounds of times on a machine that others use: a node that
	// works all the time gets its share of the processors then, and one that hardly
	// works gets all that it wants.
	busySlack = 3
)

// overloadSize is how much is asked. A new filter costs a time in proportion to the
// rows of the market, because its rows are counted without a cap.
type overloadSize struct {
	positions     int // of the first chain; 2.3 times as many in all
	cycles, tries int
}

var (
	quickOverload = overloadSize{positions: 40_000, cycles: 1, tries: 3}
	fullOverload  = overloadSize{positions: 80_000, cycles: 20, tries: 1}
)

func (s *overloadSize) config() string {
	return fmt.Sprintf("[sim]\npositions = %d\npools = %d\ndays = 30\nfrozen = true\n"+
		"[limits]\ntotal-cap = 10000000\n", s.positions, s.positions/50)
}

// TestOverload asks three times as many new filters, of many accounts, as the node can
// answer, again and again. The accepted ones are at most five times as slow as without
// overload, refusals take less than 2 ms of the node's time and none waits, pages of a
// default ranking are answered meanwhile, and a second later all is as before. Then one
// account floods the node alone: the p99 of the others is at most doubled.
//
// Ratios are medians of all cycles; one cycle is tried up to three times, because what
// else a machine does can spoil it. On a machine that others use, times have wide
// bounds, and the counts of refusals the same.
func TestOverload(t *testing.T) {
	size := share(t, quickOverload, fullOverload)
	n := newNode(t, size.config())
	n.start()
	o := &overload{node: n, flooder: n.customer("flooder", "unlimited")}
	for i := range manyAccounts {
		o.keys = append(o.keys, n.customer(fmt.Sprintf("account-%d", i), "unlimited"))
	}
	o.capacity = o.run("warm-up", o.keys, 0, 4).PerSecond

	for try := range size.tries {
		var m overloadMeasures
		for range size.cycles {
			o.measure(&m)
		}
		problems := m.problems()
		figure(t, "%s", m.String())
		if problems == nil {
			break
		}
		if try == size.tries-1 {
			t.Error(errors.Join(problems...))
		}
	}
	n.stop()
}

type overload struct {
	*node
	keys     []string
	flooder  string
	mix      mix
	seed     atomic.Uint64
	capacity float64 // new filters a second
}

// overloadMeasures are of one cycle or more.
type overloadMeasures struct {
	capacity                      []float64
	calm, accepted, alone, beside []time.Duration // p99, as clients see it
	nodeCalm, nodeAccepted        []time.Duration // p99 of the node's own time
	hot, hotCalm                  []time.Duration // medians
	whole                         time.Duration
	answered, refused             uint64
	refusals                      refusals
	others                        time.Duration // CPU time of other processes
	took                          time.Duration
}

// measure runs a cycle.
func (o *overload) measure(m *overloadMeasures) {
	before, others, began := o.nodeTimes(503), o.othersCPU(), time.Now()
	o.capacity = o.run("capacity", o.keys, 0, 4).PerSecond
	m.capacity = append(m.capacity, o.capacity)

	var hot *load.Result
	var asking sync.WaitGroup
	asking.Go(func() { hot = o.runHot() })
	answered := o.nodeTimes(200)
	m.calm = append(m.calm, o.run("calm", o.keys, calmShare*o.capacity, 64).Quantile(99))
	asking.Wait()
	m.nodeCalm = append(m.nodeCalm, o.nodeTimes(200).since(answered).quantile(0.99))
	m.hotCalm = append(m.hotCalm, hot.Quantile(50))

	asking.Go(func() { hot = o.runHot() })
	answered = o.nodeTimes(200)
	flood := o.run("overload", o.keys, overloadTimes*o.capacity, 512)
	asking.Wait()
	m.nodeAccepted = append(m.nodeAccepted, o.nodeTimes(200).since(answered).quantile(0.99))
	m.accepted = append(m.accepted, flood.Quantile(99))
	m.hot = append(m.hot, hot.Quantile(50))
	m.answered, m.refused = m.answered+flood.Requests, m.refused+flood.Refused
	m.whole = max(m.whole, o.awaitWhole())

	m.alone = append(m.alone, o.runOthers().Quantile(99))
	asking.Go(func() { o.run("flood", []string{o.flooder}, overloadTimes*o.capacity, 64) })
	m.beside = append(m.beside, o.runOthers().Quantile(99))
	asking.Wait()
	m.refusals.add(o.nodeTimes(503).since(before))
	m.others, m.took = m.others+o.othersCPU()-others, m.took+time.Since(began)
}

// othersCPU is the CPU time that neither the node nor the test used.
func (o *overload) othersCPU() time.Duration {
	return process.ReadMachine().Busy - process.Own() - process.CPU(o.cmd.Process.Pid)
}

// busy is how many processors others used.
func (m *overloadMeasures) busy() float64 { return m.others.Seconds() / m.took.Seconds() }

// dearFilter is a filter that nobody has asked for and nearly every row passes.
func (o *overload) dearFilter(dst []byte, _ *rand.Rand) []byte {
	return fmt.Appendf(dst, "/v1/positions?sort=pnl&status=all&includeRisky=true&minPoolTvl=0.%07d",
		o.mix.filters.Add(1))
}

// run asks new filters at a rate, or as fast as they are answered if that is 0.
func (o *overload) run(what string, keys []string, rate float64, connections int) *load.Result {
	return o.ask(what, load.Config{
		Connections: connections, Keys: keys, Rate: rate,
		Mix: load.Mix{{Name: "new filter", Weight: 1, Accept: []int{503}, Path: o.dearFilter}},
	})
}

// runHot asks for a page that is cached. None may be refused. It is not of the route of
// the new filters, so that the node's times tell them apart.
func (o *overload) runHot() *load.Result {
	return o.ask("hot pages", load.Config{
		Connections: 8, Keys: o.keys, Rate: hotRate,
		Mix: load.Mix{{Name: "hot page", Weight: 1, Path: load.Fixed("/v1/pools")}},
	})
}

// runOthers measures the usual mix of the other accounts.
func (o *overload) runOthers() *load.Result {
	r := o.ask("others", load.Config{
		Connections: 32, Keys: o.keys, Rate: 3 * hotRate,
		Mix: load.Mix{{
			Name: "mix", Weight: 1, Accept: []int{404, 503},
			Path: func(dst []byte, r *rand.Rand) []byte { return append(dst, o.mix.draw(r)...) },
		}},
	})
	if r.Statuses[503]*50 > r.Requests {
		o.t.Errorf("%d of %d requests of other accounts were refused: %v",
			r.Statuses[503], r.Requests, r.Statuses)
	}
	return r
}

// ask runs a load. It may be called by several goroutines.
func (o *overload) ask(what string, cfg load.Config) *load.Result {
	cfg.Addr, cfg.Seed, cfg.Frugal = o.address(), o.seed.Add(1), true
	cfg.Warmup, cfg.Length = overloadLength/10, overloadLength
	r, err := load.Run(o.t.Context(), cfg)
	if err != nil {
		o.t.Errorf("%s: %v", what, err)
		return &load.Result{}
	}
	if r.Failures+r.Unanswered > 0 {
		o.t.Errorf("%s: %d failures, %d without an answer: %v", what, r.Failures, r.Unanswered, r.Problems)
	}
	return r
}

// awaitWhole returns how long after a flood a new filter and a page are answered.
func (o *overload) awaitWhole() time.Duration {
	o.t.Helper()
	began := time.Now()
	r := rand.New(rand.NewPCG(o.seed.Load(), 6))

	for _, path := range []string{o.mix.newFilter(r), "/v1/positions", "/v1/pools"} {
		for {
			status, body, err := get(o.url+path, o.keys[0])
			if err == nil && status == 200 {
				break
			}
			if err != nil || time.Since(began) > startTimeout {
				o.t.Fatalf("%s after a flood: %d %v %s", path, status, err, body)
			}
		}
	}
	return time.Since(began)
}

// problems returns what was not as it should be.
func (m *overloadMeasures) problems() (all []error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	slack := time.Duration(1)
	if m.busy() > quietShare {
		slack = busySlack
	}
	calm, accepted := middle(m.calm), middle(m.accepted)
	check(accepted <= slack*maxRatio*calm,
		"the p99 of accepted new filters is %s under overload and %s without; cannot exceed %d times",
		accepted, calm, slack*maxRatio)

	alone, beside := middle(m.alone), middle(m.beside)
	check(beside <= slack*(maxOthersRatio*alone+othersSlack),
		"the p99 of other accounts is %s beside a flood and %s without; cannot exceed %d times",
		beside, alone, slack*maxOthersRatio)

	check(m.whole <= wholeWithin, "whole again after %s; cannot exceed %s", m.whole, wholeWithin)
	hotMost := slack * (middle(m.hotCalm) + hotWithin)
	check(middle(m.hot) <= hotMost, "the median of hot pages is %s under overload and %s without; cannot exceed %s",
		middle(m.hot), middle(m.hotCalm), hotMost)

	r := &m.refusals
	check(r.all > 0, "nothing was refused")
	check(float64(r.all-r.atOnce) <= slowRefusals*float64(r.all),
		"%d of %d refusals took the node more than %s; cannot exceed %.0f in a hundred",
		r.all-r.atOnce, r.all, refusalWithin, 100*slowRefusals)
	check(float64(r.waited) <= waitedInVain*float64(r.all),
		"%d of %d refusals took the node more than %s; cannot exceed %.0f in a thousand",
		r.waited, r.all, queueWait, 1000*waitedInVain)
	return all
}

func (m *overloadMeasures) String() string {
	calm, accepted := middle(m.calm), middle(m.accepted)
	alone, beside := middle(m.alone), middle(m.beside)
	r := &m.refusals
	return fmt.Sprintf("%d overloads of %d times the %.0f new filters a second that can be served: p99 of "+
		"accepted ones %s, %s without, %.1f times (medians; %s and %s of the node's time); %d answered, %d refused; of %d refusals %d took "+
		"the node less than %s, %d as long as the queue; hot pages %s in the median, %s without; whole again "+
		"after %s; p99 of other accounts %s beside a flood of one, %s without, %.1f times; others use %.2f processors",
		len(m.calm), overloadTimes, middle(m.capacity), accepted, calm, float64(accepted)/float64(calm),
		middle(m.nodeAccepted), middle(m.nodeCalm), m.answered, m.refused, r.all, r.atOnce, refusalWithin, r.waited, middle(m.hot), middle(m.hotCalm),
		m.whole.Round(time.Millisecond), beside, alone, float64(beside)/float64(alone), m.busy())
}

func middle[N cmp.Ordered](all []N) N {
	slices.Sort(all)
	return all[len(all)/2]
}

// refusals are counts by the time that they took the node.
type refusals struct{ atOnce, waited, all int64 }

func (r *refusals) add(times nodeTimes) {
	all := times.within(time.Hour)
	r.atOnce += times.within(refusalWithin)
	r.waited += all - times.within(queueWait)
	r.all += all
}
