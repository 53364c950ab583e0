package admin

import (
	"net/http"

	"tidemark/storage/registry"
)

func (s *Server) handleAccounts() {
	reg := s.Registry
	s.handle("GET /accounts", func(*http.Request) (any, error) { return reg.AccountList(), nil })
	s.handle("POST /accounts", func(r *http.Request) (any, error) {
		var q struct{ Name, Plan string }
		if err := readJSON(r, &q); err != nil {
			return nil, err
		}
		return reg.CreateAccount(q.Name, q.Plan)
	})
	s.handle("GET /accounts/{name}", func(r *http.Request) (any, error) {
		return reg.Account(r.PathValue("name"))
	})
	s.handle("POST /accounts/{name}/suspend", func(r *http.Request) (any, error) {
		return reg.Suspend(r.PathValue("name"))
	})
	s.handle("POST /accounts/{name}/resume", func(r *http.Request) (any, error) {
		return reg.Resume(r.PathValue("name"))
	})
	s.handle("POST /accounts/{name}/plan", func(r *http.Request) (any, error) {
		var q struct{ Plan string }
		if err := readJSON(r, &q); err != nil {
			return nil, err
		}
		return reg.SetPlan(r.PathValue("name"), q.Plan)
	})

	// Usage is per account too: its keys share the quota.
	s.handle("GET /usage/{name}", func(r *http.Request) (any, error) {
		return reg.Usage(r.PathValue("name"), r.URL.Query().Get("month"))
	})
}

func (s *Server) handleKeys() {
	reg := s.Registry
	s.handle("GET /keys", func(r *http.Request) (any, error) {
		return reg.KeyList(r.URL.Query().Get("account"))
	})
	s.handle("POST /keys", func(r *http.Request) (any, error) {
		var q registry.KeyRequest
		if err := readJSON(r, &q); err != nil {
			return nil, err
		}
		return reg.IssueKey(q)
	})

	s.handle("POST /keys/{id}/revoke", func(r *http.Request) (any, error) {
		return reg.RevokeKey(r.PathValue("id"))
	})
}
