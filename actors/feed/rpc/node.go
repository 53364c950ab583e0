package rpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	geth "github.com/ethereum/go-ethereum/rpc"
	"golang.org/x/time/rate"
)

// Limits of one request.
const (
	// firstBatch is how many calls go into one request until a node refuses
	// that many: what public nodes commonly take.
	firstBatch = 50
	// regrow is after how many requests a smaller batch is doubled again: the
	// refusal may have had another reason.
	regrow = 256
	// maxBody bounds an answer; the largest honest one is 10,000 logs of 1 kB.
	maxBody = 64 << 20
	// maxRetryAfter bounds how long a node may tell us to stay away.
	maxRetryAfter = 5 * time.Minute
)

// node is one URL. It is used by one goroutine at a time.
type node struct {
	name    string // the URL's host: the rest may hold a secret
	client  *geth.Client
	http    *http.Client
	timeout time.Duration
	limit   *rate.Limiter // nil: none; shared by the chain's nodes
	clock   Clock
	m       *meters

	batch    int    // calls in one request
	calm     int    // requests since batch changed
	checked  bool   // it answered with our chain id since it last failed
	head     uint64 // the number that it last reported
	failures int    // in a row
	until    time.Time
	after    atomic.Int64 // what its last Retry-After asked for, nanoseconds
}

func dial(rawURL string, timeout time.Duration) (*node, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("is not an http or https URL")
	}
	n := &node{name: u.Host, timeout: timeout, batch: firstBatch}
	n.http = &http.Client{Transport: &bounded{http.DefaultTransport.(*http.Transport).Clone(), n}}
	n.client, err = geth.DialOptions(context.Background(), rawURL, geth.WithHTTPClient(n.http))
	return n, plain(err)
}

func (n *node) close() {
	n.client.Close()
	n.http.CloseIdleConnections()
}

// bounded ends answers that are too large and keeps a Retry-After, which the
// client above does not hand on.
type bounded struct {
	*http.Transport
	n *node
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	s, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		b.n.after.Store(int64(min(time.Duration(s)*time.Second, maxRetryAfter)))
	}
	resp.Body = &body{resp.Body, maxBody}
	return resp, nil
}

type body struct {
	io.ReadCloser
	left int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// ask sends calls, as many in one request as the node takes. The error is of
// a request; those of single calls stay in their elements.
func (n *node) ask(ctx context.Context, calls []geth.BatchElem) error {
	for len(calls) > 0 {
		k := min(n.batch, len(calls))
		err := n.request(ctx, calls[:k])
		if err != nil && k > 1 && refusesBatch(err) {
			n.batch, n.calm = k/2, 0
			continue
		}
		if err != nil {
			return err
		}
		calls = calls[k:]
		if n.calm++; n.calm == regrow {
			n.batch, n.calm = min(2*n.batch, firstBatch), 0
		}
	}
	return nil
}

// call sends one call. A null answer leaves result, a pointer to a pointer, nil.
func (n *node) call(ctx context.Context, result any, method string, args ...any) error {
	calls := []geth.BatchElem{{Method: method, Args: args, Result: result}}
	if err := n.ask(ctx, calls); err != nil {
		return err
	}
	return firstError(calls)
}

func (n *node) request(ctx context.Context, calls []geth.BatchElem) error {
	if err := n.await(ctx, len(calls)); err != nil {
		return err
	}
	n.m.requests.Add(len(calls))
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	if len(calls) > 1 {
		return plain(n.client.BatchCallContext(ctx, calls))
	}
	c := &calls[0]
	err := n.client.CallContext(ctx, c.Result, c.Method, c.Args...)
	if answered := geth.Error(nil); errors.As(err, &answered) || errors.Is(err, geth.ErrNoResult) {
		c.Error = err
		return nil
	}
	return plain(err)
}

// await takes the limiter's tokens for that many calls.
func (n *node) await(ctx context.Context, calls int) error {
	for n.limit != nil && calls > 0 {
		k := min(calls, n.limit.Burst())
		now := n.clock.Now()
		if err := n.clock.Sleep(ctx, n.limit.ReserveN(now, k).DelayFrom(now)); err != nil {
			return err
		}
		calls -= k
	}
	return nil
}
