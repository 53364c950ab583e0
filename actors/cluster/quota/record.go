package quota

import (
	"encoding/json"
	"errors"
	"fmt"

	"tidemark/storage/accounts"
)

// record is a month of an account.
type record struct {
	Limit int64            `json:"limit"` // 0: none
	Nodes map[string]*part `json:"nodes"`
}

// part is what a node has of it. All numbers are totals of the month.
type part struct {
	Process string `json:"process"` // that has the lease
	Billed  int64  `json:"billed"`
	Lease   int64  `json:"lease"`          // units that may be used beyond those billed
	Lost    int64  `json:"lost,omitempty"` // of the lease: of processes that were killed
	// Routes are requests and units by the route's path.
	Routes map[string][2]int64 `json:"routes,omitempty"`
}

// used is what counts against the quota.
func (p *part) used() int64 { return p.Billed + p.Lease }

// usedBut is what counts against the quota of all nodes but one.
func (r *record) usedBut(node string) (units int64) {
	for name, p := range r.Nodes {
		if name != node {
			units += p.used()
		}
	}
	return units
}

// errDamaged is the error for a record that is none. It concerns one account.
var errDamaged = errors.New("cannot read a month's usage")

func decodeRecord(value []byte) (*record, error) {
	r := &record{Nodes: map[string]*part{}}
	if err := json.Unmarshal(value, r); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}

	if r.Nodes == nil {
		return nil, fmt.Errorf("%w: its nodes are null", errDamaged)
	}
	for name, p := range r.Nodes {
		if p == nil || p.Billed < 0 || p.Lease < 0 || p.Lost < 0 {
			return nil, fmt.Errorf("%w: that of node %s is %+v", errDamaged, name, p)
		}
	}
	return r, nil
}

// routePlaces finds a route by its path. A path that is not known is of a newer node.
var routePlaces = func() map[string]int {
	places := map[string]int{}
	for i := range accounts.NumRoutes {
		places[accounts.Route(i).Path()] = i
	}
	return places
}()

type counts = [accounts.NumRoutes]accounts.Count

// counts returns the usage of the routes that this node knows.
func (p *part) counts() (c counts) {
	for path, n := range p.Routes {
		if i, ok := routePlaces[path]; ok {
			c[i] = accounts.Count{Requests: n[0], Units: n[1]}
		}
	}
	return c
}

// setCounts sets the routes and what they are billed in all.
func (p *part) setCounts(c *counts) {
	p.Billed = 0
	for i := range c {
		if c[i] == (accounts.Count{}) {
			continue
		}
		if p.Routes == nil {
			p.Routes = map[string][2]int64{}
		}
		p.Routes[accounts.Route(i).Path()] = [2]int64{c[i].Requests, c[i].Units}
		p.Billed += c[i].Units
	}
}

// addCounts adds routes to others.
func addCounts(to, more *counts) {
	for i := range more {
		to[i].Requests += more[i].Requests
		to[i].Units += more[i].Units
	}
}

// beyond returns by how much counts are above others, route by route.
func beyond(c, others *counts) (rest counts) {
	for i := range c {
		rest[i].Requests = max(c[i].Requests-others[i].Requests, 0)
		rest[i].Units = max(c[i].Units-others[i].Units, 0)
	}
	return rest
}

func unitsOf(c *counts) (units int64) {
	for i := range c {
		units += c[i].Units
	}
	return units
}
