package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/bench/process"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// emptyContracts are those of a chain without pools. The newest NFT of the contracts
// is next-1, so that every ledger without it differs.
type emptyContracts struct {
	mu        sync.Mutex
	finalized uint64
	next      uint64
	broken    error
	asked     []uint64 // the blocks that were compared
	slots     []string // what was read of the storage
	hash      string   // of every block; empty: hashAt
}

func (c *emptyContracts) Finalized() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.finalized
}

func (c *emptyContracts) set(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *emptyContracts) Ask(_ context.Context, calls []endpoint.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}

	for i := range calls {
		k := &calls[i]
		switch header, isHeader := k.Result.(**struct{ Hash string }); {
		case isHeader:
			var block uint64
			fmt.Sscanf(k.Args[0].(string), "%v", &block)
			c.asked = append(c.asked, block)
			*header = &struct{ Hash string }{cmp.Or(c.hash, hashAt(block).String())}
		case k.Method == "eth_getBalance":
			*k.Result.(*string) = "0x0"
		default:
			data := k.Args[0].(map[string]string)["data"]
			if words := (len(data) - 2 - 8) / 64; words > 2 { // extsload: offset, count, slots
				c.slots = append(c.slots, data)
				*k.Result.(*string) = data[:2] + data[10:10+128] + strings.Repeat("0", 64*(words-2))
				continue
			}
			*k.Result.(*string) = fmt.Sprintf("0x%064x", max(c.next, 1))
		}
	}
	return nil
}

func hashAt(block uint64) market.Hash { return market.Hash{byte(block), 31: 1} }

// verifierRig is a verifier of an empty chain with what it told and logged.
type verifierRig struct {
	*verifier
	contracts *emptyContracts
	board     *rankings.Board
	out       process.Output

	mu   sync.Mutex
	told []*rankings.Verification
}

func newVerifierRig() *verifierRig {
	r := &verifierRig{contracts: &emptyContracts{}, board: &rankings.Board{}}
	r.verifier = &verifier{
		chain: 1, ask: r.contracts, board: r.board, log: slog.New(slog.NewTextHandler(&r.out, nil)).With("chain", 1),
		tell: func(v *rankings.Verification) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, v)
		},
	}
	return r
}

// results are the verifications that it told so far.
func (r *verifierRig) results() []*rankings.Verification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

// publish makes a state at a block the one that is served.
func (r *verifierRig) publish(block uint64) *market.State {
	st := &market.State{Chain: 1, Head: market.Head{Number: block, Hash: hashAt(block)}}
	view, _ := rankings.Build(nil, st, block)
	r.board.Publish(view)
	return st
}

// A state is kept until its block is finalized, and is the one that is verified first;
// one that was reverted is forgotten.
func TestVerifierKeepsStates(t *testing.T) {
	r := newVerifierRig()
	number := func(st *market.State) uint64 {
		if st == nil {
			return 0
		}
		return st.Head.Number
	}
	f := func(what string, verifiable bool, ready, coming uint64) {
		t.Helper()
		if got := r.keepStates(); got != verifiable || number(r.ready) != ready || number(r.coming) != coming {
			t.Errorf("%s: verifiable %t, ready %d, coming %d; want %t, %d, %d",
				what, got, number(r.ready), number(r.coming), verifiable, ready, coming)
		}
	}

	f("nothing published", false, 0, 0)
	r.board.SetStatus(1, rankings.ChainStatus{Enabled: true})
	f("no view yet", false, 0, 0)
	r.board.Publish(&rankings.View{State: &market.State{Chain: 1}})
	f("a view that is loading", false, 0, 0)
	r.publish(10)
	r.board.SetStatus(1, rankings.ChainStatus{Syncing: true})
	f("a chain that catches up", false, 0, 0)
	r.board.SetStatus(1, rankings.ChainStatus{})

	r.contracts.finalized = 9
	f("a block that is not final", true, 0, 10)
	r.publish(12)
	f("the next one", true, 0, 10)
	first := r.coming
	r.publish(10)
	if f("its block again", true, 0, 10); r.coming != first {
		t.Error("a state that waits for its block is replaced by another one of it")
	}
	r.publish(12)
	r.contracts.finalized = 10
	f("the first is final", true, 10, 0)
	f("and the next is kept", true, 10, 12)
	r.publish(11)
	f("it was reverted", true, 10, 11)
	r.contracts.finalized = 12
	f("and the other is final", true, 11, 0)

	if got := number(r.state(0)); got != 11 {
		t.Errorf("block %d is verified first; want 11, which is final", got)
	}
	r.publish(20)
	if got := number(r.state(1)); got != 20 {
		t.Errorf("block %d is verified next; want 20, the newest", got)
	}
}

