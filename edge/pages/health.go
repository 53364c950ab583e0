package pages

import (
	"fmt"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
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
		if p.availableView(snapshot, id, now) != nil {
			serving = true
		}

		if len(rows) > 0 {
			rows = append(rows, ',')
		}
		rows = render.AppendChainHealth(rows, c, health, reason, p.membership(id))
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

// membership returns what the node knows of a chain in its cluster; nil outside of one.
func (p *Pages) membership(id market.ChainID) *rankings.Membership {
	if p.cfg.Membership == nil {
		return nil
	}
	m, ok := p.cfg.Membership(id)
	if !ok {
		return nil
	}
	return &m
}

// ChainHealth returns the status of a chain and, unless it is OK, the reason.
func (p *Pages) ChainHealth(id market.ChainID, now int64) (status, reason string) {
	snapshot := p.cfg.Board.Load()
	c, ok := snapshot.Chain(id)
	if !ok {
		c = new(rankings.Chain)
	}
	health, reason := p.chainHealth(snapshot, c, now)
	return string(health), reason
}

// chainHealth is ChainHealth of a chain of the snapshot.
func (p *Pages) chainHealth(
	s *rankings.Snapshot, c *rankings.Chain, now int64,
) (h render.Health, reason string) {
	switch {
	case c.Status.Offline:
		return render.Offline, "taken offline by the operator"
	case c.Status.Stopped:
		return render.Down, "indexing has stopped: " + c.Status.StopReason
	}

	h, reason = p.progressHealth(s, c, now)
	failing := feedFailing(&c.Status, now)
	switch {
	case failing == "":
		return h, reason
	case h == render.OK:
		return render.Lagging, failing
	}
	return h, reason + "; " + failing
}

// progressHealth is chainHealth as far as the newest ranking tells, of a chain that goes on.
func (p *Pages) progressHealth(
	s *rankings.Snapshot, c *rankings.Chain, now int64,
) (h render.Health, reason string) {
	switch {
	case c.Status.Repair != "" && (c.Status.Syncing || c.View == nil):
		return render.Syncing, "reading blocks again: " + c.Status.Repair
	case c.Status.Syncing:
		return render.Syncing, "catching up with the chain head"
	case c.View == nil:
		return render.Down, "no ranking has been published yet"
	case p.availableView(s, c.ID, now) == nil:
		return render.Down, p.unconfirmedReason(c.View, now)
	case now-c.View.Confirmed() > p.limits.Load().Freshness.Milliseconds():
		return render.Lagging, p.unconfirmedReason(c.View, now)
	case c.Status.Repair != "":
		return render.Lagging, "reading blocks again: " + c.Status.Repair
	}
	return render.OK, ""
}

// feedFailing says how long the feed of a chain has failed, and why; empty if it works, or
// failed just now.
func feedFailing(s *rankings.ChainStatus, now int64) string {
	if s.FailingSince == 0 || now-s.FailingSince <= feedGrace.Milliseconds() {
		return ""
	}
	return fmt.Sprintf("the feed has been failing for %s: %s",
		roundToSeconds(now-s.FailingSince), s.FeedError)
}

// unconfirmedReason says how old a view is, and that the disk keeps the next one away.
func (p *Pages) unconfirmedReason(v *rankings.View, now int64) string {
	reason := fmt.Sprintf("block %d was last confirmed as the chain's head %s ago",
		v.State.Head.Number, roundToSeconds(now-v.Confirmed()))
	if !p.cfg.Disk().Status.HasRoom() {
		reason += "; the disk has no room for newer data"
	}
	return reason
}

// roundToSeconds returns a number of milliseconds as a readable duration.
func roundToSeconds(milli int64) time.Duration {
	return (time.Duration(milli) * time.Millisecond).Round(time.Second)
}
