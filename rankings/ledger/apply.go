package ledger

import (
	"fmt"

	"tidemark/rankings/market"
)

// BeginHour announces the price records of an hour and the pools' Held and
// Others, as far as they changed. They take effect at the start of the next
// Apply, which must be the first of the hour, and are part of its undo. If that
// Apply fails they are discarded. The lists must not change until it has returned.
func (l *Ledger) BeginHour(hour uint32, prices []HourPrice, pools []market.HeldPool) {
	l.hour = &hourRecord{hour, prices, pools}
}

// Apply applies the span that follows the head. It returns the pools that it
// quarantined, because events of them contradict the replay.
//
// On an error the ledger is unchanged. The error is ErrNotNext if the span does
// not follow the head, ErrOutOfOrder if its blocks do not follow one another, and a
// *Mismatch if an event contradicts the replay and the span is Strict or no pool can be
// blamed. A Final span keeps no undo, and drops all older ones.
func (l *Ledger) Apply(s *market.Span) (quarantined []Quarantined, err error) {
	hour := l.hour
	l.hour = nil
	if err := l.checkFollows(s); err != nil {
		return nil, err
	}

	// What spans before this one wrote today stays written if this one fails.
	if market.DayOf(latestTime(s)) > l.day {
		l.writeTickDays()
	}

	// Each failed run blames one more pool, so there are at most as many runs as
	// pools in the span, plus one.
	ops := l.ops.Len()
	clear(l.blamed)
	for {
		l.beginSpan()
		l.final = s.Final
		err := l.applyParts(s, hour)
		if err == nil {
			break
		}

		l.abandonSpan()
		l.ops.truncate(ops)
		q, ok := l.blamePool(s, err)
		if !ok {
			return nil, fmt.Errorf("cannot apply span %d to %d: %w", s.From, s.To, err)
		}
		quarantined = append(quarantined, q)
	}

	l.keepUndo(s)
	l.st.Head, l.reverted = s.Head(), nil
	return quarantined, nil
}

// latestTime returns the latest time in a span. One that was read while its blocks were
// replaced may have it before its end.
func latestTime(s *market.Span) int64 {
	latest := s.Time
	for i := range s.Blocks {
		latest = max(latest, s.Blocks[i].Time)
	}
	return latest
}

// EachTouched calls visit with the pools that the last Apply or Revert changed, or a tick
// or a position of, which is named too, and whether liquidity of the pool may have changed
// or its owner: some of them more than once. A pool that a Revert took away is not among
// them. It must not be called after an error.
func (l *Ledger) EachTouched(visit func(pool, position uint32, liquidity bool)) {
	pools, positions, nonNFT := Pools.in(l), Positions.in(l), NonNFT.in(l)
	if u := l.reverted; u != nil {
		changed, moved := Pools.Saved(u), Positions.Saved(u)
		for i := range changed {
			visit(changed[i].Index, market.NoIndex, true)
		}
		for i := range moved {
			visit(moved[i].Row.Pool, moved[i].Index, true)
		}
		return
	}

	for i := range pools.saved {
		visit(pools.saved[i].Index, market.NoIndex, false)
	}
	for i := pools.before; i < pools.Len(); i++ {
		visit(i, market.NoIndex, true)
	}
	for i := range positions.saved {
		visit(positions.saved[i].Row.Pool, positions.saved[i].Index, true)
	}
	for i := positions.before; i < positions.Len(); i++ {
		visit(positions.At(i).Pool, i, true)
	}
	for i := range nonNFT.saved {
		visit(nonNFT.saved[i].Row.Pool, market.NoIndex, true)
	}
	for i := nonNFT.before; i < nonNFT.Len(); i++ {
		visit(nonNFT.At(i).Pool, market.NoIndex, true)
	}
}

