package edge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed/sim"
	"tidemark/edge/gate"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/pace"
)

// movingChain is a node with one chain whose native price moves from refresh to refresh.
type movingChain struct {
	*node
	*growing
	longest []time.Duration // stretches of work without a pause, one a refresh
}

// startMoving grows the history of a chain and leaves half an hour of it, in which
// every block has trade, for refreshes.
func startMoving(tb testing.TB, positions int) *movingChain {
	n := &node{dir: tb.TempDir(), board: new(rankings.Board)}
	var err error
	n.store, err = storage.Open(n.dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	tb.Cleanup(func() { must(n.store.Close()) })

	const days = 12
	begin := time.Now().Add(-days*24*time.Hour - 30*time.Minute)
	crowd := sim.Crowd{Leave: 370, Width: 85, Wallets: 380, Awake: 10, Sleepy: 40, Zipf: true, BusyDays: 10}
	source, err := sim.NewWorkload(sim.Config{
		Chain: 1, Positions: positions, Pools: positions / 20, Days: days, Actions: 4 * positions, Seed: 7,
		Genesis: begin.Unix(), StartBlock: 100, PositionManager: manager, Stables: params(1).Stables,
		Wrapped: wrapped, SpanEvents: 200,
	}, sim.Workload{Brisk: true, Crowd: crowd})
	must(err)

	c, err := chain.Open(chain.Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: manager, Start: 100},
		Prices: *params(1), WantsState: true, UnavailableAfter: everPublished,
		Log: slog.New(slog.DiscardHandler), Metrics: chain.NewMetrics(metrics.NewSet(), 1),
	}, n.store, n.board)
	must(err)

	m := &movingChain{node: n, growing: &growing{c, source}}
	for history := begin.Unix() + days*24*3600; !m.advance() && m.Status().LastIndexed.Time < history; {
	}
	m.refresh(func() {})
	return m
}

// step goes on by at least ten seconds of the chain and refreshes it as a node does.
func (m *movingChain) step() {
	for from := m.Status().LastIndexed.Time; m.Status().LastIndexed.Time < from+10; {
		m.advance()
	}
	m.refresh(pace.New(m.board.Requests).Pause)
}

// refresh measures the longest stretch of work between two pauses.
func (m *movingChain) refresh(pause func()) {
	var longest time.Duration
	last := threadTime()
	must(m.Refresh(time.Now, func() {
		longest = max(longest, threadTime()-last)
		pause()
		last = threadTime()
	}))
	m.longest = append(m.longest, longest)
}

// threadTime is the CPU time of the thread, which other processes do not take.
func threadTime() time.Duration {
	const clockThread = 3
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

// TestRefreshPauses checks that no part of a refresh goes on for long without a
// pause. What follows the last one, the write of the batch, is not counted.
func TestRefreshPauses(t *testing.T) {
	if testing.Short() {
		t.Skip("measures times, which the race detector multiplies")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := startMoving(t, 10_000)
	m.longest = nil
	for range 9 {
		m.step()
	}

	slices.Sort(m.longest)
	median := m.longest[len(m.longest)/2]
	t.Logf("the longest stretch of a refresh: %v in the median, %v at most", median, m.longest[len(m.longest)-1])
	if median > 500*time.Microsecond {
		t.Errorf("a refresh goes on for %v without a pause; want at most 500 µs", median)
	}
}

// tailPositions is TAIL_POSITIONS, the size of BenchmarkTail's chain.
func tailPositions() int {
	if n, err := strconv.Atoi(os.Getenv("TAIL_POSITIONS")); err == nil {
		return n
	}
	return 20_000
}

// BenchmarkTail asks a server with one processor for its hot page, from another
// process and at a constant rate, in turns with and without a chain that refreshes
// all the time. The ratios are of medians.
func BenchmarkTail(b *testing.B) {
	m := startMoving(b, tailPositions())
	f := new(front)
	cfg := config(f, m.node)
	cfg.Limits.UnavailableAfter = everPublished
	s, err := New(cfg)
	must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() { must(s.Serve(l)) }()
	defer func() { must(s.Shutdown(context.Background())) }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))

	ask := []string{"TAIL_ADDRESS=" + l.Addr().String(), "TAIL_KEY=" + f.issue("unlimited", accounts.Server)}
	var still, busy [tailFigures][]float64
	refreshes := 0
	for b.Loop() {
		note(&still, <-askAside(ask))
		for answers := askAside(ask); ; {
			m.step()
			refreshes++
			if len(answers) > 0 {
				note(&busy, <-answers)
				break
			}
		}
	}

	for i, name := range []string{"p50", "p99", "p999"} {
		b.ReportMetric(middle(still[i]), "still-"+name+"-us")
		b.ReportMetric(middle(busy[i]), "moving-"+name+"-us")
		b.ReportMetric(middle(busy[i])/middle(still[i]), name+"-ratio")
	}
	b.ReportMetric(middle(asMicroseconds(m.longest)), "stretch-us")
	b.ReportMetric(float64(refreshes)/float64(b.N), "refreshes/op")
}

const tailFigures = 3

func note(all *[tailFigures][]float64, now [tailFigures]float64) {
	for i, v := range now {
		all[i] = append(all[i], v)
	}
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

func asMicroseconds(all []time.Duration) (out []float64) {
	for _, d := range all {
		out = append(out, float64(d.Microseconds()))
	}
	return out
}

// askAside runs TestTailClient in a process of its own and returns what it prints.
func askAside(env []string) <-chan [tailFigures]float64 {
	answers := make(chan [tailFigures]float64, 1)
	cmd := exec.Command(os.Args[0], "-test.run=^TestTailClient$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())

	go func() {
		text, err := io.ReadAll(out)
		must(err)
		if err := cmd.Wait(); err != nil {
			panic(fmt.Sprintf("the client failed: %v: %s", err, text))
		}
		_, figures, _ := strings.Cut(string(text), "figures: ")
		var f [tailFigures]float64
		_, err = fmt.Sscan(figures, &f[0], &f[1], &f[2])
		must(err)
		answers <- f
	}()
	return answers
}

// TestTailClient is the client of BenchmarkTail. It counts from when a request was
// due, and waits without sleeping.
func TestTailClient(t *testing.T) {
	const every, requests = 3 * time.Millisecond, 1000
	address := os.Getenv("TAIL_ADDRESS")
	if address == "" {
		t.Skip("it is a part of BenchmarkTail")
	}
	c, err := net.Dial("tcp", address)
	must(err)
	defer c.Close()

	request := "GET /v1/positions HTTP/1.1\r\nHost: x\r\n" + gate.HeaderKey + ": " + os.Getenv("TAIL_KEY") + "\r\n\r\n"
	in := bufio.NewReaderSize(c, 1<<17)
	var took []time.Duration
	for begun := time.Now(); len(took) < requests; {
		due := begun.Add(time.Duration(len(took)) * every)
		for time.Now().Before(due) {
		}

		_, err := io.WriteString(c, request)
		must(err)
		answer, err := http.ReadResponse(in, nil)
		must(err)
		_, err = io.Copy(io.Discard, answer.Body)
		must(err)
		if answer.StatusCode != 200 {
			t.Fatalf("the hot page is a %d", answer.StatusCode)
		}
		took = append(took, time.Since(due))
	}

	us := asMicroseconds(took)
	slices.Sort(us)
	fmt.Println("figures:", us[requests/2], us[requests*99/100], us[requests*999/1000])
}
