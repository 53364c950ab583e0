package cluster

import (
	"context"
	"errors"
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
	served chan error
}

// newFront starts a balancer of nodes.
func newFront(l net.Listener, nodes []*process.Node) *front {
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.API)
	}

	f := &front{balancer.New(addresses), make(chan error, 1)}
	go func() { f.served <- f.Serve(l) }()
	return f
}

// stop waits a moment for answers, and ends.
func (f *front) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), answersTimeout)
	defer cancel()
	return errors.Join(f.Shutdown(ctx), <-f.served)
}
