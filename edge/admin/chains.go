package admin

import (
	"net/http"
	"strconv"
	"strings"

	"tidemark/rankings/market"
	"tidemark/storage/registry"
)

// Chain is a chain that the node indexes.
type Chain struct {
	ID   market.ChainID
	Name string
}

// ChainView is a chain as `chains list` shows it.
type ChainView struct {
	ChainID          uint64  `json:"chainId"`
	Name             string  `json:"name"`
	Status           string  `json:"status"`
	Reason           *string `json:"reason"` // why the status is not ok; null: it is
	Generation       uint64  `json:"generation"`
	LastIndexedBlock uint64  `json:"lastIndexedBlock"`
	ChainHeadBlock   uint64  `json:"chainHeadBlock"`
	// LagBlocks and LagSeconds are null until the chain's head has been seen.
	LagBlocks  *uint64 `json:"lagBlocks"`
	LagSeconds *int64  `json:"lagSeconds"`
	ETASeconds *int64  `json:"etaSeconds"` // of a backfill; null when not known
}

func (s *Server) handleChains() {
	s.handle("GET /chains", func(*http.Request) (any, error) { return s.chainViews(), nil })
	handle := func(verb string, do func(market.ChainID) error) {
		s.handle("POST /chains/{id}/"+verb, func(r *http.Request) (any, error) {
			id, err := s.findChain(r.PathValue("id"))
			if err == nil {
				err = do(id)
			}
			if err != nil {
				return nil, err
			}
			return s.chainViews(), nil
		})
	}

	handle("offline", func(id market.ChainID) error { return s.Control.SetOffline(id, true) })
	handle("online", func(id market.ChainID) error { return s.Control.SetOffline(id, false) })
	handle("rebuild", s.Control.Rebuild)
	handle("resync", s.Control.Resync)
	s.handle("POST /chains/{id}/verify", s.verify)
}

// verify compares a chain's data with its contracts: a sample of N pools and
// positions with ?sample=N, or everything.
func (s *Server) verify(r *http.Request) (any, error) {
	id, err := s.findChain(r.PathValue("id"))
	if err != nil {
		return nil, err
	}

	sample := 0
	if text := r.URL.Query().Get("sample"); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, refusal(registry.Invalid, "sample is %q; it must be a whole number, 0 or more", text)
		}
		sample = int(n)
	}
	return s.Control.Verify(r.Context(), id, sample)
}

func (s *Server) findChain(text string) (market.ChainID, error) {
	id, err := strconv.ParseUint(text, 10, 63)
	enabled := make([]string, len(s.Chains))
	for i, c := range s.Chains {
		if err == nil && c.ID == market.ChainID(id) {
			return c.ID, nil
		}
		enabled[i] = strconv.FormatUint(uint64(c.ID), 10)
	}
	return 0, refusal(registry.NotFound,
		"chain %q is not enabled on this node; enabled are %s", text, strings.Join(enabled, ", "))
}

// orNull has a text that says nothing be null.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *Server) chainViews() []ChainView {
	board := s.Board.Load()
	views := make([]ChainView, len(s.Chains))
	for i, c := range s.Chains {
		status, reason := s.Health(c.ID)
		v := ChainView{ChainID: uint64(c.ID), Name: c.Name, Status: status, Reason: orNull(reason)}

		// A chain is on the board once its actor has started.
		if on, ok := board.Chain(c.ID); ok {
			status := &on.Status
			v.LastIndexedBlock, v.ChainHeadBlock = status.LastIndexed.Number, status.ChainHead.Number
			if eta := status.ETASeconds; eta != 0 {
				v.ETASeconds = &eta
			}
			if blocks, seconds, known := status.Lag(); known {
				v.LagBlocks, v.LagSeconds = &blocks, &seconds
			}
			if on.View != nil {
				v.Generation = on.View.Generation
			}
		}

		views[i] = v
	}
	return views
}
