package ledger

import "tidemark/rankings/market"

// CutHours cuts a span between blocks wherever a new hour of the chain's time
// begins, so that every piece lies in one hour, that of its Time. fromTime is the
// time of the block before the span. A piece ends at the last block with events
// in its hour, the hash of which is not known.
func CutHours(s *market.Span, fromTime int64) []market.Span {
	if market.HourOf(fromTime) == market.HourOf(s.Time) {
		return []market.Span{*s}
	}

	var pieces []market.Span
	rest := *s
	for len(rest.Blocks) > 0 {
		hour := market.HourOf(rest.Blocks[0].Time)
		end := 1
		for end < len(rest.Blocks) && market.HourOf(rest.Blocks[end].Time) == hour {
			end++
		}

		// The rest is one piece if nothing of another hour follows.
		last := &rest.Blocks[end-1]
		if last.Number == s.To || market.HourOf(s.Time) == hour {
			break
		}

		piece := rest
		piece.To, piece.Hash, piece.Time = last.Number, market.Hash{}, last.Time
		piece.Blocks = rest.Blocks[:end]
		pieces = append(pieces, piece)

		rest.From, rest.Parent = last.Number+1, market.Hash{}
		rest.Blocks, rest.Tokens = rest.Blocks[end:], nil
	}

	return append(pieces, rest)
}
