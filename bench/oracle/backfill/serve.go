package main

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"

	"tidemark/actors/feed/rpc"
	"tidemark/rankings/market"
)

// served is a provider with its address.
type served struct {
	*provider
	url    string
	server *http.Server
}

func serve(h http.Handler) (url string, s *http.Server, err error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s = &http.Server{Handler: h}
	go func() { _ = s.Serve(at) }()
	return "http://" + at.Addr().String(), s, nil
}

func serveProvider(c *mockChain, p plan) (*served, error) {
	s := &served{provider: newProvider(c, p)}
	var err error
	s.url, s.server, err = serve(s.provider)
	return s, err
}

// serveAt serves at an address until the process is stopped.
func serveAt(address string, h http.Handler) error {
	runtime.GC() // what rendering left behind
	return http.ListenAndServe(address, h)
}

func (s *served) close() { _ = s.server.Close() }

// feed makes a feed of a provider.
func (s *served) feed(inFlight int, subscription string) (*rpc.Feed, error) {
	return newFeed(s.url, s.id, s.plan, inFlight, subscription)
}

// newFeed makes a feed of a URL. It is told of the plan what its operator knows.
func newFeed(
	url string, chain market.ChainID, p plan, inFlight int, subscription string,
) (*rpc.Feed, error) {
	endpoints := []rpc.EndpointConfig{{Name: p.name, URL: url, RequestsPerSecond: p.perSecond}}
	if subscription != "" {
		endpoints = append(endpoints, rpc.EndpointConfig{
			Name: "heads", URL: "ws" + strings.TrimPrefix(subscription, "http"),
		})
	}

	return rpc.New(rpc.Config{
		Chain: chain, Endpoints: endpoints, PoolManager: manager, PositionManager: positions,
		NativeSymbol: "ETH", NativeName: "Ether", RangesInFlight: inFlight,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}
