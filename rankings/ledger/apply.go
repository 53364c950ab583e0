package ledger

import (
	"fmt"
	"slices"

	"tidemark/rankings/market"
)

// BeginHour announces the price records of an hour: those that changed. They
// take effect at the start of the next Apply, which is the first of the hour,
// and belong to its undo; when that Apply fails they are forgotten.
func (l *Ledger) BeginHour(hour uint32, prices []HourPrice) {
	l.hour = &hourRecord{hour, slices.Clone(prices)}
}

// Apply applies the span that follows the head, and returns the pools that it
// had to quarantine because events of them contradict the replay. On an error
// the ledger is exactly what it was: ErrNotNext for a span that belongs
// elsewhere, *Mismatch for an event that contradicts the replay and is no
// pool's, or whose span is Strict. For a Final span no undo is kept, and older
// ones end with it.
func (l *Ledger) Apply(s *market.Span) (quarantined []Quarantined, err error) {
	hour := l.hour
	l.hour = nil
	if err := l.follows(s); err != nil {
		return nil, err
	}

	// Each failed run quarantines one more pool, so the number of runs is at most
	// the number of pools in the span plus one.
	ops := len(l.ops)
	clear(l.condemned)
	for {
		l.begin()
		l.final = s.Final
		err := l.run(s, hour)
		if err == nil {
			break
		}
		l.abandon()
		l.ops = l.ops[:ops]
		q, ok := l.condemn(s, err)
		if !ok {
			return nil, fmt.Errorf("cannot apply span %d to %d: %w", s.From, s.To, err)
		}
		quarantined = append(quarantined, q)
	}

	l.keep(s)
	l.st.Head = s.Head()
	return quarantined, nil
}

// follows refuses a span that belongs elsewhere. A parent is compared when
// both hashes are known: at a cut between blocks neither is.
func (l *Ledger) follows(s *market.Span) error {
	switch {
	case s.From != l.st.Head.Number+1 || s.To < s.From:
		return fmt.Errorf("cannot apply span %d to %d at head %d: %w",
			s.From, s.To, l.st.Head.Number, ErrNotNext)
	case !s.Parent.IsZero() && !l.st.Head.Hash.IsZero() && s.Parent != l.st.Head.Hash:
		return fmt.Errorf("cannot apply span %d to %d with parent %s at head %s: %w",
			s.From, s.To, s.Parent, l.st.Head.Hash, ErrNotNext)
	}
	return nil
}

// run applies what the span holds: its tokens, the hour that was announced,
// its blocks, and the time up to its end. Nothing of an event is trusted but its
// type. On an error the tables are left half changed; the caller abandons them.
func (l *Ledger) run(s *market.Span, hour *hourRecord) error {
	l.learn(s.Tokens)
	l.quarantine()
	if hour != nil {
		first := s.Time
		if len(s.Blocks) > 0 {
			first = s.Blocks[0].Time
		}
		if hour.hour > market.HourOf(first) {
			return fmt.Errorf("hour %d was announced; the span begins in hour %d",
				hour.hour, market.HourOf(first))
		}
		l.advance(int64(hour.hour) * market.Hour)
		l.record(hour)
	}

	// The hour may have moved the clock past the head; blocks count from the head.
	l.time = l.st.Head.Time
	next := s.From
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Number < next || b.Number > s.To || b.Time < l.time {
			return fmt.Errorf("block %d of time %d stands after block %d of time %d",
				b.Number, b.Time, next-1, l.time)
		}
		next = b.Number + 1
		l.advance(b.Time)
		if err := l.block(b); err != nil {
			return err
		}
	}

	if s.Time < l.time {
		return fmt.Errorf("block %d of time %d stands after time %d", s.To, s.Time, l.time)
	}

	l.advance(s.Time)
	l.writeTickDays()
	return nil
}

// advance moves the ledger's clock; the first moment of a day ends the one
// before.
func (l *Ledger) advance(time int64) {
	l.time = time
	if day := market.DayOf(time); day > l.day {
		l.writeTickDays()
		l.endDay()
		l.day = day
		l.sweepHours()
	}
}

// block applies the events of a block, transaction by transaction: gas is
// shared among a transaction's positions, and a mint or burn ends with it.
func (l *Ledger) block(b *market.Block) error {
	for start := 0; start < len(b.Logs); {
		tx := b.Logs[start].Tx
		end := start + 1
		for end < len(b.Logs) && b.Logs[end].Tx == tx {
			end++
		}

		if err := ordered(b, start, end); err != nil {
			return err
		}

		l.beginGas(b, b.Logs[start:end])
		for i := start; i < end; i++ {
			l.at = place{b, &b.Logs[i], market.NoIndex}
			if err := l.event(b.Logs[i].Event); err != nil {
				return err
			}
		}

		if err := l.noMoves(); err != nil {
			return err
		}

		start = end
	}

	return nil
}

// ordered checks the places of one transaction's logs: shares of its gas
// depend on seeing all of them at once.
func ordered(b *market.Block, start, end int) error {
	logs := b.Logs
	if int(logs[start].Tx) >= len(b.Txs) || start > 0 && logs[start].Tx < logs[start-1].Tx {
		return fmt.Errorf("log %d of block %d names transaction %d of %d out of order",
			logs[start].Index, b.Number, logs[start].Tx, len(b.Txs))
	}

	for i := max(start, 1); i < end; i++ {
		if logs[i].Index <= logs[i-1].Index {
			return fmt.Errorf("log %d of block %d stands after log %d",
				logs[i].Index, b.Number, logs[i-1].Index)
		}
	}

	return nil
}

// event applies one event. Events are values, as a feed decodes them; the
// pointers below do not outlive the call, so a swap costs no allocation.
func (l *Ledger) event(e market.Event) error {
	switch e := e.(type) {
	case market.Swap:
		return l.swap(&e)
	case market.ModifyLiquidity:
		return l.modify(&e)
	case market.TransferNFT:
		return l.transfer(&e)
	case market.Initialize:
		return l.initialize(&e)
	case market.Donate:
		return l.donate(&e)
	case market.ProtocolFeeUpdated:
		return l.protocolFee(&e)
	case market.Subscription, market.Unsubscription:
		return nil
	}

	panic(fmt.Sprintf("BUG: the ledger knows no event %T", e))
}
