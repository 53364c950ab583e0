package main

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge"
	"tidemark/edge/pages"
	"tidemark/edge/render"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// overHTTP is a stage that is asked through a server, which starts with the
// first question. Every row's explanation has to come to the row, and its charts have to end
// with it.
func overHTTP(s *stage) *stage {
	s.redo = true
	s.ask = func(s *stage, path, query string) answer {
		s.ask = s.serve()
		return s.ask(s, path, query)
	}
	return s
}

func (s *stage) serve() func(s *stage, path, query string) answer {
	now := time.Now()
	turner := accounts.NewTurner(now.UnixNano(), 0)
	book := accounts.NewBook(turner.Step(now.UnixNano(), now.UnixNano()))
	book.SetAlive(now.Add(time.Hour).UnixNano())
	var chains []render.Chain
	for _, sc := range s.scenes {
		chains = append(chains, render.Chain{ID: sc.id, Enabled: true})
	}

	server, err := edge.New(edge.Config{
		Config: pages.Config{
			Board: s.board, Store: s.store, Chains: chains,
			Plans: accounts.DefaultPlans(), Limits: s.limits, Version: "test",
			Prices:    func(market.ChainID) (*value.Params, []value.FeedPrice) { return &s.params, s.answers },
			Metrics:   metrics.NewSet(),
			Disk:      func() storage.Disk { return storage.Disk{Status: storage.DiskOK} },
			WallClock: func() accounts.ClockState { return accounts.ClockState{} },
		},
		Book: book, Clock: accounts.NewClock(now), Log: quiet,
		Connections: edge.DefaultConnections(),
	})

	s.must(err)
	key := s.issue(book)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)

	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	s.t.Cleanup(func() {
		s.must(server.Shutdown(context.Background()))
		s.must(<-served)
	})

	s.url, s.key = "http://"+l.Addr().String(), key
	return func(s *stage, path, query string) answer {
		if query != "" {
			path += "?" + query
		}
		status, body, err := request(s.url+path, s.key)
		s.must(err)
		return answer{status: status, body: body}
	}
}

// issue makes an account without limits and its key.
func (s *stage) issue(book *accounts.Book) string {
	plan, err := accounts.FindPlan(accounts.DefaultPlans(), "unlimited")
	s.must(err)
	cell := accounts.NewCell(1, "scripts", 0, accounts.NewTerms(plan, false))
	month := book.Calendar().This.Month
	cell.Begin(month)
	cell.Open(month, 1_000_000)

	key, err := accounts.NewKey(rand.Reader, accounts.Server)
	s.must(err)
	book.Add(&accounts.Issued{
		Hash: accounts.HashKey([]byte(key)), Prefix: accounts.PrefixOf(key),
		Cell: cell, Kind: accounts.Server,
	}, 0, 0)
	return key
}
