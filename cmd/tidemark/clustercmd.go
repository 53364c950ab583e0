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
type ClusterStatusCmd struct{ AdminFlags }

// Run shows them.
func (c *ClusterStatusCmd) Run() error {
	return ask(&c.AdminFlags, "GET", "/cluster", nil, showCluster)
}

func showCluster(w io.Writer, v *[]admin.ClusterView) {
	writeRow(w, "CHAIN", "NAME", "ROLE", "WRITER", "STATUS", "CUT", "BEHIND", "SNAPSHOT", "REASON")
	for i := range *v {
		c := &(*v)[i]

		behind := "no"
		if c.LagCuts > 0 {
			behind = fmt.Sprintf("%d cuts, %d ms", c.LagCuts, c.LagMilliseconds)
		}
		snapshot := "none"
		if s := c.Snapshot; s != nil {
			snapshot = fmt.Sprintf("cut %d, %d kB, %s", s.Cut, s.Bytes>>10, s.MadeAt.Format(time.RFC3339))
		}

		writeRow(w, c.ChainID, c.Name, c.Role, orDash(&c.Writer), c.Status, c.Cut, behind, snapshot,
			orDash(&c.Reason))
	}
}
