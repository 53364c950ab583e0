package ledger

import "tidemark/rankings/market"

// CutHours cuts a span between its blocks wherever an hour of the chain's time
// begins, so that all of a piece, its end included, lies in one hour: that of
// the piece's Time. fromTime is the time of the block before the span. A cut
// stands after the last block that has events, whose hash is not known.
func CutHours(s *market.Span, fromTime int64) []market.Span {
	if market.HourOf(fromTime) == market.HourOf(s.Time) {
		return []market.Span{*s}
	}
	var pieces []market.Span
	rest := *s
	for start := 0; start < len(s.Blocks); {
		end := start + 1
		for end < len(s.Blocks) && market.HourOf(s.Blocks[end].Time) == market.HourOf(s.Blocks[start].Time) {
			end++
		}
		last := &s.Blocks[end-1]
		if last.Number == s.To || end == len(s.Blocks) && market.HourOf(last.Time) == market.HourOf(s.Time) {
			break
		}
		piece := rest
		piece.To, piece.Hash, piece.Time, piece.Blocks = last.Number, market.Hash{}, last.Time, s.Blocks[start:end]
		pieces = append(pieces, piece)
		rest.From, rest.Parent, rest.Blocks, rest.Tokens = last.Number+1, market.Hash{}, s.Blocks[end:], nil
		start = end
	}
	return append(pieces, rest)
}
