package rankings_test

import (
	"bytes"
	"regexp"
	"sort"
	"strings"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// model answers questions by brute force: all rows, a filter, a stable sort. It
// shares with the code under test only the market types and the metrics.
type model struct {
	positions []position // by chain, then id
	pools     []pool
}

type position struct {
	*market.Position
	m    value.Metrics
	st   *market.State
	row  uint32
	tvl  float64
	risk bool
}

type pool struct {
	*market.Pool
	*market.PoolStats
	st   *market.State
	row  uint32
	risk bool
}

func newModel(states []*market.State) *model {
	states = append([]*market.State(nil), states...)
	sort.SliceStable(states, func(i, j int) bool { return states[i].Chain < states[j].Chain })

	m := &model{}
	for _, st := range states {
		risk := func(p *market.Pool) bool {
			return !(st.Prices.At(p.Currency0).Corroborated && st.Prices.At(p.Currency1).Corroborated)
		}
		from := len(m.pools)
		for i := range st.Pools.Len() {
			m.pools = append(m.pools, pool{st.Pools.At(i), st.Stats.At(i), st, i, risk(st.Pools.At(i))})
		}
		chain := m.pools[from:]
		sort.SliceStable(chain, func(i, j int) bool {
			return bytes.Compare(chain[i].ID[:], chain[j].ID[:]) < 0
		})
		for i := range st.Positions.Len() {
			p := position{Position: st.Positions.At(i), st: st, row: i}
			value.Position(st, i, &p.m)
			p.tvl, p.risk = st.Stats.At(p.Pool).TVLUsd, risk(st.Pools.At(p.Pool))
			m.positions = append(m.positions, p)
		}
	}

	return m
}

// answer is a row of the expected order.
type answer struct {
	chain market.ChainID
	row   uint32
}

// above reports whether a value reaches an inclusive floor. An unknown value
// reaches floors of 0 and below.
func above(x, floor float64) bool { return floor <= 0 || x >= floor }

func (m *model) sortPositions(by rankings.PositionSort) []position {
	rows := append([]position(nil), m.positions...)
	number := func(p *position) float64 {
		switch by {
		case rankings.ByAPR:
			return -p.m.APR
		case rankings.ByFeeAPR:
			return -p.m.FeeAPR
		case rankings.ByROI:
			return -p.m.ROI
		case rankings.ByPnl:
			return -p.m.PnlUsd
		case rankings.ByUnderlyingValue:
			return -p.m.UnderlyingValueUsd
		case rankings.ByAge:
			return float64(p.m.AgeSeconds)
		case rankings.ByIDAscending:
			return float64(p.ID)
		}
		return -float64(p.ID)
	}

	sort.SliceStable(rows, func(i, j int) bool { return less(number(&rows[i]), number(&rows[j])) })
	return rows
}

// less sorts unknown values last.
func less(a, b float64) bool { return a < b || a == a && b != b }

func keepsPosition(q *rankings.PositionQuestion, p *position) bool {
	v := p.m.UnderlyingValueUsd
	if q.Sort <= rankings.ByROI && (!p.IsOpen() || v == 0 || v != v) {
		return false
	}
	return (q.Chain == 0 || q.Chain == p.st.Chain) &&
		(q.Status == rankings.AnyStatus || p.IsOpen() == (q.Status == rankings.Active)) &&
		(q.Range == rankings.AnyRange || p.m.InRange == (q.Range == rankings.InRange)) &&
		(q.Owner == nil || *q.Owner == *p.st.Owners.At(p.Owner)) &&
		(q.Pool == nil || *q.Pool == p.st.Pools.At(p.Pool).ID) &&
		(q.ID == nil || *q.ID == p.ID) && !q.NoSuchID &&
		keepsKey(&q.Key, p.st, p.st.Pools.At(p.Pool)) && above(v, q.MinValueUsd) && above(p.tvl, q.MinPoolTVLUsd) &&
		(q.IncludeRisky || !p.risk)
}

// keepsKey reports whether a pool has all tokens, the fee and the hooks of f.
func keepsKey(f *rankings.KeyFilter, st *market.State, p *market.Pool) bool {
	for _, a := range f.Tokens {
		if a != st.Tokens.At(p.Currency0).Address && a != st.Tokens.At(p.Currency1).Address {
			return false
		}
	}
	fee := p.Fee
	if p.Fee == market.DynamicFee {
		fee = p.LastFee
	}
	return (f.Fee == nil || *f.Fee == fee) && (f.Hooks == nil || *f.Hooks == p.Hooks) &&
		!(f.Hooked && p.Hooks == market.Address{})
}

func filterPositions(rows []position, q *rankings.PositionQuestion) (out []answer) {
	for i := range rows {
		if p := &rows[i]; keepsPosition(q, p) {
			out = append(out, answer{p.st.Chain, p.row})
		}
	}
	return out
}

func (m *model) sortPools(by rankings.PoolSort) []pool {
	rows := append([]pool(nil), m.pools...)
	number := func(p *pool) float64 {
		switch by {
		case rankings.ByTVL:
			return -p.TVLUsd
		case rankings.ByVolume:
			return -p.VolumeUsd24h
		case rankings.ByFees:
			return -p.FeesUsd24h
		case rankings.ByPoolFeeAPR:
			return -p.FeeAPR
		}
		return float64(p.CreatedAt)
	}

	sort.SliceStable(rows, func(i, j int) bool { return less(number(&rows[i]), number(&rows[j])) })
	return rows
}

// hidden are the characters that no row shows.
var hidden = regexp.MustCompile(`[\p{Cc}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2069}\x{FEFF}]`)

// lower returns the Unicode lower case. strings has the simple mappings only.
func lower(text string) string { return strings.ToLower(strings.ReplaceAll(text, "İ", "i\u0307")) }

func keepsPool(q *rankings.PoolQuestion, p *pool) bool {
	if q.Chain != 0 && q.Chain != p.st.Chain || !above(p.TVLUsd, q.MinTVLUsd) ||
		!keepsKey(&q.Key, p.st, p.Pool) {
		return false
	}
	if q.Search == "" {
		return q.IncludeRisky || !p.risk
	}
	texts, symbols := []string{p.ID.String()}, [2]string{}
	for side, i := range []uint32{p.Currency0, p.Currency1} {
		token := p.st.Tokens.At(i)
		texts = append(texts, token.Address.String())
		if symbol, ok := token.Symbol.Get(); ok {
			symbols[side] = lower(hidden.ReplaceAllString(symbol, ""))
			texts = append(texts, symbols[side])
		}
	}

	for _, text := range texts {
		if strings.Contains(lower(text), lower(q.Search)) {
			return true
		}
	}
	return isPair(symbols, lower(q.Search))
}

var divider = regexp.MustCompile(`[/ -]`)

// isPair reports whether search is two symbols, in either order, with nothing but
// dividers between them.
func isPair(symbols [2]string, search string) bool {
	for _, order := range [][2]string{symbols, {symbols[1], symbols[0]}} {
		rest, begins := strings.CutPrefix(search, order[0])
		rest, ends := strings.CutSuffix(rest, order[1])
		if begins && ends && symbols[0] != "" && symbols[1] != "" && rest != "" &&
			divider.ReplaceAllString(rest, "") == "" {
			return true
		}
	}
	return false
}

func filterPools(rows []pool, q *rankings.PoolQuestion) (out []answer) {
	for i := range rows {
		if p := &rows[i]; keepsPool(q, p) {
			out = append(out, answer{p.st.Chain, p.row})
		}
	}
	return out
}
