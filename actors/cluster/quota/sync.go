package quota

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster"
	"tidemark/storage/accounts"
)

const (
	// tryTimeout bounds one request. An answer takes milliseconds; servers that elect a
	// leader give none.
	tryTimeout = time.Second
	// conflictPause is the longest pause after another node was first; it is drawn at
	// random, so that nodes do not meet again.
	conflictPause = 10 * time.Millisecond
	// outagePause is the pause between attempts while the servers cannot be asked.
	outagePause = 250 * time.Millisecond
)

// sync reports a session and takes or gives back a lease. It tries until the servers
// answer, or ctx ends.
func (l *Ledger) sync(ctx context.Context, s *session) {
	for {
		err := l.syncOnce(ctx, s)
		switch {
		case err == nil:
			l.setCutOff(false)
			return
		case errors.Is(err, cluster.ErrOutdated):
			l.metrics.conflicts.Inc()
			cluster.Pause(ctx, time.Duration(rand.Int64N(int64(conflictPause))))
		case errors.Is(err, errDamaged):
			l.metrics.failures.Inc()
			l.setCutOff(false)
			l.postpone(s, err)
			return
		case ctx.Err() == nil:
			l.metrics.failures.Inc()
			l.setCutOff(true)
			cluster.Pause(ctx, outagePause)
		}

		if ctx.Err() != nil {
			l.release(s)
			return
		}
	}
}

// syncOnce reads the record and writes it with this node's part, if nobody has changed it
// since. The copy that answers may be behind what this session has seen. Such a record says
// nothing of others, and is written nevertheless: the stream refuses that, unless it was
// lost and made anew.
func (l *Ledger) syncOnce(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	key := keyOf(s.cell.ID, s.month)
	r, revision, err := l.read(ctx, key)
	if err != nil {
		return err
	}

	outdated := revision < s.revision
	granted, sent := l.prepare(s, r, outdated)
	if !sent {
		s.revision = revision
		l.finish(s, r, 0)
		return nil
	}
	value, err := json.Marshal(r)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if revision == 0 {
		revision, err = l.bucket.Create(ctx, key, value)
	} else {
		revision, err = l.bucket.Update(ctx, key, value, revision)
	}
	if err == nil {
		s.revision = revision
		l.finish(s, r, granted)
	}
	return err
}

// read returns a month of an account; revision 0: there is none.
func (l *Ledger) read(ctx context.Context, key string) (r *record, revision uint64, err error) {
	e, err := l.bucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return &record{Nodes: map[string]*part{}}, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r, err = decodeRecord(e.Value())
	return r, e.Revision(), err
}

// prepare puts this node's part into the record, with the lease that it takes. send is
// whether there is anything to write. An outdated record may have the part of the process
// before this one.
func (l *Ledger) prepare(s *session, r *record, outdated bool) (granted int64, send bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.asked = s.asks
	name := l.bucket.Node
	had := r.Nodes[name]
	if s.joined && !outdated && had != nil && had.Process != l.process {
		if !l.ousted {
			l.cfg.Log.Error("another process reports usage by the name of this node; no two nodes of a "+
				"cluster may have the same; this one takes no more units", "name", name)
		}
		l.ousted = true
	}
	if l.ousted {
		return 0, false
	}

	if !s.joined && (had == nil || had.Process != l.process) {
		s.join(had)
	}
	r.Limit = s.cell.Terms().Plan.MonthlyUnits
	r.Nodes[name] = s.part(l.process, 0)
	granted = s.wanted(r.Limit, r.usedBut(""), len(r.Nodes)) // 0 without a quota
	r.Nodes[name] = s.part(l.process, granted)
	send = outdated || had == nil || had.Process != l.process || granted > 0 ||
		had.used() != r.Nodes[name].used() || had.counts() != r.Nodes[name].counts()
	return granted, send
}

// finish notes what is in the bucket now, and has the cell looked at. Units that were asked
// for while a report was under way are none that were refused: they are asked for next.
func (l *Ledger) finish(s *session, r *record, granted int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	asked := s.asked
	s.busy, s.asked, s.damaged, s.syncedAt = false, false, false, now
	s.asks = s.asks && !asked
	p := r.Nodes[l.bucket.Node]
	s.joined = s.joined || !l.ousted

	// The lease may come for a cell that has been shut meanwhile: then it is given back.
	switch {
	case s.idle:
	case granted > 0:
		s.allowed += granted
		s.resize(now)
		l.metrics.leases.Inc()
		l.metrics.units.Add(int(granted))
	case asked:
		s.refusedAt = now
	}
	s.changed = p != nil && !l.ousted && (p.used() != s.base+s.allowed-s.start ||
		p.counts() != s.part(l.process, 0).counts())
	if s.changed || s.asks {
		l.enqueue(s)
	}

	s.cell.SetShare(s.share(r, l.bucket.Node))
	if asked {
		l.cfg.Book.RenewLease(s.cell)
	}
}

// postpone ends a request for an account whose record cannot be read. Until somebody mends it
// the account gets no units and nothing is reported. A second later this is tried again, if
// the account is in use then; the others go on.
func (l *Ledger) postpone(s *session, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg.Log.Error("an account gets no more units: its usage in the NATS servers cannot be read",
		"account", s.cell.Name, "key", keyOf(s.cell.ID, s.month), "error", err)
	now := time.Now()
	s.damaged, s.busy, s.asks, s.asked = true, false, false, false
	s.refusedAt, s.syncedAt = now, now
	if s.changed = s.changed && !s.idle; s.changed {
		l.enqueue(s)
	}
}

// setCutOff notes whether the servers answer. When they do not, those that wait for units
// need not wait any longer.
func (l *Ledger) setCutOff(cutOff bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cutOff == cutOff {
		return
	}
	l.cutOff = cutOff
	l.cfg.Book.SetCutOff(cutOff)
	if cutOff {
		l.cfg.Log.Warn("the NATS servers cannot be asked for units; leases are spent, then requests of " +
			"accounts with a quota are refused, but for cluster.quota-on-outage")
	} else {
		l.cfg.Log.Info("the NATS servers give units again")
	}

	for c, both := range l.sessions {
		for _, s := range both {
			// After an outage cells that have fallen idle are to give back what they have.
			if s != nil && (cutOff && s.asks || !cutOff && s.left() > 0) {
				l.cfg.Book.RenewLease(c)
			}
		}
	}
}

// Elsewhere returns what the other nodes have of a month of an account, and what this node
// had before a store was lost.
func (l *Ledger) Elsewhere(account uint64, m accounts.Month) (*accounts.Share, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	r, _, err := l.read(ctx, keyOf(account, m))
	if err != nil {
		return nil, err
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	for c, both := range l.sessions {
		if s := both[m&1]; s != nil && c.ID == account && s.month == m && s.joined {
			return s.share(r, l.bucket.Node), nil
		}
	}
	return (&session{month: m}).share(r, l.bucket.Node), nil
}
