package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// A node that starts while no NATS servers answer is not joined yet: its chains and
// accounts are those of its store, and all requests to the servers fail. It cannot write,
// because it only becomes a writer once it has followed to the end of the stream. It joins
// when the servers answer, if they pass all checks of a start.

// Unreached is the error of servers that do not answer. They may later.
type Unreached struct{ Err error }

func (u *Unreached) Error() string { return u.Err.Error() }

func (u *Unreached) Unwrap() error { return u.Err }

// isRefusal reports whether a server has answered and does not accept this node, or the
// other way round.
func isRefusal(err error) bool {
	var alert tls.AlertError
	var network net.Error
	if errors.As(err, &alert) {
		return true
	}
	for _, passing := range []error{nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, io.EOF} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return !errors.As(err, &network)
}

// errNotJoined is the error of all requests to the servers before this node has joined.
var errNotJoined = errors.New("the NATS servers have not answered since this node was started")

// latePause is the pause between two attempts to join.
const latePause = time.Second

// OpenLater is Open for a node that goes on without the servers until they answer. It joins
// only after JoinLater.
func OpenLater(cfg Config) (*Cluster, error) {
	c := newCluster(cfg)
	c.warnInsecure()
	if err := c.connect(nats.RetryOnFailedConnect(true)); err != nil {
		return c, err
	}
	c.startSeeking()
	return c, nil
}

// JoinLater joins when the servers answer and check, which is called then, has no error. If
// the servers are refused, or refuse this node, it does not join, and refused is called.
func (c *Cluster) JoinLater(check func() error, refused func(error)) {
	c.work.Go(func() {
		err := c.joinLater(check)
		switch {
		case c.ctx.Err() != nil:
		case err != nil:
			refused(err)
		default:
			c.askLater(refused)
		}
	})
}

// joinLater tries to join until it has, or is refused.
func (c *Cluster) joinLater(check func() error) error {
	var unreached *Unreached
	for {
		ctx, cancel := context.WithTimeout(c.ctx, openTimeout)
		err := c.join(ctx)
		cancel()
		if err == nil {
			err = check()
		}

		switch {
		case c.nc.IsClosed():
			return fmt.Errorf("the NATS servers refuse this node: %w", c.nc.LastError())
		case err == nil && c.noteJoined():
			c.cfg.Log.Info("the NATS servers answer: this node has joined the cluster",
				"server", c.nc.ConnectedServerName())
			return nil
		case err != nil && !errors.As(err, &unreached) || c.ctx.Err() != nil:
			return err
		}
		Pause(c.ctx, latePause)
	}
}

// join opens and checks what the cluster has on the servers.
func (c *Cluster) join(ctx context.Context) error {
	err := c.openStream(ctx)
	if err == nil {
		err = c.openBuckets(ctx)
	}
	if err == nil && !c.cfg.Insecure {
		err = c.checkSafety(ctx)
	}

	c.mu.Lock()
	awaited := slices.Clone(c.awaited)
	c.mu.Unlock()
	for _, b := range awaited {
		if err == nil {
			err = b.open(ctx)
		}
	}
	return err
}

// noteJoined lets requests to the servers pass, unless a bucket has come to be awaited
// meanwhile, which is not open. It returns whether it did.
func (c *Cluster) noteJoined() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.awaited {
		if b.kv == nil {
			return false
		}
	}
	c.joined.Store(true)
	return true
}

// Joined returns an error while the servers have not answered since the start.
func (c *Cluster) Joined() error {
	if !c.joined.Load() {
		return errNotJoined
	}
	return nil
}

// await has a bucket opened when this node joins. It returns false if it has joined.
func (c *Cluster) await(b *Bucket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.joined.Load() {
		return false
	}
	c.awaited = append(c.awaited, b)
	return true
}
