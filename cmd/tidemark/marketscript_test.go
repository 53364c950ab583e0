package main

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
)

var updateMarkets = flag.Bool("update", false, "write what market scripts show into them")

// The scripts in testdata/markets say what a client sees of what happens on
// the chains: package script has their language. Here it also knows
//
//	chain ID                       the lines that follow happen there; on chain 1 at first
//	stables A …                    wrapped A                    allow HOOKS
//	set NAME VALUE | defaults      a threshold as [prices] has it; all of them again
//	feed A USD|off                 an answer of the price feed, of the clock's time
//	include FILE
//	positions QUERY : FIELD …      a page, one row a line, and how many there are
//	pools QUERY : FIELD …
//	position ID : FIELD …          pool P : FIELD …             the detail
//	missing ID                     a position that is a 404
//	positionsbatch ID,… : FIELD …  rows by their ids, then the missing ones
//	poolsbatch P,… : FIELD …
//	ticks P QUERY : FIELD …        the ticks of a pool
//	tokens QUERY : FIELD …         a page of tokens
//	priced A : FIELD …             a token, its markets, and the checks that failed
//	owner NAME : FIELD …           what a person holds on each chain, then in total
//
// Every script runs three times: asked of the rankings themselves, before and
// after their records are loaded from a store that was closed and opened, and
// over HTTP. $NAME in a query is the id of a pool or the address of a person.
// A field is a name of the row or of one of its groups, or a path.
func TestMarkets(t *testing.T) {
	names, err := filepath.Glob("testdata/markets/*.market")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}

	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".market"), func(t *testing.T) {
			t.Run("plain", func(t *testing.T) { runMarket(t, name, newStage(t)) })
			if testing.Short() {
				return
			}
			t.Run("reopened", func(t *testing.T) { runMarket(t, name, reopening(newStage(t))) })
			t.Run("http", func(t *testing.T) { runMarket(t, name, overHTTP(newStage(t))) })
		})
	}
}

func runMarket(t *testing.T, name string, s *stage) {
	text, err := os.ReadFile(name)
	s.must(err)
	lines, err := script.Read(filepath.Base(name), string(text))
	s.must(err)

	shown := map[string][]string{}
	for i := range lines {
		l := &lines[i]
		s.where = l.Where
		got := s.line(l)
		shown[l.Where] = got
		if !*updateMarkets && !slices.Equal(got, l.Want) {
			t.Errorf("%s %s\nshows\n> %s\nwant\n> %s", l.Where, l.Text,
				strings.Join(got, "\n> "), strings.Join(l.Want, "\n> "))
		}
	}

	s.where = "every row"
	s.checkAll()
	if *updateMarkets && strings.HasSuffix(t.Name(), "/plain") {
		s.must(os.WriteFile(name, rewrite(filepath.Base(name), string(text), shown), 0o644))
	}
}

// rewrite puts what was shown in the place of what was wanted.
func rewrite(name, text string, shown map[string][]string) []byte {
	var out []string
	for n, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), ">") {
			out = append(out, line)
		}
		for _, row := range shown[name+":"+strconv.Itoa(n+1)] {
			out = append(out, "> "+row)
		}
	}
	return []byte(strings.Join(out, "\n"))
}

// line runs a line and returns what it shows.
func (s *stage) line(l *script.Line) []string {
	if known, err := s.at.market.Set(l.Words); known {
		s.must(err)
		return nil
	}
	if asked, fields, ok := strings.Cut(l.Text, " : "); ok {
		words := strings.Fields(asked)
		if ask := asks[words[0]]; ask != nil {
			return ask(s, words, strings.Fields(fields))
		}
		s.t.Fatalf("%s: what is %q?", s.where, words[0])
	}

	if order := orders[l.Words[0]]; order != nil {
		order(s, l.Words[1:])
		return nil
	}

	s.happen(l.Text)
	return nil
}

// orders change what the stage is, or how its prices are solved.
var orders map[string]func(s *stage, words []string)

func init() {
	orders = map[string]func(*stage, []string){
		"chain":   (*stage).toChain,
		"include": (*stage).include,
		"set":     (*stage).set,
		"feed":    (*stage).setFeed,
		"missing": (*stage).missing,
		"stables": func(s *stage, words []string) { s.setStables(s.tokens(words)) },
		"wrapped": func(s *stage, words []string) { s.params.WrappedNative = s.tokens(words)[0] },
		"allow": func(s *stage, words []string) {
			hooks, err := market.ParseAddress("0x" + strings.Repeat("0", 40-len(words[0])) + words[0])
			s.must(err)
			s.params.HookAllow = append(s.params.HookAllow, hooks)
			s.changed = true
		},
	}
}

// setStables lists the stables before anything has happened: a ledger knows
// them from its first block on.
func (s *stage) setStables(stables []market.Address) {
	s.params.Stables = stables
	s.at.chain = s.openChain(s.at.id)
}

func (s *stage) tokens(names []string) (list []market.Address) {
	for _, name := range names {
		token, err := s.at.market.Token(name)
		s.must(err)
		list = append(list, token)
	}
	return list
}

func (s *stage) include(words []string) {
	path := filepath.Join("testdata", "markets", words[0])
	text, err := os.ReadFile(path)
	s.must(err)
	lines, err := script.Read(words[0], string(text))
	s.must(err)
	for i := range lines {
		s.where = lines[i].Where
		s.line(&lines[i])
	}
}

// set changes a threshold by the name that the configuration has for it.
func (s *stage) set(words []string) {
	s.changed = true
	if words[0] == "defaults" {
		was := s.params
		s.params = value.DefaultParams()
		s.params.Stables, s.params.WrappedNative = was.Stables, was.WrappedNative
		return
	}

	for _, one := range settingsOf("", reflect.ValueOf(&s.params).Elem()) {
		if one.name == words[0] {
			s.must(one.set(words[1]))
			return
		}
	}

	s.t.Fatalf("%s: no threshold %q", s.where, words[0])
}

func (s *stage) setFeed(words []string) {
	s.changed = true
	token := s.tokens(words[:1])[0]
	s.answers = slices.DeleteFunc(s.answers, func(a value.FeedPrice) bool { return a.Token == token })
	if words[1] != "off" {
		usd, err := strconv.ParseFloat(words[1], 64)
		s.must(err)
		s.answers = append(s.answers, value.FeedPrice{Token: token, Usd: usd, AsOf: s.at.market.Time})
	}
}
