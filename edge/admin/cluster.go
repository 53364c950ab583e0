package admin

import (
	"net/http"
	"time"

	"tidemark/storage/registry"
)

// ClusterView is a chain as `cluster status` shows it.
type ClusterView struct {
	ChainID uint64  `json:"chainId"`
	Name    string  `json:"name"`
	Role    string  `json:"role"`   // of this node
	Writer  *string `json:"writer"` // null while none is heard of
	Status  string  `json:"status"`
	Reason  *string `json:"reason"` // why the status is not ok; null: it is

	Cut uint64 `json:"cut"`
	// LagCuts and LagMilliseconds are null while no writer is heard of.
	LagCuts         *uint64 `json:"lagCuts"`
	LagMilliseconds *int64  `json:"lagMilliseconds"`

	// Snapshot is null until one is known.
	Snapshot *SnapshotView `json:"snapshot"`
}

// SnapshotView is the newest snapshot of a chain.
type SnapshotView struct {
	Cut    uint64    `json:"cut"`
	Bytes  uint64    `json:"bytes"`
	MadeAt time.Time `json:"madeAt"`
}

// SharingView is what nodes have of the limits of accounts, as `cluster status --accounts`
// shows it.
type SharingView struct {
	Nodes    []NodeView         `json:"nodes"`
	Month    string             `json:"month"`
	Accounts []AccountShareView `json:"accounts"` // used this month, or at the moment
}

// NodeView is a node of the cluster.
type NodeView struct {
	Name string `json:"name"`
	// SilentMilliseconds is null for the node that is asked.
	SilentMilliseconds *int64 `json:"silentMilliseconds"`
}

// AccountShareView is an account.
type AccountShareView struct {
	Account    string `json:"account"`
	UnitsLimit *int64 `json:"unitsLimit"` // null: none
	// RequestsPerSecond are those that are asked of all nodes at the moment.
	RequestsPerSecond float64         `json:"requestsPerSecond"`
	Nodes             []NodeShareView `json:"nodes"`
}

// NodeShareView is what a node has of an account.
type NodeShareView struct {
	Node        string `json:"node"`
	UnitsBilled int64  `json:"unitsBilled"`
	UnitsLeased int64  `json:"unitsLeased"`         // beyond those billed
	UnitsLost   int64  `json:"unitsLost,omitempty"` // of them: of processes that were killed
	// BurstPart is its part of the burst limit, of 1; null: an equal one.
	BurstPart *float64 `json:"burstPart"`
}

var errNoCluster = refusal(registry.Invalid, "this node is in no cluster; cluster.nats is empty")

func (s *Server) sharing(r *http.Request) (any, error) {
	if s.Sharing == nil {
		return nil, errNoCluster
	}
	return s.Sharing(r.Context())
}

func (s *Server) clusterViews() ([]ClusterView, error) {
	if s.Membership == nil {
		return nil, errNoCluster
	}

	board := s.Board.Load()
	views := make([]ClusterView, len(s.Chains))
	for i, c := range s.Chains {
		v := &views[i]
		v.ChainID, v.Name = uint64(c.ID), c.Name
		status, reason := s.Health(c.ID)
		v.Status, v.Reason = status, orNull(reason)
		if on, ok := board.Chain(c.ID); ok {
			v.Role = on.Status.Role.String()
		}

		m, _ := s.Membership(c.ID)
		v.Writer, v.Cut = orNull(m.Writer), m.Cut
		if m.Writer != "" {
			v.LagCuts, v.LagMilliseconds = &m.LagCuts, &m.LagMillis
		}
		if at := m.Snapshot.MadeAt; at > 0 {
			v.Snapshot = &SnapshotView{m.Snapshot.Cut, m.Snapshot.Bytes, time.UnixMilli(at).UTC()}
		}
	}
	return views, nil
}
