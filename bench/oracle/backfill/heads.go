package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	geth "github.com/ethereum/go-ethereum/rpc"
)

// headService answers eth_subscribe("newHeads") and eth_chainId over a websocket.
type headService struct {
	chain *mockChain
	mu    sync.Mutex
	tell  []func(json.RawMessage)
}

// ChainId is eth_chainId.
func (s *headService) ChainId() string { return fmt.Sprintf("%#x", s.chain.id) }

// NewHeads is eth_subscribe("newHeads").
func (s *headService) NewHeads(ctx context.Context) (*geth.Subscription, error) {
	notifier, ok := geth.NotifierFromContext(ctx)
	if !ok {
		return nil, geth.ErrNotificationsUnsupported
	}
	sub := notifier.CreateSubscription()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell = append(s.tell, func(header json.RawMessage) { _ = notifier.Notify(sub.ID, header) })
	return sub, nil
}

// show tells subscribers of the chain's head.
func (s *headService) show() {
	header := json.RawMessage(s.chain.header("latest"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tell := range s.tell {
		tell(header)
	}
}

// serveHeads serves subscriptions to a chain's heads.
func serveHeads(c *mockChain) (s *headService, url string, stop func(), err error) {
	s = &headService{chain: c}
	server := geth.NewServer()
	if err := server.RegisterName("eth", s); err != nil {
		return nil, "", nil, err
	}
	url, h, err := serve(server.WebsocketHandler([]string{"*"}))
	if err != nil {
		return nil, "", nil, err
	}
	return s, url, func() { server.Stop(); _ = h.Close() }, nil
}
