package main

import (
	"fmt"
	"io"
	"time"

	"tidemark/edge/admin"
)

// ClusterCmd shows the cluster as a running node sees it.
type ClusterCmd struct {
	Status ClusterStatusCmd `cmd:"" help:"Show who writes each chain, the lag of this node, and the newest snapshot."`
}

// ClusterStatusCmd shows the chains of the cluster.
type ClusterStatusCmd struct {
	AdminFlags
	Accounts bool `help:"Show what each node has of the limits of accounts instead."`
}

// Run shows them.
func (c *ClusterStatusCmd) Run() error {
	if c.Accounts {
		return ask(&c.AdminFlags, "GET", "/cluster/accounts", nil, showSharing)
	}
	return ask(&c.AdminFlags, "GET", "/cluster", nil, showCluster)
}

func showCluster(w io.Writer, v *[]admin.ClusterView) {
	writeRow(w, "CHAIN", "NAME", "ROLE", "WRITER", "STATUS", "CUT", "BEHIND", "SNAPSHOT", "REASON")
	for i := range *v {
		c := &(*v)[i]

		behind := "unknown"
		switch {
		case c.LagCuts == nil:
		case *c.LagCuts == 0:
			behind = "no"
		default:
			behind = fmt.Sprintf("%d cuts, %d ms", *c.LagCuts, *c.LagMilliseconds)
		}
		snapshot := "none"
		if s := c.Snapshot; s != nil {
			snapshot = fmt.Sprintf("cut %d, %d kB, %s", s.Cut, s.Bytes>>10, s.MadeAt.Format(time.RFC3339))
		}

		writeRow(w, c.ChainID, c.Name, c.Role, orDash(c.Writer), c.Status, c.Cut, behind, snapshot,
			orDash(c.Reason))
	}
}

func showSharing(w io.Writer, v *admin.SharingView) {
	writeRow(w, "NODE", "HEARD")
	for _, n := range v.Nodes {
		heard := "this node"
		if n.SilentMilliseconds != nil {
			heard = fmt.Sprintf("%d ms ago", *n.SilentMilliseconds)
		}
		writeRow(w, n.Name, heard)
	}

	writeRow(w)
	writeRow(w, "ACCOUNT", "LIMIT", "REQUESTS/S", "NODE", "BILLED", "LEASED", "LOST", "BURST")
	for i := range v.Accounts {
		a := &v.Accounts[i]
		limit := any("none")
		if a.UnitsLimit != nil {
			limit = *a.UnitsLimit
		}
		for _, n := range a.Nodes {
			part := "equal"
			if n.BurstPart != nil {
				part = fmt.Sprintf("%.0f %%", 100**n.BurstPart)
			}
			writeRow(w, a.Account, limit, fmt.Sprintf("%.1f", a.RequestsPerSecond), n.Node, n.UnitsBilled,
				n.UnitsLeased, n.UnitsLost, part)
		}
	}
}
