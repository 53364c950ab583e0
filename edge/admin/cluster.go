package admin

import (
	"time"

	"tidemark/storage/registry"
)

// ClusterView is a chain as `cluster status` shows it.
type ClusterView struct {
	ChainID uint64 `json:"chainId"`
	Name    string `json:"name"`
	Role    string `json:"role"` // of this node
	Writer  string `json:"writer,omitempty"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`

	Cut             uint64 `json:"cut"`
	LagCuts         uint64 `json:"lagCuts"`
	LagMilliseconds int64  `json:"lagMilliseconds"`

	// Snapshot is null until one is known.
	Snapshot *SnapshotView `json:"snapshot"`
}

// SnapshotView is the newest snapshot of a chain.
type SnapshotView struct {
	Cut    uint64    `json:"cut"`
	Bytes  uint64    `json:"bytes"`
	MadeAt time.Time `json:"madeAt"`
}

func (s *Server) clusterViews() ([]ClusterView, error) {
	if s.Membership == nil {
		return nil, refusal(registry.Invalid, "this node is in no cluster; cluster.nats is empty")
	}

	board := s.Board.Load()
	views := make([]ClusterView, len(s.Chains))
	for i, c := range s.Chains {
		v := &views[i]
		v.ChainID, v.Name = uint64(c.ID), c.Name
		v.Status, v.Reason = s.Health(c.ID)
		if on, ok := board.Chain(c.ID); ok {
			v.Role = on.Status.Role.String()
		}

		m, _ := s.Membership(c.ID)
		v.Writer, v.Cut = m.Writer, m.Cut
		v.LagCuts, v.LagMilliseconds = m.LagCuts, m.LagMillis
		if at := m.Snapshot.MadeAt; at > 0 {
			v.Snapshot = &SnapshotView{m.Snapshot.Cut, m.Snapshot.Bytes, time.UnixMilli(at).UTC()}
		}
	}
	return views, nil
}
