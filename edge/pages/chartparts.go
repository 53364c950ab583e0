package pages

import (
	"bytes"
	"fmt"

	"github.com/dgraph-io/ristretto/v2"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
)

// chartParts keeps what the charts of a pool and of all its positions have in common in one
// generation: most of their bytes, and the days or hours that series of positions are
// computed from. Nothing is invalidated, as in the page cache: a new generation has new
// keys.
type chartParts struct {
	kept *ristretto.Cache[uint64, *chartPart]
}

// chartKey says of what a part is.
type chartKey struct {
	chain      market.ChainID
	generation uint64
	pool       uint32
	query.Chart
}

// chartPart is shared and does not change.
type chartPart struct {
	chartKey
	head, tail []byte          // before and behind the range of a position
	line       *chart.Timeline // without a State, which it would keep in memory
}

func newChartParts() (*chartParts, error) {
	kept, err := ristretto.NewCache(&ristretto.Config[uint64, *chartPart]{
		NumCounters: 10 * chartPartsBytes / (16 << 10),
		MaxCost:     chartPartsBytes,
		BufferItems: 64,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a cache of %d bytes for parts of charts: %w",
			chartPartsBytes, err)
	}
	return &chartParts{kept}, nil
}

// hash is the key in the cache. A collision costs the work of rendering but never a wrong
// answer: get compares keys.
func (k *chartKey) hash() uint64 {
	x := uint64(k.chain)<<32 ^ uint64(k.pool) ^ k.generation*0x9e3779b97f4a7c15
	x = mixBits(mixBits(x) ^ uint64(k.Range)<<8 ^ uint64(k.Interval))
	return x ^ x>>32
}

func (c *chartParts) get(key *chartKey) (*chartPart, bool) {
	part, ok := c.kept.Get(key.hash())
	return part, ok && part.chartKey == *key
}

// put offers a copy of a part to the cache, which may decline it.
func (c *chartParts) put(key *chartKey, head, tail []byte, line *chart.Timeline) {
	const overhead = 256 // the record, the timeline's, and the cache's own entry
	cost := overhead + len(head) + len(tail) + line.Bytes()
	if cost <= maxChartPart {
		part := &chartPart{*key, bytes.Clone(head), bytes.Clone(tail), line.In(nil)}
		c.kept.SetWithTTL(key.hash(), part, int64(cost), pageTTL)
	}
}

func (c *chartParts) close() { c.kept.Close() }

// appendCharts begins a chart with what pools and positions have in common. of is the
// position whose range is marked, or nil. line is what series are computed from.
func (p *Pages) appendCharts(
	dst []byte, q *Question, v *rankings.View, pool uint32, of *market.Position,
) (body []byte, line *chart.Timeline, failed *render.Error) {
	st := v.State
	key := chartKey{st.Chain, v.Generation, pool, q.Chart}
	if part, ok := p.charts.get(&key); ok {
		dst = render.AppendRange(append(dst, part.head...), of)
		return append(dst, part.tail...), part.line.In(st), nil
	}

	line, err := p.timeline(v, pool, q.Chart)
	if err != nil {
		return nil, nil, errUnreadable(err)
	}
	from := len(dst)
	dst = appendChartHead(dst, q, st, pool, line)
	middle := len(dst)
	dst = render.AppendRange(dst, of)
	behind := len(dst)
	dst = render.AppendBins(dst, render.DecimalsOf(st, st.Pools.At(pool)), chart.Bins(st, pool))
	dst = render.AppendPoolOverviewCurrent(dst, st, pool)

	p.charts.put(&key, dst[from:middle], dst[behind:], line)
	return dst, line, nil
}

// appendChartHead appends what stands before the range of a position.
func appendChartHead(
	dst []byte, q *Question, st *market.State, pool uint32, line *chart.Timeline,
) []byte {
	dst = append(dst, `{"range":"`...)
	dst = append(append(dst, q.Range.String()...), '"')
	if q.Interval != query.Interval1d {
		dst = append(dst, `,"interval":"`...)
		dst = append(append(dst, q.Interval.String()...), '"')
	}

	points := line.Points()
	dst = render.AppendPoolPrice(dst, &points)
	dst = render.AppendPoolOverview(dst, &points)
	return render.AppendDistribution(dst, st.Pools.At(pool))
}
