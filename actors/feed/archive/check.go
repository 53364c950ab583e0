package archive

import (
	"errors"
	"fmt"
)

// Check reads everything that an archive has and returns what is wrong with it: each
// damaged part by its file and blocks, and blocks that are missing between others. That
// it does not begin with the chain's start is nothing wrong.
func (a *Archive) Check() (findings []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active != nil {
		if err := a.flush(); err != nil {
			return nil, err
		}
	}

	for _, d := range a.unread {
		findings = append(findings, d.Error())
	}
	for _, s := range a.segments {
		damages, err := a.checkSegment(s)
		for _, d := range damages {
			findings = append(findings, d.Error())
		}
		if err != nil {
			return findings, err
		}
	}
	for _, hole := range a.holes() {
		findings = append(findings,
			fmt.Sprintf("the archive lacks blocks %s; a running node fetches them again", hole.blocks()))
	}
	return findings, nil
}

// checkSegment decodes every frame of a segment.
func (a *Archive) checkSegment(s *segment) (list []*Damage, err error) {
	r, err := a.readSegment(s, s.base)
	if err != nil {
		return nil, err
	}
	defer r.close()

	for {
		spans, err := r.next()
		var damage *Damage
		switch {
		case errors.As(err, &damage):
			list = append(list, damage)
			r.skip(damage)
			continue
		case err != nil:
			return list, err
		case len(spans) == 0:
			return list, nil
		}
	}
}
