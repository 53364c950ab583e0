package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/rankings"
)

func TestInWords(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := inWords(d); got != want {
			t.Errorf("inWords(%d) = %s; want %s", d, got, want)
		}
	}

	f(0, "0s")
	f(1_234_567, "1ms")
	f(12_345*time.Millisecond, "12.345s")
	f(time.Minute, "1 minute")
	f(125*time.Second, "2 minutes 5 seconds")
	f(time.Hour, "1 hour")
	f(2*time.Hour+5*time.Minute+time.Second, "2 hours 5 minutes")
	f(49*time.Hour, "2 days 1 hour")
}

// Durations are said in words in both forms of the log, and the level can change
// while the logger is used.
func TestLogger(t *testing.T) {
	for _, isTerminal := range []bool{false, true} {
		var out bytes.Buffer
		var level slog.LevelVar
		log := newLogger(&out, isTerminal, &level)
		log.Debug("hidden")
		log.Info("done", "took", 90*time.Second)
		setLevel(&level, "debug")
		log.Debug("shown")

		if text := out.String(); !strings.Contains(text, "1 minute 30 seconds") ||
			strings.Contains(text, "hidden") || !strings.Contains(text, "shown") {
			t.Errorf("terminal %v: logged %s", isTerminal, text)
		}

		var line map[string]any
		first, _, _ := strings.Cut(out.String(), "\n")
		if err := json.Unmarshal([]byte(first), &line); (err == nil) == isTerminal {
			t.Errorf("terminal %v: JSON is read with %v", isTerminal, err)
		}
	}
}

// A warning that comes again is counted, and told again later with its count;
// what differs in more than its figures is another one.
func TestRepeatsCollapse(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	c := collapsing{slog.NewTextHandler(&out, nil), &repeats{
		now: func() time.Time { return now }, lines: map[string]*repeat{},
	}, ""}
	log := slog.New(c)
	f := func(want int) {
		t.Helper()
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%d lines; want %d:\n%s", got, want, out.String())
		}
	}

	for i := range 50 {
		log.Warn("slow request", "route", "pools", "account", "acme", "took", time.Duration(i)*time.Second)
	}
	f(1)
	if strings.Contains(out.String(), "repeated") {
		t.Errorf("the first line says that it is repeated:\n%s", out.String())
	}
	log.Warn("slow request", "route", "pools", "account", "other", "took", time.Second)
	f(2)
	log.With("chain", 1).Warn("feed failed")
	log.With("chain", 2).Warn("feed failed")
	f(4)
	for i := range 3 { // each is an event of its own
		log.Warn("the chain was reorganised; its blocks are replaced", "chain", 1, "from", i)
	}
	f(7)
	for range 3 {
		log.Info("key issued", "key", "key_1")
	}
	f(10)

	for range 2 { // the last line tells the present status
		log.Warn("disk status changed", "status", "full", "was", "ok", "freeBytes", 1)
		log.Warn("disk status changed", "status", "ok", "was", "full", "freeBytes", 2)
	}
	f(14)

	now = now.Add(repeatEvery)
	log.Warn("slow request", "route", "pools", "account", "acme", "took", time.Second)
	f(15)
	if !strings.Contains(out.String(), "repeated=49") {
		t.Errorf("the count is not told:\n%s", out.String())
	}
}

// Log lines go above the line of progress, which never stands in them.
func TestScreen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{file: w, isTerminal: true}
	s.Write([]byte("one\n"))
	s.show("50 %")
	s.Write([]byte("two\n"))
	s.show("")
	s.Write([]byte("three\n"))
	w.Close()

	var said bytes.Buffer
	said.ReadFrom(r)
	want := "one\n" + clearLine + "50 %" + clearLine + "two\n50 %" + clearLine + "three\n"
	if said.String() != want {
		t.Errorf("written %q; want %q", said.String(), want)
	}

	s.show("60 %")
	if n, err := s.Write([]byte("four\n")); err == nil || n != 0 {
		t.Errorf("a terminal that is gone took %d bytes, %v", n, err)
	}
}

// Elsewhere than on a terminal nothing but the lines of the log is written.
func TestScreenOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	s := newScreen(file)
	s.show("50 %")
	if n, err := s.Write([]byte("one\n")); n != 4 || err != nil {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	s.show("")
	if said, err := os.ReadFile(path); err != nil || string(said) != "one\n" {
		t.Errorf("written %q, %v", said, err)
	}
}

