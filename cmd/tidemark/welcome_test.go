package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/bench/process"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// firstPageGoal is from the start of the process to the first page of the market
// that a node without configuration simulates.
const firstPageGoal = 2 * time.Second

// contention is how much longer work takes on this machine now than alone: the
// wall time of a loop on every processor against its CPU time.
func contention(t *testing.T) float64 {
	t.Helper()
	cpu := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}

	began, used := time.Now(), cpu()
	var work sync.WaitGroup
	for range runtime.NumCPU() {
		work.Go(func() {
			x := uint64(1)
			for range 100_000_000 {
				x = x*6364136223846793005 + 1
			}
			runtime.KeepAlive(x)
		})
	}
	work.Wait()
	wall := time.Since(began) * time.Duration(runtime.NumCPU())
	return max(1, float64(wall)/float64(cpu()-used))
}

// On a terminal the banner comes with the first page, in time, and what is pasted
// from it is answered; Ctrl-C ends the node in one line.
func TestFirstPage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node with the default market")
	}
	slower := contention(t)
	ours, theirs := terminal(t)
	dir := filepath.Join(t.TempDir(), "data")
	cmd := exec.Command("tidemark", "serve", "--data", dir,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	cmd.Env = os.Environ()
	cmd.Stdout, cmd.Stderr = theirs, theirs
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })

	said := readUntil(t, ours, "/v1/positions?limit=1")
	key := regexp.MustCompile(`tm_srv_\w+`).FindString(said)
	url := addressPattern.FindString(said[strings.Index(said, "serves"):])
	status, body, err := request(url+"/v1/positions?limit=1", key)
	took := time.Since(began)
	partial := strings.Contains(body, `"partial":true`) && !strings.Contains(said, "not yet")
	if err != nil || status != 200 || partial {
		t.Errorf("what the banner says is answered %d, %v, partial %v", status, err, partial)
	}

	slower = max(slower, contention(t))
	allowed := time.Duration(float64(firstPageGoal) * slower)
	t.Logf("the first page came after %s; allowed are %s on a machine %.1f times slower for its load",
		took.Round(time.Millisecond), allowed.Round(time.Millisecond), slower)
	if took > allowed {
		t.Errorf("the first page came after %s; want %s", took, allowed)
	}
	for _, want := range []string{
		"a simulated market of Ethereum, Arbitrum One, Avalanche C-Chain", "catching up: ",
		url + "/ui", url + "/docs", "/metrics", dir,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %q; want %q", said, want)
		}
	}

	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the node ended with %v", err)
	}
	theirs.Close()
	rest := readUntil(t, ours, "stopped")
	if n := strings.Count(strings.TrimSpace(rest), "\n"); n != 0 {
		t.Errorf("Ctrl-C is followed by %d lines more than one: %q", n, rest)
	}
}

// chains resync asks on a terminal, and nowhere else.
func TestResyncAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	n := startInstance(t)
	f := func(answer string, wantErr bool, args ...string) {
		t.Helper()
		ours, theirs := terminal(t)
		cmd := exec.Command("tidemark", append([]string{"chains", "resync", "43114", "--data", n.dir}, args...)...)
		cmd.Stdin = theirs
		ours.WriteString(answer)
		out, err := cmd.CombinedOutput()
		asked := strings.Contains(string(out), "Drop everything kept of chain 43114")
		if (err != nil) != wantErr || asked != (len(args) == 0) {
			t.Errorf("%q %v: %v, %s", answer, args, err, out)
		}
	}

	f("n\n", true)
	if strings.Contains(n.logs.String(), "chain dropped") {
		t.Error("the chain was dropped although the answer was no")
	}
	f("yes\n", false)
	f("", false, "--yes")

	n.await("two resyncs in the log", func() bool {
		return strings.Count(n.logs.String(), "chain dropped, to be indexed from its start") == 2
	})
}

func TestPace(t *testing.T) {
	p, now := catchUp{}, time.Unix(1000, 0)
	f := func(indexed, head, eta int64, share float64, left time.Duration) {
		t.Helper()
		s := &rankings.ChainStatus{
			LastIndexed: market.Head{Time: indexed}, ChainHead: market.Head{Time: head}, ETASeconds: eta,
		}
		if gotShare, gotLeft := p.of(1, s, now); gotShare != share || gotLeft != left {
			t.Errorf("from %d to %d: %v, %s; want %v, %s", indexed, head, gotShare, gotLeft, share, left)
		}
		now = now.Add(time.Second)
	}

	f(0, 0, 0, 0, 0)
	f(100, 500, 0, 0, 0)
	f(200, 500, 0, 0.25, 3*time.Second)
	f(300, 500, 0, 0.5, 2*time.Second)
	f(400, 500, 70, 0.75, 70*time.Second) // the feed's own word counts
	f(500, 500, 0, 1, 0)

	clear(p) // a chain whose head is where it was first looked at
	f(100, 100, 0, 0, 0)
	f(100, 100, 0, 0, 0)
	f(100, 99, 30, 0, 30*time.Second)
	f(150, 200, 0, 0.5, 3*time.Second)
}

// Until the first page the log of a node without a terminal says every ten seconds how far
// its chains have come. Five seconds after that page the banner no longer waits for others.
func TestWelcome(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	synctest.Test(t, func(t *testing.T) {
		var logs process.Output
		n := emptyNode(t)
		n.log, n.screen, n.catchUp = slog.New(slog.NewTextHandler(&logs, nil)), newScreen(out), catchUp{}
		n.opsListener, n.url = l, "http://node"
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var ended atomic.Bool
		go func() {
			n.welcomeUser(ctx)
			ended.Store(true)
		}()
		f := func(after time.Duration, lines int, said string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			text, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(logs.String(), "no page yet"); got != lines {
				t.Errorf("after %s more there are %d lines; want %d", after, got, lines)
			}
			if said == "" && len(text) > 0 || !strings.Contains(string(text), said) || ended.Load() != (said != "") {
				t.Errorf("after %s more it ended: %t, and says %q; want %q", after, ended.Load(), text, said)
			}
		}

		f(9*time.Second, 0, "")
		f(2*time.Second, 1, "")
		f(10*time.Second, 2, "")
		n.board.Publish(&rankings.View{State: &market.State{Chain: n.enabledChains()[0].ID}})
		f(4*time.Second, 2, "")
		f(2*time.Second, 2, "\n  not yet    Arbitrum One 0 %, Avalanche C-Chain 0 %\n")

		var all strings.Builder
		if n.writeBanner(&all, nil); all.Len() == 0 || strings.Contains(all.String(), "not yet") {
			t.Errorf("when all chains have pages it says %q", &all)
		}
	})
}
