package admin

import "net/http"

// ReadyView says whether the node should be sent requests.
type ReadyView struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // what it waits for
}

func (s *Server) handleReady() {
	s.handle("GET /ready", func(*http.Request) (any, error) {
		if err := s.Ready(); err != nil {
			return ReadyView{Reason: err.Error()}, nil
		}
		return ReadyView{Ready: true}, nil
	})
}