func TestConfirm(t *testing.T) {
	f := func(answer string, want bool) {
		t.Helper()
		var asked bytes.Buffer
		if got := confirm(strings.NewReader(answer), &asked, "sure? "); got != want || asked.String() != "sure? " {
			t.Errorf("%q is %v after %q; want %v", answer, got, asked.String(), want)
		}
	}

	f("y\n", true)
	f("Yes\n", true)
	f("n\n", false)
	f("\n", false)
	f("", false)
}

// On a terminal a chain is dropped only after a yes; the question goes to the output.
func TestResyncQuestion(t *testing.T) {
	ours, theirs := terminal(t)
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()

	f := func(answer, want string) {
		t.Helper()
		if _, err := ours.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		c := &ChainsResyncCmd{ID: 10}
		c.Data = t.TempDir() // no node runs on it
		os.Stdin, os.Stdout = theirs, out
		err := c.Run()
		os.Stdin, os.Stdout = stdin, stdout
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is answered %v; want %s", answer, err, want)
		}
	}
	f("n", "nothing was changed")
	f("y", "cannot reach a node")

	said, err := os.ReadFile(out.Name())
	if got := strings.Count(string(said), "Drop everything kept of chain 10 and index it"); err != nil || got != 2 {
		t.Errorf("it asks %q, %v", said, err)
	}
}

// What verify prints, for people and for programs.
func TestVerifyPrints(t *testing.T) {
	list := []verifiedChain{{ChainID: 10, At: "2026-11-28T07:23:58.310Z", Verification: rankings.Verification{
		Block: 7, Compared: 12, Different: 1,
		Differences: []rankings.Difference{{
			What: "pool", ID: "0xab", Field: "liquidity", Ledger: "0x1", Contract: "0x2", FromBlock: 3, ToBlock: 7,
		}},
		Short:      1,
		Shortfalls: []rankings.Shortfall{{Token: "0xcd", Claimed: "9", Held: "8"}},
	}}}
	f := func(json bool, want string) {
		t.Helper()
		c := &VerifyCmd{}
		c.JSON = json
		var said bytes.Buffer
		if err := c.print(&said, list); err != nil || said.String() != want {
			t.Errorf("it prints\n%s\n%v; want\n%s", said.String(), err, want)
		}
	}

	f(false, "CHAIN  BLOCK  COMPARED  DIFFERENT\n10     7      12        1\n"+
		"chain 10, pool 0xab: liquidity is 0x1, the contract has 0x2; blocks 3 to 7\n"+
		"chain 10, token 0xcd: positions may take out 9, the contract holds 8\n")
	f(true, `[
  {
    "chainId": 10,
    "at": "2026-11-28T07:23:58.310Z",
    "block": 7,
    "compared": 12,
    "different": 1,
    "differences": [
      {
        "what": "pool",
        "id": "0xab",
        "field": "liquidity",
        "ledger": "0x1",
        "contract": "0x2",
        "fromBlock": 3,
        "toBlock": 7
      }
    ],
    "short": 1,
    "shortfalls": [
      {
        "token": "0xcd",
        "claimed": "9",
        "held": "8"
      }
    ]
  }
]
`)
}

// A start tells where its configuration comes from and where it listens; what is
// administered is told too, and no key in either.
func TestStartIsLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	t.Setenv("TIDEMARK_LISTN", "x")
	n := startInstance(t, "--drain", "1ms")
	n.await("the key in the log", func() bool { return strings.Contains(n.logs.String(), "key issued") })

	logs := n.logs.String()
	for _, want := range []string{
		`"msg":"configuration","file":"none"`, "TIDEMARK_SIM_DAYS", "--drain", "--data",
		`"msg":"listening","api":"` + n.url + `","operations":"` + n.ops + `"`,
		"environment TIDEMARK_LISTN is not a setting and has no effect; did you mean TIDEMARK_LISTEN?",
		`"msg":"key issued","key":"key_1","account":"demo"`,
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log lacks %s:\n%s", want, logs)
		}
	}
	if strings.Contains(logs, n.key[:12]) {
		t.Errorf("a key is in the log:\n%s", logs)
	}
}
