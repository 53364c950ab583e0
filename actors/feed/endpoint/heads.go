package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync/atomic"
	"time"

	geth "github.com/ethereum/go-ethereum/rpc"
)

// HeadStream is a subscription to the heads of a chain over a websocket.
type HeadStream struct {
	Name string

	url   string
	clock Clock
	scrub scrub
	told  func(chain string, header []byte)
	live  atomic.Bool
}

// NewHeadStream makes a subscription that tells of every head, with the answer to
// eth_chainId over the same connection, which is empty where there was none. told
// must not wait. Nothing is connected before Run.
func NewHeadStream(
	name, rawURL string, clock Clock, told func(chain string, header []byte),
) (*HeadStream, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, errors.New("is not a ws or wss URL")
	}
	return &HeadStream{
		Name: name, url: rawURL, clock: clock.OrSystem(), scrub: newScrub(u), told: told,
	}, nil
}

// Live reports whether heads arrive by the subscription.
func (s *HeadStream) Live() bool { return s.live.Load() }

// silent is how long a subscription may say nothing before it is made anew:
// providers drop subscribers without a word.
const silent = time.Minute

// Run subscribes, again with growing pauses after failures, until ctx ends.
// failed is told of each failure.
func (s *HeadStream) Run(ctx context.Context, rand func() float64, failed func(error)) {
	for failures := 1; ctx.Err() == nil; failures++ {
		heads, err := s.subscribe(ctx)
		s.live.Store(false)
		if ctx.Err() != nil {
			return
		}
		if heads > 0 {
			failures = 1
		}

		failed(s.scrub.requestError(err, new(exchange)))
		if s.clock.Sleep(ctx, Pause(failures, rand())) != nil {
			return
		}
	}
}

// subscribe signals heads until the subscription ends, and returns how many.
func (s *HeadStream) subscribe(ctx context.Context) (heads int, err error) {
	dialing, cancel := context.WithTimeout(ctx, firstDeadline)
	defer cancel()
	client, err := geth.DialOptions(dialing, s.url, geth.WithWebsocketMessageSizeLimit(maxTold))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	arrived := make(chan json.RawMessage, 16)
	sub, err := client.EthSubscribe(dialing, arrived, "newHeads")
	if err != nil {
		return 0, err
	}
	defer sub.Unsubscribe()

	// Without an answer its headers are of no use, but there is a head whenever one comes.
	var chain string
	_ = client.CallContext(dialing, &chain, "eth_chainId")

	s.live.Store(true)
	quiet := time.NewTimer(silent)
	defer quiet.Stop()
	for {
		select {
		case header := <-arrived:
			heads++
			quiet.Reset(silent)
			s.told(chain, header)
		case err := <-sub.Err():
			if err == nil {
				err = errors.New("the subscription ended")
			}
			return heads, err
		case <-quiet.C:
			return heads, context.DeadlineExceeded
		case <-ctx.Done():
			return heads, ctx.Err()
		}
	}
}
