package admin

import "net/http"

// ReadyView is whether the node is ready to serve requests.
type ReadyView struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // why it is not ready
}

func (s *Server) handleReady() {
	s.handle("GET /ready", func(*http.Request) (any, error) {
		if err := s.Ready(); err != nil {
			return ReadyView{Reason: err.Error()}, nil
		}
		return ReadyView{Ready: true}, nil
	})
}