// impatient are contracts whose caller gives up while it asks.
type impatient struct {
	emptyContracts
	giveUp func()
	tries  int
}

func (c *impatient) Ask(ctx context.Context, _ []endpoint.Call) error {
	c.tries++
	c.giveUp()
	return ctx.Err()
}

// A verification that is given up asks for nothing more.
func TestVerificationIsGivenUp(t *testing.T) {
	r := newVerifierRig()
	r.publish(12)
	ctx, cancel := context.WithCancel(t.Context())
	c := &impatient{giveUp: cancel}
	r.ask = c
	if _, err := r.verify(ctx, 0); !errors.Is(err, context.Canceled) || c.tries != 1 {
		t.Errorf("given up: %v after %d calls; want 1", err, c.tries)
	}
}

// What was found goes to the chain and into the log. Only after a whole comparison
// without a difference are later differences looked for behind its block.
func TestVerifierReports(t *testing.T) {
	r := newVerifierRig()
	r.contracts.finalized = 1000
	f := func(block uint64, sample int, next uint64, different int, from uint64, says string) {
		t.Helper()
		r.publish(block)
		r.contracts.next = next
		r.out.Reset()
		result, err := r.verify(t.Context(), sample)
		told := r.results()
		if err != nil || len(told) == 0 || told[len(told)-1] != result {
			t.Fatalf("block %d: %v, %d results told", block, err, len(told))
		}
		if result.Block != block || result.Different != different || time.Since(time.UnixMilli(result.At)) > time.Minute {
			t.Errorf("block %d: %+v; want %d differences", block, result, different)
		}
		if different > 0 && (result.Differences[0].FromBlock != from || result.Differences[0].ToBlock != block) {
			t.Errorf("block %d: %+v; want a difference from block %d on", block, result.Differences[0], from)
		}
		if noted := r.differed != nil && r.differed.Head.Number == block; noted != (different > 0) {
			t.Errorf("block %d: its state is noted as one that differs: %v", block, noted)
		}
		lines := strings.Count(r.out.String(), "\n")
		if want := max(1, min(different, maxDifferenceLines)); lines != want || !strings.Contains(r.out.String(), says) {
			t.Errorf("block %d: the log has\n%swant %d lines: %s", block, &r.out, want, says)
		}
	}

	const equal = `msg="the ledger equals the contracts" chain=1 block=`
	const differs = `msg="the ledger differs from a contract" chain=1 what=position id=1 field=minted ledger=no ` +
		`contract=yes blocks="`
	f(5, verifySample, 1, 0, 0, equal+"5")
	f(6, 0, 2, 1, 1, differs+`1 to 6"`)
	f(7, 0, 1, 0, 0, equal+"7")
	f(8, 0, 2, 1, 8, differs+`8 to 8"`)
	f(9, 0, 13, 12, 8, differs+`8 to 9"`)

	r.contracts.broken = errors.New("broken")
	r.contracts.asked = nil
	if _, err := r.verify(t.Context(), 0); !errors.Is(err, r.contracts.broken) {
		t.Errorf("contracts that cannot be asked: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.verify(ctx, 0); !errors.Is(err, r.contracts.broken) {
		t.Errorf("the node stops: %v", err)
	}
	r.board.Withdraw(1)
	if _, err := r.verify(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "nothing is published yet") {
		t.Errorf("nothing is published: %v", err)
	}
}

// Each verification of a sample compares other pools, so that all are compared in time.
func TestVerifierTurns(t *testing.T) {
	r := newVerifierRig()
	var pools market.Table[market.Pool]
	var lists market.TickListTable
	for i := range 2 * verifySample {
		pools.Append(market.Pool{ID: market.PoolID{byte(i), byte(i >> 8), 31: 1}, TickSpacing: 60})
		lists.Append()
	}
	st := &market.State{Chain: 1, Head: market.Head{Number: 5, Hash: hashAt(5)}, Pools: pools.Freeze(), TickLists: lists.Freeze()}
	r.board.Publish(&rankings.View{State: st})

	var rounds []string
	for range 3 {
		r.contracts.slots = nil
		if _, err := r.verify(t.Context(), verifySample); err != nil {
			t.Fatal(err)
		}
		rounds = append(rounds, strings.Join(r.contracts.slots, ""))
	}
	if rounds[0] == rounds[1] || rounds[0] != rounds[2] || rounds[0] == "" {
		t.Errorf("of twice as many pools as a sample has, the rounds read %d, %d and %d bytes: the second is the first: %t, "+
			"the third is it: %t", len(rounds[0]), len(rounds[1]), len(rounds[2]), rounds[0] == rounds[1], rounds[0] == rounds[2])
	}
}

// After a difference the verifier waits until the blocks were read again, but not for
// ever.
func TestVerifierWaitsForMending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newVerifierRig()
		f := func(what string, want bool) {
			t.Helper()
			if got := r.isMended(); got != want {
				t.Errorf("%s: mended %t; want %t", what, got, want)
			}
		}

		f("nothing differed", true)
		differed := r.publish(10)
		r.ready, r.coming = differed, differed
		r.dropState(differed)
		if r.ready != nil || r.coming != nil {
			t.Error("states with the same fault are kept")
		}
		f("the state that differed is served", false)
		r.publish(9)
		f("an earlier block", false)
		r.publish(10)
		f("another state of it", true)
		r.publish(11)
		f("a later block", true)
		r.board.Withdraw(1)
		f("nothing is served", false)
		time.Sleep(mendWait)
		f("after ten minutes", false)
		time.Sleep(time.Nanosecond)
		f("after more", true)
		r.board.SetStatus(1, rankings.ChainStatus{LastIndexed: market.Head{Number: 9}})
		f("while the blocks are read", false)
		r.board.SetStatus(1, rankings.ChainStatus{LastIndexed: market.Head{Number: 10}})
		f("once they are", true)
	})
}

