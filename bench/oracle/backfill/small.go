package main

import "fmt"

// smallEvents is the size of the history that is read on a small plan, in some seconds.
const smallEvents = 1000

// measureSmall tells how much of a small plan is used, from the first blocks on to the
// last, and that no second has more than the plan allows, the first one neither.
func measureSmall() ([]figure, error) {
	r, err := record(smallEvents, 10)
	if err != nil {
		return nil, err
	}
	s, err := serveProvider(recordedChain(r), small)
	if err != nil {
		return nil, err
	}
	defer s.close()
	source, err := s.feed(0, "")
	if err != nil {
		return nil, err
	}
	defer source.Close()

	t, err := take(r, source, nil)
	if err != nil {
		return nil, err
	}
	used := float64(s.callsBetween(t.began, t.began.Add(t.took))) / t.took.Seconds()
	most := float64(s.mostInASecond())
	plan := fmt.Sprintf("plan: %.0f calls/s", s.perSecond)
	return []figure{
		{name: "events on a small plan", value: t.rate(), unit: "events/s",
			beside: fmt.Sprintf("%d requests refused", s.refused.Load())},
		{name: "calls on a small plan", value: used, unit: "calls/s", beside: plan,
			goal:   fmt.Sprintf("at least %.0f %%", 100*leastUsed),
			missed: used < leastUsed*s.perSecond},
		{name: "most in any second, the first included", value: most, unit: "calls", beside: plan,
			goal: fmt.Sprintf("at most %.0f", s.perSecond), missed: most > s.perSecond},
	}, nil
}
