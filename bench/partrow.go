package bench

import (
	"context"
	"errors"
	"fmt"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
	"tidemark/edge/render"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// rowsMeasured is how many positions are rendered in turns: pages of them.
const rowsMeasured = 50 * pageRows

// prepared is a position that is ready to be rendered.
type prepared struct {
	index   uint32
	metrics value.Metrics
	share   *render.Share
}

// runRow measures rows of open positions of the corpus: rendered from their
// values, as the figure has it, and with the values computed, as a page does.
func runRow(ctx context.Context, s *suite, out *report.Scenario) (err error) {
	out.Connections = 0
	st, done, err := corpus.Open(s.Corpus)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	rows := prepare(st)
	if len(rows) == 0 {
		return fmt.Errorf("the corpus in %s has no open position", s.Corpus)
	}
	dst, size := make([]byte, 0, 8<<10), 0
	turn := func(compute bool) func() (int, error) {
		return func() (int, error) {
			size = 0
			for i := range rows {
				r := &rows[i]
				if compute {
					value.Position(st, r.index, &r.metrics)
				}
				dst = render.AppendPosition(dst[:0], st, r.index, &r.metrics, r.share, uint64(i+1))
				size += len(dst)
			}
			return len(rows), nil
		}
	}
	only, err := s.timed(ctx, turn(false))
	if err != nil {
		return err
	}
	whole, err := s.timed(ctx, turn(true))
	if err != nil {
		return err
	}
	enterPace(out, "a row", only)
	enterPace(out, "a row with its values", whole)
	out.Values = append(out.Values,
		report.Value{Name: "bytes of a row", Value: float64(size / len(rows))})
	return nil
}

// prepare picks open positions from all over the chain.
func prepare(st *market.State) (rows []prepared) {
	shares := map[uint32]*render.Share{}
	step := max(1, st.Positions.Len()/(4*rowsMeasured))
	for i := uint32(0); i < st.Positions.Len() && len(rows) < rowsMeasured; i += step {
		p := st.Positions.At(i)
		if p.Liquidity.IsZero() {
			continue
		}
		r := prepared{index: i}
		value.Position(st, i, &r.metrics)
		if shares[p.Pool] == nil {
			shares[p.Pool] = render.NewShare(st, p.Pool, &r.metrics)
		}
		r.share = shares[p.Pool]
		rows = append(rows, r)
	}
	return rows
}
