package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A server that is cut off from the others keeps its clients: their connections are sound,
// and nothing that needs a majority is answered there. So a node looks whether the leader of
// the stream answers, and goes to another server if it does not.

const (
	// seekEvery is the pause between two looks.
	seekEvery = time.Second
	// firstPatience is longer than servers take to elect a leader (4 to 9 s after a kill), and
	// short enough for a node to be back before its data is stale.
	firstPatience = 10 * time.Second
	// lastPatience is for servers none of which has a leader: patience doubles up to it.
	lastPatience = time.Minute
)

// startSeeking starts seekLeader. It looks through the handle that there is now: tests put
// stand-ins in its place later.
func (c *Cluster) startSeeking() {
	js := c.js
	c.work.Go(func() { c.seekLeader(js) })
}

// seekLeader leaves servers that do not reach the leader of the stream, until Close.
func (c *Cluster) seekLeader(js jetstream.JetStream) {
	patience, reached := firstPatience, time.Now()
	for c.ctx.Err() == nil {
		Pause(c.ctx, seekEvery)
		switch {
		case leaderAnswers(c.ctx, js):
			patience, reached = firstPatience, time.Now()
			continue
		case !c.nc.IsConnected():
			reached = time.Now() // the client looks for another server itself
			continue
		case time.Since(reached) < patience:
			continue
		}

		c.cfg.Log.Warn("this NATS server does not reach the leader of the stream; trying another one",
			"server", c.nc.ConnectedServerName())
		if patience > firstPatience {
			c.cfg.Log.Error("no NATS server reaches the leader of the stream; start those that are down, and " +
				"start those again whose logs say that there was no space left")
		}
		if err := c.nc.ForceReconnect(); err != nil {
			return // it is closed
		}
		patience, reached = min(2*patience, lastPatience), time.Now()
	}
}

// leaderAnswers reports whether the leader of the stream answers, or that of the servers
// while there is no stream.
func leaderAnswers(ctx context.Context, js jetstream.JetStream) bool {
	stream, err := js.Stream(ctx, streamName)
	return err == nil && hasLeader(stream.CachedInfo()) || errors.Is(err, jetstream.ErrStreamNotFound)
}
