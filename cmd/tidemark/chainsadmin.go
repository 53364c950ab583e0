package main

import (
	"net/http"
	"strconv"

	"tidemark/actors"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// chainView is a chain as `chains list` shows it.
type chainView struct {
	ChainID          uint64 `json:"chainId"`
	Name             string `json:"name"`
	Status           string `json:"status"`
	Reason           string `json:"reason,omitempty"`
	Generation       uint64 `json:"generation"`
	LastIndexedBlock uint64 `json:"lastIndexedBlock"`
	ChainHeadBlock   uint64 `json:"chainHeadBlock"`
	ETASeconds       int64  `json:"etaSeconds"`
}

// handleChains adds what operators ask of chains to the administration.
//
//	GET  /chains
//	POST /chains/{id}/offline   …/online   …/resync
func (n *node) handleChains(socket *actors.AdminSocket) {
	socket.Handle("GET /chains", func(*http.Request) (any, error) { return n.chainViews(), nil })
	do := func(verb string, do func(market.ChainID) error) {
		socket.Handle("POST /chains/{id}/"+verb, func(r *http.Request) (any, error) {
			id, err := n.enabledChain(r.PathValue("id"))
			if err == nil {
				err = do(id)
			}
			if err != nil {
				return nil, err
			}
			return n.chainViews(), nil
		})
	}
	do("offline", func(id market.ChainID) error { return n.chains.SetOffline(id, true) })
	do("online", func(id market.ChainID) error { return n.chains.SetOffline(id, false) })
	do("resync", n.chains.Resync)
}

func (n *node) enabledChain(text string) (market.ChainID, error) {
	id, err := strconv.ParseUint(text, 10, 63)
	allowed := ""
	for i := range n.Chains {
		if c := &n.Chains[i]; c.Enabled {
			if err == nil && c.ID == market.ChainID(id) {
				return c.ID, nil
			}
			allowed += " " + strconv.FormatUint(uint64(c.ID), 10)
		}
	}
	return 0, &actors.Refusal{
		Status:  http.StatusNotFound,
		Message: "no chain " + strconv.Quote(text) + " is enabled on this node; enabled are" + allowed,
	}
}

func (n *node) chainViews() []chainView {
	picture := n.board.Load()
	views := []chainView{}
	for i := range n.Chains {
		c := &n.Chains[i]
		if !c.Enabled {
			continue
		}
		view := chainView{ChainID: uint64(c.ID), Name: c.Name, Status: "starting"}
		if on, ok := picture.Chain(c.ID); ok {
			s := &on.Status
			view.Status, view.Reason = standing(s, on.View != nil), s.StopReason
			view.LastIndexedBlock, view.ChainHeadBlock = s.LastIndexed.Number, s.ChainHead.Number
			view.ETASeconds = s.ETASeconds
			if on.View != nil {
				view.Generation = on.View.Generation
			}
		}
		views = append(views, view)
	}
	return views
}

func standing(s *rankings.ChainStatus, published bool) string {
	switch {
	case s.Offline:
		return "offline"
	case s.Stopped:
		return "stopped"
	case s.Syncing || !published:
		return "syncing"
	}
	return "ok"
}
