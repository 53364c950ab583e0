package main

import (
	"cmp"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/edge/pages"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// stage is where a script plays: chains in a store, and a way to ask of them.
type stage struct {
	t     *testing.T
	where string // in the script
	dir   string
	store *storage.Store
	board *rankings.Board

	scenes  []*scene // ascending in id
	at      *scene
	params  value.Params
	answers []value.FeedPrice
	changed bool // params or answers, since the last block

	fresh  bool // nothing has happened since the last question
	before func(*stage)
	ask    func(s *stage, path, query string) answer
	url    string // of the server, when there is one, and a key for it
	key    string
	limits pages.Limits // of that server
	redo   bool         // every row that is asked for is redone from its explanation
}

// scene is one chain.
type scene struct {
	id     market.ChainID
	market *script.Market
	chain  *chain.Chain
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: t.TempDir(), params: value.DefaultParams(), limits: pages.DefaultLimits()}
	s.ask, s.before = (*stage).askPlainly, func(*stage) {}
	s.open()
	t.Cleanup(func() { s.store.Close() })
	s.toChain([]string{"1"})
	return s
}

// reopening is a stage that closes its store and opens it again between what
// happened and the first question about it. What can be asked of a cold
// generation is asked of it, too.
func reopening(s *stage) *stage {
	s.before = func(s *stage) {
		if s.fresh {
			return
		}
		s.must(s.store.Close())
		s.open()
		for _, sc := range s.scenes {
			sc.chain = s.openChain(sc.id)
		}
	}

	s.ask = func(s *stage, path, query string) answer {
		cold := s.askPlainly(path, query)
		for _, sc := range s.scenes {
			if !sc.chain.Loaded() {
				s.load(sc.chain)
			}
		}
		warm := s.askPlainly(path, query)
		if !cold.warming && cold.body != warm.body {
			s.t.Errorf("%s: cold the answer is\n%s\nwarm\n%s", s.where, cold.body, warm.body)
		}
		return warm
	}

	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %s", s.where, err)
	}
}

var quiet = slog.New(slog.DiscardHandler)

func (s *stage) open() {
	var err error
	s.store, err = storage.Open(s.dir, storage.Options{BallastBytes: -1, Logger: quiet})
	s.must(err)
	s.board = new(rankings.Board)
}

func (s *stage) openChain(id market.ChainID) *chain.Chain {
	c, err := chain.Open(chain.Config{
		Ledger: ledger.Config{Chain: id, PositionManager: script.Manager, Start: 1},
		Prices: s.params, External: func() []value.FeedPrice { return s.answers },
		WantsState: true, UnavailableAfter: 10 * time.Minute,
		Log: quiet, Metrics: chain.NewMetrics(metrics.NewSet(), id),
	}, s.store, s.board)
	s.must(err)
	return c
}

func (s *stage) load(c *chain.Chain) {
	s.must(c.Load(func() bool { return false }))
	c.Complete(func() {})
}

func (s *stage) toChain(words []string) {
	id, err := strconv.ParseUint(words[0], 10, 63)
	s.must(err)
	i, ok := slices.BinarySearchFunc(s.scenes, id, func(sc *scene, id uint64) int {
		return cmp.Compare(uint64(sc.id), id)
	})
	if !ok {
		s.scenes = slices.Insert(s.scenes, i, &scene{
			id: market.ChainID(id), market: script.New(), chain: s.openChain(market.ChainID(id)),
		})
	}
	s.at = s.scenes[i]
}

// happen applies a line of events, or what it stands for.
func (s *stage) happen(text string) {
	s.fresh = false
	lines, err := script.Repeat(text)
	s.must(err)
	for _, line := range lines {
		s.at.chain.Prices = s.params
		if !s.at.chain.Loaded() {
			s.load(s.at.chain)
		}

		span, err := s.at.market.Span(s.at.chain.Cursor().State, line)
		s.must(err)
		now := time.Now()
		step := feed.Step{Span: span, Head: span.Head(), SpanConfirmed: now}
		s.must(s.at.chain.Advance(step, now))
	}
}

// publish makes the next generation of every chain on which something
// happened, or whose prices are to be solved another way.
func (s *stage) publish() {
	s.fresh = !s.changed && s.fresh
	back := s.at
	for _, s.at = range s.scenes {
		if s.changed {
			s.happen("block")
		}
		if s.at.chain.Loaded() {
			s.must(s.at.chain.Refresh(time.Now, func() {}))
		}
	}

	s.at, s.changed = back, false
	s.before(s)
	s.fresh = true
}

// named puts ids and addresses in the place of $NAMES.
func (s *stage) named(query string) string {
	words := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune("=&", r) })

	for i := 1; i < len(words); i += 2 {
		name, ok := strings.CutPrefix(words[i], "$")
		switch {
		case !ok:
		case words[i-1] == "owner":
			query = strings.Replace(query, words[i], script.Person(name).String(), 1)
		case words[i-1] == "tokens":
			query = strings.Replace(query, words[i], s.addresses(name), 1)
		default:
			query = strings.Replace(query, words[i], script.Pool(name).String(), 1)
		}
	}
	return query
}

// addresses returns the addresses of tokens, which are named with commas between
// them.
func (s *stage) addresses(names string) string {
	var all []string
	for name := range strings.SplitSeq(names, ",") {
		a, err := s.at.market.Token(name)
		s.must(err)
		all = append(all, a.String())
	}
	return strings.Join(all, ",")
}
