package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
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

		health := p.chainHealth(snapshot, c, now)
		if health != render.OK {
			node = render.Degraded
		}
		if p.available(snapshot, id, now) != nil {
			serving = true
		}

		if len(rows) > 0 {
			rows = append(rows, ',')
		}
		rows = render.AppendChainHealth(rows, c, health)
	}
	if !serving {
		node = render.Down
	}

	body := append(render.AppendHealth(nil, node, p.cfg.Version), rows...)
	body = append(body, ']')
	if !serving {
		body = append(body, `,"error":"no chain can be served"`...)
	}
	return Reply{Page: &Page{Body: append(body, '}')}}, serving
}

// chainHealth judges a chain by what it serves, and by why it does not.
func (p *Pages) chainHealth(s *rankings.Snapshot, c *rankings.Chain, now int64) render.Health {
	failing := c.Status.FailingSince
	switch {
	case c.Status.Offline:
		return render.Offline
	case c.Status.Stopped:
		return render.Down
	case c.Status.Syncing:
		return render.Syncing
	case p.available(s, c.ID, now) == nil:
		return render.Down
	case now-c.View.Confirmed() > p.cfg.Limits.Freshness.Milliseconds():
		return render.Lagging
	case failing != 0 && now-failing > feedGrace.Milliseconds():
		return render.Lagging
	}
	return render.OK
}
