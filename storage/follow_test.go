package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
)

// pairOfNodes is two stores of which one writes and the other follows.
type pairOfNodes struct {
	t       *testing.T
	stores  [2]*Store
	writer  int
	place   int
	replica *Replica // of the one that follows
}

func newPairOfNodes(t *testing.T) *pairOfNodes {
	t.Helper()
	p := &pairOfNodes{t: t}
	for i := range p.stores {
		opts := testOptions(vfs.NewMem())
		opts.Tee = func(chain market.ChainID, batch, _ []byte) ([]byte, error) {
			if i != p.writer {
				t.Errorf("store %d told of a batch; %d writes", i, p.writer)
			}
			p.place++
			place := fmt.Append(nil, p.place)
			return place, p.pass(chain, slices.Clone(batch), place)
		}
		s, err := Open("data", opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeTest(t, s) })
		p.stores[i] = s
	}

	p.join()
	return p
}

// join starts the replica of the store that follows.
func (p *pairOfNodes) join() {
	p.t.Helper()
	p.replica = newReplica(p.t, p.stores[1-p.writer], 1)
}

// pass gives a batch to the store that follows. Nobody may change it, or keep it.
func (p *pairOfNodes) pass(chain market.ChainID, batch, place []byte) error {
	given := slices.Clone(batch)
	err := p.replica.ApplyBatch(batch)
	if err == nil {
		err = p.stores[1-p.writer].Follow(chain, batch, place)
	}

	if !slices.Equal(batch, given) {
		p.t.Error("the batch is another one than was passed on")
	}
	clear(batch)
	return err
}

// keys returns everything that a store has of a chain.
func keysOf(t *testing.T, s *Store, chain market.ChainID) (all []string) {
	t.Helper()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendChain(nil, chain), UpperBound: appendChainEnd(nil, chain),
	})
	if err != nil {
		t.Fatal(err)
	}

	for ok := it.First(); ok; ok = it.Next() {
		all = append(all, fmt.Sprintf("%x=%x", it.Key(), it.Value()))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// compare checks that both stores have the same of the chain, and that nothing is
// wrong with it.
func (p *pairOfNodes) compare() {
	p.t.Helper()
	a, b := p.stores[0], p.stores[1]
	if x, y := keysOf(p.t, a, 1), keysOf(p.t, b, 1); !slices.Equal(x, y) {
		p.t.Fatalf("the stores have %d and %d keys, or other values", len(x), len(y))
	}

	x, _ := a.heads.get(1)
	if y, ok := b.heads.get(1); !ok || x != y {
		p.t.Errorf("the acknowledged heads are %+v and %+v", x, y)
	}
	place, err := b.Place(1)
	if string(place) != fmt.Sprint(p.place) || err != nil {
		p.t.Errorf("the place is %q, %v; want %d", place, err, p.place)
	}
}

// A store that follows has every key of the one that writes, through commits, drops
// and any number of changes of who writes.
func TestFollowersHaveTheSameKeys(t *testing.T) {
	p := newPairOfNodes(t)
	g, r := newRig(21, 1), rand.New(rand.NewPCG(2, 21))
	for i := range rounds(40) {
		g.commit(t, p.stores[p.writer], 1+r.IntN(20), r.IntN(3) > 0)
		switch r.IntN(6) {
		case 0:
			p.writer = 1 - p.writer
			p.join()
		case 1:
			if i%4 == 0 {
				if err := p.stores[p.writer].DropChain(1); err != nil {
					t.Fatal(err)
				}
				g = newRig(uint64(i), 1)
			}
		}
		p.compare()
	}

	for i, s := range p.stores {
		if err := s.findGap(1); err != nil {
			t.Errorf("store %d: %v", i, err)
		}
	}
	if err := p.stores[p.writer].DropChain(1); err != nil {
		t.Fatal(err)
	}
	p.compare()
	for i, s := range p.stores {
		if findings, err := s.Check(); err != nil || len(findings) > 0 {
			t.Errorf("store %d with nothing but its place: %q, %v", i, findings, err)
		}
	}
}

// ForgetChain is of one store; what is committed without a Tee has no place.
func TestPlaceOfALonelyCommit(t *testing.T) {
	p := newPairOfNodes(t)
	g := newRig(22, 1)
	g.commit(t, p.stores[0], 5, true)
	if err := p.stores[1].ForgetChain(1); err != nil {
		t.Fatal(err)
	}
	if place, err := p.stores[1].Place(1); place != nil || err != nil {
		t.Errorf("a forgotten chain has the place %q, %v", place, err)
	}

	if err := p.stores[0].ForgetPlaces(); err != nil {
		t.Fatal(err)
	}
	if place, err := p.stores[0].Place(1); place != nil || err != nil {
		t.Errorf("the place that was forgotten is %q, %v", place, err)
	}
	p.stores[0].opts.Tee = nil
	g.commit(t, p.stores[0], 5, true)
	if place, err := p.stores[0].Place(1); place != nil || err != nil {
		t.Errorf("a commit without a Tee has the place %q, %v", place, err)
	}
}
