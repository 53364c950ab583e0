package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// TestScripts runs the scripts in testdata; package script documents the language.
// The additional commands are
//
//	price A USD|unknown [P [corroborated]]   from the next line's hour on; by P alone
//	revert N     show WHAT ...
//	refuse EVENTS       in a strict span, which prints the error
//	quarantine EVENTS   prints the pools that are quarantined
func TestScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.market")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { runScript(t, name) })
	}
}

type scripted struct {
	*Ledger
	*script.Market
	t      *testing.T
	where  string
	prices []HourPrice
	ops    []Op
}

func runScript(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := script.Read(filepath.Base(name), string(text))
	if err != nil {
		t.Fatal(err)
	}

	s := &scripted{
		Ledger: New(Config{Chain: 1, PositionManager: script.Manager}), Market: script.New(), t: t,
	}
	for i := range lines {
		s.where = lines[i].Where
		if got := s.line(&lines[i]); !slices.Equal(got, lines[i].Want) {
			t.Fatalf("%s shows\n> %s\nwant\n> %s", s.where,
				strings.Join(got, "\n> "), strings.Join(lines[i].Want, "\n> "))
		}
	}

	clean(t, s.Freeze())
}

func (s *scripted) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %s", s.where, err)
	}
}

// line runs a line and returns what it shows.
func (s *scripted) line(l *script.Line) []string {
	if known, err := s.Set(l.Words); known {
		s.must(err)
		return nil
	}

	switch l.Words[0] {
	case "price":
		s.price(l.Words)
	case "revert":
		for range s.int(l.Words[1]) {
			s.must(s.Revert())
		}
		s.Market.Time = s.st.Head.Time
	case "show":
		return s.show(l.Words[1:])
	case "refuse":
		return s.refuse(strings.TrimPrefix(l.Text, "refuse "))
	case "quarantine":
		return s.quarantine(strings.TrimPrefix(l.Text, "quarantine "))
	default:
		quarantined, err := s.apply(l.Text, false)
		s.must(err)
		if len(quarantined) > 0 {
			s.t.Fatalf("%s: pools were quarantined: %v", s.where, quarantined)
		}
	}

	return nil
}

func (s *scripted) price(word []string) {
	usd, err := strconv.ParseFloat(word[2], 64)
	if err != nil {
		usd = market.Unknown
	}

	token, err := s.Token(word[1])
	s.must(err)
	p := HourPrice{
		Token: s.tokenAt(token), Usd: usd, OnlyPool: market.NoIndex, Source: market.SourcePool,
		Corroborated: len(word) > 4,
	}

	if len(word) > 3 {
		p.OnlyPool = s.poolAt(script.Pool(word[3]))
	}

	s.prices = append(s.prices, p)
}

func (s *scripted) refuse(line string) []string {
	_, err := s.apply(line, true)
	if err == nil {
		s.t.Fatalf("%s: the ledger took it", s.where)
	}
	var m *Mismatch
	if !errors.As(err, &m) {
		return []string{err.Error()}
	}
	return []string{text(m)}
}

func text(m *Mismatch) string {
	return fmt.Sprintf("log %d: %s is %s; expected %s", m.LogIndex, m.What, m.Got, m.Want)
}

func (s *scripted) quarantine(line string) (lines []string) {
	quarantined, err := s.apply(line, false)
	s.must(err)
	clean(s.t, s.Freeze())
	for _, q := range quarantined {
		name := strings.Trim(string(q.Pool[:]), "\x00")
		lines = append(lines, "pool "+name+" "+text(q.Why))
	}
	return lines
}

// apply applies a line of events as one span.
func (s *scripted) apply(line string, strict bool) ([]Quarantined, error) {
	span, err := s.Span(s.Freeze(), line)
	s.must(err)
	span.Strict = strict
	if s.prices != nil {
		s.BeginHour(market.HourOf(s.Market.Time), s.prices, nil)
	}
	quarantined, err := s.Apply(span)
	if err == nil {
		s.prices = nil
	}
	return quarantined, err
}

func (s *scripted) int(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err)
	return n
}
