package pages

import (
	"fmt"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/storage"
)

// Health answers GET /health; serving is false when no chain can be served.
func (p *Pages) Health(now int64) (answer Reply, serving bool) {
	snapshot := p.cfg.Board.Load()
	node := render.OK
	var rows []byte
	for _, id := range p.enabled {
		c, ok := snapshot.Chain(id)
		if !ok {
			c = &rankings.Chain{ID: id}
		}

		health, reason := p.chainHealth(snapshot, c, now)
		if health != render.OK {
			node = render.Degraded
		}
		if p.available(snapshot, id, now) != nil {
			serving = true
		}

		if len(rows) > 0 {
			rows = append(rows, ',')
		}
		rows = render.AppendChainHealth(rows, c, health, reason)
	}

	disk, clock := p.cfg.Disk(), p.cfg.WallClock()
	if disk.Status != storage.DiskOK || clock.Mistrusted {
		node = render.Degraded
	}
	if !serving {
		node = render.Down
	}

	body := append(render.AppendHealth(nil, node, p.cfg.Version), rows...)
	body = render.AppendDisk(append(body, ']'), string(disk.Status), disk.FreeBytes)
	body = render.AppendClock(body, &clock)
	if !serving {
		body = append(body, `,"error":"no chain can be served"`...)
	}
	return Reply{Page: &Page{Body: append(body, '}')}}, serving
}

// chainHealth judges a chain by what it serves, and by why it does not.
func (p *Pages) chainHealth(
	s *rankings.Snapshot, c *rankings.Chain, now int64,
) (h render.Health, reason string) {
	switch {
	case c.Status.Offline:
		return render.Offline, "the operator has taken the chain offline"
	case c.Status.Stopped:
		return render.Down, "the chain has stopped: " + c.Status.StopReason
	case c.Status.Repair != "" && (c.Status.Syncing || c.View == nil):
		return render.Syncing, "blocks are read again from the feed: " + c.Status.Repair
	case c.Status.Syncing:
		return render.Syncing, "the node is catching up with the chain's head"
	case c.View == nil:
		return render.Down, "nothing is published yet"
	case p.available(s, c.ID, now) == nil:
		return render.Down, unconfirmed(c.View, now)
	case now-c.View.Confirmed() > p.cfg.Limits.Freshness.Milliseconds():
		return render.Lagging, unconfirmed(c.View, now)
	}

	if c.Status.Repair != "" {
		return render.Lagging, "blocks are read again from the feed: " + c.Status.Repair
	}
	failing := c.Status.FailingSince
	if failing != 0 && now-failing > feedGrace.Milliseconds() {
		return render.Lagging, fmt.Sprintf("the feed has failed for %s", seconds(now-failing))
	}
	return render.OK, ""
}

func unconfirmed(v *rankings.View, now int64) string {
	return fmt.Sprintf("block %d was last confirmed as the chain's head %s ago",
		v.State.Head.Number, seconds(now-v.Confirmed()))
}

// seconds is a time in milliseconds, for a reader.
func seconds(milli int64) time.Duration {
	return (time.Duration(milli) * time.Millisecond).Round(time.Second)
}