// checkFollows refuses a span that does not follow the head. The parent is
// compared if both hashes are known; a cut between blocks has none.
func (l *Ledger) checkFollows(s *market.Span) error {
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

// applyParts applies the parts of a span in order: its tokens, the announced
// hour, its blocks, and the time up to its end. Nothing in an event is trusted
// but its type. On an error the tables are left half changed, and the caller must
// abandon the span.
func (l *Ledger) applyParts(s *market.Span, hour *hourRecord) error {
	l.addTokens(s.Tokens)
	l.quarantineBlamed()

	if hour != nil {
		if err := l.applyAnnounced(s, hour); err != nil {
			return err
		}
	}

	// The hour may have moved the clock past the head; blocks count from the head.
	l.time = l.st.Head.Time
	next := s.From
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Number < next || b.Number > s.To || b.Time < l.time {
			return fmt.Errorf("block %d of time %d is %w: after block %d of time %d, up to %d",
				b.Number, b.Time, ErrOutOfOrder, next-1, l.time, s.To)
		}

		next = b.Number + 1
		l.advanceClock(b.Time)
		if err := l.applyBlock(b); err != nil {
			return err
		}
	}

	if s.Time < l.time {
		return fmt.Errorf("last block %d of time %d is %w: before time %d",
			s.To, s.Time, ErrOutOfOrder, l.time)
	}

	l.advanceClock(s.Time)
	l.dropTickDays()
	return nil
}

// applyAnnounced moves the clock to an announced hour and applies its records. The hour must
// not be after the one in which the span begins.
func (l *Ledger) applyAnnounced(s *market.Span, hour *hourRecord) error {
	first := s.Time
	if len(s.Blocks) > 0 {
		first = s.Blocks[0].Time
	}
	if hour.hour > market.HourOf(first) {
		return fmt.Errorf("announced hour %d is after hour %d, in which the span begins",
			hour.hour, market.HourOf(first))
	}

	l.advanceClock(int64(hour.hour) * market.Hour)
	l.applyHour(hour)
	return nil
}

// advanceClock sets the ledger's clock. When a new day begins, it ends the one before.
func (l *Ledger) advanceClock(time int64) {
	l.time = time
	l.hourNow = max(l.hourNow, market.HourOf(time))
	if day := market.DayOf(time); day > l.day {
		l.dropTickDays()
		l.writeTickDays()
		l.endDay()
		before := l.day
		l.day = day
		l.sweepHours(before)
	}
}

// applyBlock applies the events of a block, one transaction after another: gas is
// divided among a transaction's positions, and a mint or burn is complete at its
// end.
func (l *Ledger) applyBlock(b *market.Block) error {
	for start := 0; start < len(b.Logs); {
		// The logs of one transaction.
		tx := b.Logs[start].Tx
		end := start + 1
		for end < len(b.Logs) && b.Logs[end].Tx == tx {
			end++
		}

		if err := checkLogOrder(b, start, end); err != nil {
			return err
		}

		l.beginGas(b.Logs[start:end])
		for i := start; i < end; i++ {
			l.at = eventPlace{b, &b.Logs[i], market.NoIndex}
			if err := l.applyEvent(b.Logs[i].Event); err != nil {
				return err
			}
			l.pause()
		}

		if err := l.checkMovesDone(); err != nil {
			return err
		}

		start = end
	}

	return nil
}

// checkLogOrder checks that the logs of one transaction are in order and not
// interrupted by others, since its gas is divided over all of them.
func checkLogOrder(b *market.Block, start, end int) error {
	logs := b.Logs
	if int(logs[start].Tx) >= len(b.Txs) || start > 0 && logs[start].Tx < logs[start-1].Tx {
		return fmt.Errorf("log %d of block %d is of transaction %d of %d, out of order",
			logs[start].Index, b.Number, logs[start].Tx, len(b.Txs))
	}

	for i := max(start, 1); i < end; i++ {
		if logs[i].Index <= logs[i-1].Index {
			return fmt.Errorf("log %d of block %d is after log %d",
				logs[i].Index, b.Number, logs[i-1].Index)
		}
	}

	return nil
}

// applyEvent applies one event. Events are passed by value; the pointers below do
// not escape, so a swap does not allocate.
func (l *Ledger) applyEvent(e market.Event) error {
	switch e := e.(type) {
	case market.Swap:
		return l.applySwap(&e)
	case market.ModifyLiquidity:
		return l.modifyLiquidity(&e)
	case market.TransferNFT:
		return l.transferNFT(&e)
	case market.Initialize:
		return l.initializePool(&e)
	case market.Donate:
		return l.donate(&e)
	case market.ProtocolFeeUpdated:
		return l.setProtocolFee(&e)
	case market.Subscription, market.Unsubscription:
		return nil
	}

	panic(fmt.Sprintf("BUG: the ledger does not handle events of type %T", e))
}
