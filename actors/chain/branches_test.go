package chain

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/rankings/market"
)

// branch is a chain of blocks, of which a node shows the spans that it is asked for.
type branch struct {
	blocks []market.Block // from block 100 on
	hashes []market.Hash
	most   uint64 // blocks in one span
}

// grow adds blocks of one fork, so many seconds apart.
func (b *branch) grow(n int, fork byte, apart int64) {
	for range n {
		number := 100 + uint64(len(b.blocks))
		at := int64(genesis)
		if k := len(b.blocks); k > 0 {
			at = b.blocks[k-1].Time
		}

		h := market.Hash{fork}
		binary.BigEndian.PutUint64(h[8:], number)
		b.blocks = append(b.blocks, market.Block{
			Number: number, Time: at + apart,
			Txs: make([]market.Tx, 1), Logs: []market.Log{{Event: market.Subscription{ID: 1}}},
		})
		b.hashes = append(b.hashes, h)
	}
}

func (b *branch) head(number uint64) market.Head {
	if number < 100 {
		return market.Head{Number: number}
	}
	return market.Head{Number: number, Hash: b.hashes[number-100], Time: b.blocks[number-100].Time}
}

func (b *branch) end() market.Head { return b.head(99 + uint64(len(b.blocks))) }

func (b *branch) span(from, to uint64) *market.Span {
	end := b.head(to)
	return &market.Span{
		From: from, To: to, Parent: b.head(from - 1).Hash, Hash: end.Hash, Time: end.Time,
		Blocks: slices.Clone(b.blocks[from-100 : to-99]),
	}
}

// has reports whether a block is on the branch.
func (b *branch) has(at market.Head) bool {
	return at.Number <= b.end().Number && b.head(at.Number) == at
}

// Next shows what follows the newest anchor on the branch, as a node does.
func (b *branch) Next(_ context.Context, c feed.Cursor) (feed.Step, error) {
	step := feed.Step{Head: b.end()}
	at := c.Anchors[0]
	if i := slices.IndexFunc(c.Anchors, b.has); i > 0 {
		step.RevertTo = &c.Anchors[i]
		return step, nil
	} else if i < 0 {
		return step, feed.ErrTooDeep
	}
	if at == b.end() {
		step.Confirmed = time.Now()
		return step, nil
	}

	to := min(at.Number+b.most, b.end().Number)
	if c.Until > at.Number {
		to = min(to, c.Until)
	}
	step.Span = b.span(at.Number+1, to)
	return step, nil
}

func (b *branch) Close() error { return nil }

// catchUp takes the chain to the end of a branch, and holds that no block is applied
// whose parent is not the block before it on its branch.
func (k *kept) catchUp(f feed.Feed, b *branch) error {
	for range 10 * len(b.blocks) {
		at := k.chain.ledger.Head()
		step, err := f.Next(context.Background(), k.chain.Cursor())
		if err != nil {
			return err
		}

		if s := step.Span; s == nil && step.RevertTo == nil && at == b.end() {
			return nil
		} else if s != nil && b.has(s.Head()) && !b.has(at) {
			return fmt.Errorf("blocks %d to %d follow %s, which is not block %d of their branch",
				s.From, s.To, at.Hash, at.Number)
		}

		if err := k.chain.Advance(step, time.Now()); err != nil && !k.chain.Refused(step, err) {
			return err
		}
	}
	return errors.New("the chain does not come to its head")
}

// A chain lags, and blocks are replaced: the archive has those of the new branch and a kill
// comes before the commit, so that the ledger is within a span of the other branch. At every
// depth within what can be taken back the chain goes on to the new head, and no block is
// applied after one that is not its parent.
func TestKillWhileBlocksAreReplaced(t *testing.T) {
	const committed = 360 // the last block that the store has
	f := func(depth int, apart int64, ahead int) {
		t.Helper()
		old := &branch{most: 1}
		old.grow(committed-99, 1, 12)
		dir := t.TempDir()
		k := openKept(t, dir)
		if err := k.catchUp(old, old); err != nil {
			t.Fatal(err)
		}
		k.refresh()

		// The node reads hundreds of new blocks at once, which are archived, and is killed.
		now := &branch{most: 250, blocks: slices.Clone(old.blocks[:len(old.blocks)-depth]),
			hashes: slices.Clone(old.hashes[:len(old.hashes)-depth])}
		now.grow(depth+ahead, 2, apart)
		if err := k.catchUp(now, now); err != nil {
			t.Fatal(err)
		}
		k.close()

		// It is started beside a node whose chain has grown.
		k = openKept(t, dir)
		defer k.close()
		if at := k.chain.ledger.Head(); at != old.end() {
			t.Fatalf("the store has block %d; want %d", at.Number, old.end().Number)
		}
		now.grow(700, 3, 12)
		if err := k.catchUp(archive.NewFeed(k.archive, now), now); err != nil {
			t.Errorf("%d blocks were replaced: %v", depth, err)
		}
		if st := k.archive.Status(); st.Head != now.end() || !st.Whole(100) {
			t.Errorf("%d blocks were replaced: the archive has %+v", depth, st)
		}
	}

	for depth := 1; depth < 256; depth += 1 + depth/8 {
		f(depth, 12, 170)
		f(depth, 1, 170) // the new blocks' times are before those of the old ones
	}
	f(255, 12, 30)
	f(9, 12, 1)
}
