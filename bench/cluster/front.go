package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"tidemark/bench/balancer"
	"tidemark/bench/process"
)

// answersTimeout is what answers that are under way get when a balancer is stopped.
const answersTimeout = 2 * time.Second

// front is a balancer that serves, in this process.
type front struct {
	*balancer.Balancer
	address string
	served  chan error
}

// newFront starts a balancer of nodes.
func newFront(l net.Listener, nodes []*process.Node) *front {
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.API)
	}

	f := &front{balancer.New(addresses), l.Addr().String(), make(chan error, 1)}
	go func() { f.served <- f.Serve(l) }()
	return f
}

// stop waits a moment for answers, and ends.
func (f *front) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), answersTimeout)
	defer cancel()
	return errors.Join(f.Shutdown(ctx), <-f.served)
}

// balancers are balancers of some of the nodes, each started when it is first needed: they
// check the health of their nodes all the time.
type balancers struct {
	nodes   []*process.Node
	started map[[2]int]*front // by the first of their nodes and how many they have
}

// of returns n of the nodes, from one on; after the last comes the first.
func (b *balancers) of(first, n int) (some []*process.Node) {
	for i := range n {
		some = append(some, b.nodes[(first+i)%len(b.nodes)])
	}
	return some
}

// address returns where the balancer of n nodes listens.
func (b *balancers) address(first, n int) (string, error) {
	of := [2]int{first % len(b.nodes), n}
	if n == len(b.nodes) {
		of[0] = 0
	}
	if b.started[of] == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("cannot listen: %w", err)
		}
		b.started[of] = newFront(l, b.of(first, n))
	}
	return b.started[of].address, nil
}

func (b *balancers) stop() (errs error) {
	for _, f := range b.started {
		errs = errors.Join(errs, f.stop())
	}
	return errs
}
