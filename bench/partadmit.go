package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"tidemark/bench/report"
	"tidemark/storage/accounts"
)

// admitBatch is how many requests are let in between two looks at the clock.
const admitBatch = 20_000

// runAdmit measures what every request passes before it is answered and after:
// a key out of as many as the run has, its account's burst and units.
func runAdmit(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	now := time.Now().UnixNano()
	book, keys, err := bookOf(s.Keys, s.Accounts, now)
	if err != nil {
		return err
	}
	// The headers lie in the order of the requests, as in a connection's
	// buffer; what they lead to is all over the memory.
	order := mathrand.New(mathrand.NewPCG(s.Seed, 2)).Perm(len(keys))
	headers := make([]byte, 0, len(keys)*accounts.KeyLen)
	for _, i := range order {
		headers = append(headers, keys[i]...)
	}
	next := 0
	p, err := s.timed(ctx, func() (int, error) {
		for range admitBatch {
			now += int64(10 * time.Microsecond)
			at := next % len(keys) * accounts.KeyLen
			next++
			if err := admitOne(book, headers[at:at+accounts.KeyLen], now); err != nil {
				return 0, err
			}
		}
		return admitBatch, nil
	})
	if err == nil {
		enterPace(out, "a request", p)
	}
	return err
}

func admitOne(book *accounts.Book, header []byte, now int64) error {
	key, why := book.Resolve(header)
	if why != accounts.Accepted {
		return fmt.Errorf("a key of the bench is refused: %v", why)
	}
	ticket := book.Admit(key, now)
	if !ticket.Take() {
		return fmt.Errorf("an account of the bench has no burst left")
	}
	if got := book.Reserve(&ticket, unitsList); got != accounts.Granted {
		return fmt.Errorf("an account of the bench has no units left: %v", got)
	}
	book.Settle(&ticket, accounts.RoutePositions, unitsList)
	return nil
}

// bookOf makes a book of accounts that never run out.
func bookOf(keys, owners int, now int64) (*accounts.Book, []string, error) {
	const units = 1 << 40
	plan := accounts.Plan{ID: richPlan, MonthlyUnits: units, RequestsPerSecond: 1e6, Burst: 1e6}
	terms, month := accounts.NewTerms(&plan, false), accounts.MonthAt(now)
	book := accounts.NewBook(accounts.NewTurner(now, 0).Step(now, now))
	book.SetAlive(now + int64(24*time.Hour))
	cells := make([]*accounts.Cell, owners)
	for i := range cells {
		cells[i] = accounts.NewCell(uint64(i+1), fmt.Sprint(richPlan, i), 0, terms)
		cells[i].Begin(month)
		cells[i].Open(month, units)
	}
	issued := make([]string, keys)
	for i := range issued {
		key, err := accounts.NewKey(rand.Reader, accounts.Server)
		if err != nil {
			return nil, nil, err
		}
		issued[i] = key
		book.Add(&accounts.Key{
			ID: uint64(i + 1), Hash: accounts.HashKey([]byte(key)),
			Prefix: key[:accounts.PrefixLen], Cell: cells[i%owners],
		}, 0, 0)
	}
	return book, issued, nil
}
