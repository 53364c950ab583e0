package main

import (
	"fmt"
	"slices"
	"time"
)

// pairs are turns from memory, and behind each one from another source.
type pairs struct {
	memory, other []*taken
	taken         int // pairs, the disturbed ones too
}

const (
	// mostOthers is which part of a core others may use in a turn that counts: the turns
	// of a pair are disturbed unlike, since those from a provider use both cores.
	mostOthers = 0.25
	// mostTurns is how long it is tried to take turns that nobody disturbs.
	mostTurns = 40 * time.Second
)

// takeTurns takes a history from memory and from another source by turns: what slows the
// machine for a while slows both. The first pair does not count, since memory that
// nobody touched yet is slow. On a busy machine more pairs are taken; where it stays
// busy, all of them count.
func takeTurns(turns int, memory, other func() (*taken, error)) (*pairs, error) {
	quiet, all := new(pairs), new(pairs)
	began := time.Now()
	for i := 0; i <= turns || len(quiet.memory) < turns && time.Since(began) < mostTurns; i++ {
		m, err := memory()
		if err != nil {
			return nil, fmt.Errorf("from memory: %w", err)
		}
		o, err := other()
		if err != nil {
			return nil, fmt.Errorf("from the other source: %w", err)
		}
		if o.state != m.state {
			return nil, fmt.Errorf("the other source gave a state of %s, memory %s", o.state, m.state)
		}

		if i == 0 {
			continue
		}
		all.add(m, o)
		if max(m.disturbed(), o.disturbed()) <= mostOthers {
			quiet.add(m, o)
		}
	}

	if len(quiet.memory) < turns {
		return all, nil
	}
	quiet.taken = all.taken
	return quiet, nil
}

func (p *pairs) add(memory, other *taken) {
	p.memory, p.other, p.taken = append(p.memory, memory), append(p.other, other), p.taken+1
}

// disturbed is which part of a core others used in a turn.
func (t *taken) disturbed() float64 { return t.others.Seconds() / t.took.Seconds() }

// ratio is the other source's rate beside memory's, in the median of the pairs.
func (p *pairs) ratio() float64 {
	return median(len(p.memory), func(i int) float64 { return p.other[i].rate() / p.memory[i].rate() })
}

// figures are the rates from memory and from the other source, about which of says
// more, and the ratio, which is to be least.
func (p *pairs) figures(memory, other, ratio, of string, events int, least float64) []figure {
	got := p.ratio()
	return []figure{
		{name: memory, value: medianOf(p.memory, (*taken).rate), unit: "events/s",
			beside: describe(p.memory)},
		{name: other, value: medianOf(p.other, (*taken).rate), unit: "events/s",
			beside: of + "; " + describe(p.other)},
		{name: ratio, value: got, unit: "of it", beside: p.describe(events),
			goal: fmt.Sprintf("at least %.2f", least), missed: isBelow(got, least)},
	}
}

func (p *pairs) describe(events int) string {
	n := len(p.memory)
	text := fmt.Sprintf("median of %d pairs of turns of %d events", n, events)
	switch busy := max(medianOf(p.memory, (*taken).disturbed), medianOf(p.other, (*taken).disturbed)); {
	case busy > mostOthers:
		text += fmt.Sprintf("; NOT A QUIET MACHINE: others use %.0f %% of a core", 100*busy)
	case n < p.taken:
		text += fmt.Sprintf("; %d more were disturbed", p.taken-n)
	}
	return text
}

// describe is what turns used, in the median.
func describe(turns []*taken) string {
	perEvent := func(get func(*taken) time.Duration) float64 {
		return medianOf(turns, func(t *taken) float64 { return get(t).Seconds() * 1e6 / float64(t.events) })
	}
	text := fmt.Sprintf("CPU: %.1f µs an event", perEvent(func(t *taken) time.Duration { return t.cpu }))
	if cpu := perEvent(func(t *taken) time.Duration { return t.provider }); cpu > 0 {
		text += fmt.Sprintf(", the provider's process %.1f", cpu)
	}

	text += fmt.Sprintf("; others %.0f %% of a core; the ledger waits %.0f %% of the time",
		100*medianOf(turns, (*taken).disturbed),
		100*medianOf(turns, func(t *taken) float64 { return t.waited.Seconds() / t.took.Seconds() }))
	if first := medianOf(turns, func(t *taken) float64 { return t.first.Seconds() }); first > 0 {
		text += fmt.Sprintf("; the first blocks after %.2f s", first)
	}
	return text
}

// medianOf returns the median of what turns say.
func medianOf(turns []*taken, get func(*taken) float64) float64 {
	return median(len(turns), func(i int) float64 { return get(turns[i]) })
}

func median(n int, get func(i int) float64) float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = get(i)
	}
	slices.Sort(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