// A chain is verified whole when it is first there, then a sample every hour; again in
// a minute when the contracts could not be asked; and whole at once after a difference,
// at most three times.
func TestVerifierRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newVerifierRig()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.run(ctx) }()
		f := func(after time.Duration, verified int, says string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if told := len(r.results()); told != verified || !strings.Contains(r.out.String(), says) {
				t.Errorf("%d verifications, the log has\n%swant %d: %s", told, &r.out, verified, says)
			}
			r.out.Reset()
		}

		f(50*time.Second, 0, "")
		r.publish(1)
		f(pollEvery, 1, "the ledger equals the contracts")
		f(59*time.Minute, 1, "")
		f(2*time.Minute, 2, "equals")

		r.contracts.set(func() { r.contracts.broken = errors.New("broken") })
		f(time.Hour, 2, `level=WARN msg="cannot verify a chain; retrying" chain=1 error="cannot verify block 1: broken"`)
		r.contracts.set(func() { r.contracts.broken = nil })
		f(30*time.Second, 2, "")
		f(40*time.Second, 3, "equals")

		r.contracts.set(func() { r.contracts.next = 2 })
		f(time.Hour, 4, "differs")
		f(5*time.Minute, 4, "") // the same state is served
		r.publish(2)
		f(2*pollEvery, 5, "differs")
		r.publish(3)
		f(2*pollEvery, 6, "differs")
		r.publish(4)
		f(2*pollEvery, 7, "differs")
		r.publish(5)
		f(30*time.Minute, 7, "") // what cannot be mended waits an hour
		r.contracts.set(func() { r.contracts.next = 1 })
		f(31*time.Minute, 8, "equals")
		f(58*time.Minute, 8, "")
		cancel()
		<-done
	})
}

// contractFeed is a feed whose contracts can be asked.
type contractFeed struct {
	feed.Feed
	*emptyContracts
}

// A chain whose feed can ask the contracts is verified when an operator says so, and its
// status tells what came of it. Another one is not.
func TestVerifyByOrder(t *testing.T) {
	empty := &emptyContracts{}
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return contractFeed{f, empty} })
	head := th.await(1, "served", served).View.State.Head
	empty.set(func() { empty.hash = head.Hash.String() })
	result, err := th.node.Verify(t.Context(), 1, 0)
	if err != nil || result.Block != head.Number || result.Different == 0 {
		t.Fatalf("verified %+v, %v; want differences at block %d", result, err, head.Number)
	}
	th.await(1, "verified", func(c *rankings.Chain) bool { return c.Status.Verified == result })

	if _, err := newTestNode(t, plain).node.Verify(t.Context(), 1, 0); err == nil {
		t.Error("a simulated market was verified")
	}
}
