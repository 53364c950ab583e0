package main

import (
	"cmp"
	"context"
	"slices"

	"tidemark/actors/cluster/burst"
	"tidemark/actors/cluster/quota"
	"tidemark/edge/admin"
)

// sharing returns what the nodes have of the limits of accounts; nil without a cluster.
func (n *node) sharing() func(context.Context) (*admin.SharingView, error) {
	if n.cluster == nil {
		return nil
	}

	return func(ctx context.Context) (*admin.SharingView, error) {
		month := n.registry.Book().Calendar().This.Month
		usages, err := n.quotas.Usages(ctx, month)
		if err != nil {
			return nil, err
		}

		v := viewSharing(n.bursts.Status(), usages, n.registry.AccountName)
		v.Month = month.String()
		return v, nil
	}
}

// viewSharing joins what is known of quotas and of burst limits.
func viewSharing(bursts burst.Status, usages []quota.Usage, nameOf func(uint64) string) *admin.SharingView {
	v := &admin.SharingView{Accounts: []admin.AccountShareView{}}
	for _, n := range bursts.Nodes {
		view := admin.NodeView{Name: n.Name}
		if ms := n.Silent.Milliseconds(); n.Silent > 0 {
			view.SilentMilliseconds = &ms
		}
		v.Nodes = append(v.Nodes, view)
	}

	byID := map[uint64]*joinedShare{}
	find := func(id uint64) *joinedShare {
		if byID[id] == nil {
			byID[id] = &joinedShare{nodes: map[string]*admin.NodeShareView{}}
		}
		return byID[id]
	}
	for i := range usages {
		find(usages[i].Account).addUsage(&usages[i])
	}
	for i := range bursts.Accounts {
		find(bursts.Accounts[i].Cell.ID).addPart(&bursts.Accounts[i])
	}

	for id, s := range byID {
		s.view.Account = cmp.Or(nameOf(id), "unknown")
		for _, n := range s.nodes {
			s.view.Nodes = append(s.view.Nodes, *n)
		}
		slices.SortFunc(s.view.Nodes, func(a, b admin.NodeShareView) int { return cmp.Compare(a.Node, b.Node) })
		v.Accounts = append(v.Accounts, s.view)
	}
	slices.SortFunc(v.Accounts, func(a, b admin.AccountShareView) int { return cmp.Compare(a.Account, b.Account) })
	return v
}

// joinedShare is an account as it is put together.
type joinedShare struct {
	view  admin.AccountShareView
	nodes map[string]*admin.NodeShareView
}

func (s *joinedShare) node(name string) *admin.NodeShareView {
	if s.nodes[name] == nil {
		s.nodes[name] = &admin.NodeShareView{Node: name}
	}
	return s.nodes[name]
}

func (s *joinedShare) addUsage(u *quota.Usage) {
	if u.Limit > 0 {
		s.view.UnitsLimit = &u.Limit
	}
	for name, had := range u.Nodes {
		n := s.node(name)
		n.UnitsBilled, n.UnitsLeased, n.UnitsLost = had.Billed, had.Leased, had.Lost
	}
}

func (s *joinedShare) addPart(p *burst.Part) {
	s.view.RequestsPerSecond = p.Needed
	if units := p.Cell.Terms().Plan.MonthlyUnits; units > 0 {
		s.view.UnitsLimit = &units
	}
	for name, part := range p.Parts {
		s.node(name).BurstPart = &part
	}
}
