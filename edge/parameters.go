package edge

import (
	"tidemark/edge/gate"
	"tidemark/edge/query"
	"tidemark/edge/render"
)

// parseParameters parses the parameters of a metered route.
func (r *request) parseParameters(chains query.Chains) *render.Error {
	var err error
	switch r.route {
	case routePositions:
		r.Positions, err = chains.Positions(r.query, &r.Options)
	case routePools:
		r.Pools, err = chains.Pools(r.query, &r.Options)
	case routePool, routePoolCharts, routePoolTicks, routePoolEstimate:
		if r.Pool, err = query.PoolID(r.protocol, r.id); err == nil {
			err = r.parsePlace(chains)
		}
	case routePosition, routePositionCharts, routeExplain:
		var ok bool
		r.Position, ok = query.PositionID(r.id)
		r.NoPosition = !ok
		err = r.parsePlace(chains)
	case routePositionBatch:
		r.Batch, err = chains.PositionBatch(r.query)
	case routePoolBatch:
		r.Batch, err = chains.PoolBatch(r.query)
	case routeTokens:
		r.Tokens, err = chains.Tokens(r.query)
	case routeToken:
		err = r.parseToken(chains)
	case routeOwner:
		err = r.parseOwner()
	case routePositionExport, routePoolExport:
		err = r.parseExport(chains)
	case routeStream:
		err = r.parseStream(chains)
	default:
		err = query.None(r.query)
	}

	if err != nil {
		return render.BadRequest(err)
	}
	return nil
}

// parseOwner parses the address and the parameters of an owner.
func (r *request) parseOwner() (err error) {
	if r.malformed != nil {
		return r.malformed
	}
	if r.Owner, err = query.Owner(r.id); err != nil {
		return err
	}
	return query.None(r.query)
}

// parseToken parses the chain, the address and the parameters of a token.
func (r *request) parseToken(chains query.Chains) (err error) {
	if r.malformed != nil {
		return r.malformed
	}
	if r.Chain, r.Token, err = chains.Token(r.chain, r.id); err != nil {
		return err
	}
	return query.None(r.query)
}

// parseStream parses the parameters of a stream and the event that it goes on after.
func (r *request) parseStream(chains query.Chains) (err error) {
	if r.stream, err = chains.Stream(r.query); err != nil {
		return err
	}

	last := r.ctx.Request.Header.PeekAll(gate.HeaderLastEvent)
	switch {
	case len(last) > 1:
		return errTwoEvents
	case len(last) == 1 && len(last[0]) > 0:
		r.stream.After, err = query.ParseEventID(last[0])
	}
	return err
}

// parsePlace parses the chain, protocol and parameters of a detail.
func (r *request) parsePlace(chains query.Chains) (err error) {
	if r.malformed != nil {
		return r.malformed
	}
	if r.Chain, err = chains.Place(r.chain, r.protocol); err != nil {
		return err
	}

	switch r.route {
	case routePositionCharts, routePoolCharts:
		r.Chart, err = query.Charts(r.query)
	case routePoolTicks:
		r.Paging, err = query.Ticks(r.query)
	case routePoolEstimate:
		r.Estimate, err = query.ReadEstimate(r.query)
	default:
		err = query.None(r.query)
	}
	return err
}
