package pages

import (
	"runtime"

	"tidemark/edge/render"
	"tidemark/rankings"
)

// answerOwner answers what an owner's positions come to on all chains. The sums are
// kept for the generations that they are of; when the data was current is not.
func (p *Pages) answerOwner(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, 0)
	if err != nil {
		return Reply{}, err
	}

	text := q.Owner.AppendHex(append(append(q.text[:0], q.Route.Path()...), ' '))
	key := sc.appendKey(text[len(text):], text)
	sums, ok := p.cache.get(key)
	if !ok {
		if sums, err = p.sumOwner(q, &sc); err != nil {
			return Reply{}, err
		}
		sums.key = string(key)
		p.cache.put(sums)
	}

	if len(sc.missing) > 0 {
		p.metrics.partial.Inc()
	}
	asOf := oldestConfirmed(sc.views)
	body := append(make([]byte, 0, len(sums.Body)+asOfBytes), sums.Body...)
	body = render.AppendMissing(render.AppendAsOf(body, asOf), sc.missing)
	page := &Page{Body: append(body, '}'), Generations: sums.Generations}
	return Reply{Page: page, AsOf: asOf, Free: len(sc.missing) > 0}, nil
}

// sumOwner adds up an owner's positions and renders the sums: the body of the answer
// up to asOf. The walk over very many positions waits for its turn.
func (p *Pages) sumOwner(q *Question, sc *scope) (*Page, *render.Error) {
	walks, rows := make([]*rankings.OwnerWalk, len(sc.views)), 0
	for i, v := range sc.views {
		walk, err := v.Holdings(q.Owner)
		if err != nil {
			return nil, listError(err)
		}
		walks[i], rows = walk, rows+walk.Left()
	}

	if rows >= longOwner {
		turn, busy := p.admission.begin(task{q.Account, ownerTask, rows})
		if busy != nil {
			return nil, busy
		}
		defer turn.end()
	}

	chains := make([]render.Holdings, len(walks))
	for i, walk := range walks {
		for !walk.Step(stepRows) {
			runtime.Gosched()
		}
		chains[i] = render.Holdings{Chain: sc.views[i].State.Chain, Holdings: walk.Sums()}
	}
	body := render.AppendOwner(nil, q.Owner, chains)
	return &Page{Body: body, Generations: formatGenerations(sc.views...)}, nil
}
