package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/bench/process"
)

// instance is a node in a process of its own, on a data directory of its own.
type instance struct {
	t             *testing.T
	cmd           *exec.Cmd
	env           []string // beside that of the test
	dir           string
	url, ops, key string
	said, logs    process.Output
}

// startInstance starts a node with a small market and waits for its banner.
func startInstance(t *testing.T, args ...string) *instance {
	t.Helper()
	return startInstanceIn(t, nil, args...)
}

// startInstanceIn starts it with more in its environment.
func startInstanceIn(t *testing.T, env []string, args ...string) *instance {
	t.Helper()
	n := &instance{t: t, env: env, dir: filepath.Join(t.TempDir(), "data")}
	n.serve(args...)
	n.key = (&victim{t: t, dir: n.dir}).issueKey("demo")
	return n
}

// serve starts a node on the instance's directory and waits for its banner.
func (n *instance) serve(args ...string) {
	n.t.Helper()
	n.begin(args...)
	n.awaitBanner()
}

// begin starts the process of a node.
func (n *instance) begin(args ...string) {
	n.t.Helper()
	n.cmd = exec.Command("tidemark", append([]string{
		"serve", "--data", n.dir, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
	}, args...)...)
	n.cmd.Env = slices.Concat(os.Environ(), smallMarket, n.env)
	n.cmd.Stdout, n.cmd.Stderr = &n.said, &n.logs

	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		n.cmd.Process.Kill()
		n.cmd.Wait()
	})
}

// awaitBanner waits until the node says where it is.
func (n *instance) awaitBanner() {
	n.t.Helper()
	n.await("the banner", func() bool { return strings.Contains(n.said.String(), "keys issue") })
	addresses := regexp.MustCompile(`https?://127\.0\.0\.1:\d+`).FindAllString(n.said.String(), -1)
	n.url, n.ops = addresses[0], addresses[len(addresses)-1]
}

// await waits until something is so.
func (n *instance) await(what string, is func() bool) {
	n.t.Helper()
	for end := time.Now().Add(startTimeout); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("%s did not come: %s%s", what, n.said.String(), n.logs.String())
		}
	}
}

func (n *instance) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// keeper is a client that keeps its connection and asks again and again.
type keeper struct {
	answered  int
	announced bool  // the last answer closed the connection
	err       error // why it ended otherwise
	end       time.Time
}

// keepAsking asks over one connection until it is closed.
func keepAsking(address, key string, pause time.Duration) (k keeper) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return keeper{err: err}
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		c.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := fmt.Fprintf(c, "GET /v1/pools?limit=1 HTTP/1.1\r\nHost: x\r\nKC-APIKey: %s\r\n\r\n", key); err != nil {
			k.err = err
			return k
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			k.err = fmt.Errorf("no answer: %w", err)
			return k
		}
		_, err = io.Copy(io.Discard, r.Body)
		if err != nil || r.StatusCode != 200 {
			k.err = fmt.Errorf("answer %d is cut: %v", r.StatusCode, err)
			return k
		}

		k.answered++
		if r.Close {
			k.announced, k.end = true, time.Now()
			return k
		}
		time.Sleep(pause)
	}
}

// A node that is told to stop says so before it closes anything: it is not ready
// at once, every answer of the drain announces that its connection closes, no
// answer is cut, and who only waits is left alone until the drain is over.
func TestDrainCutsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	const drain = 1500 * time.Millisecond
	n := startInstance(t, "--drain", drain.String())
	address := strings.TrimPrefix(n.url, "http://")

	// 32 that ask, with pauses up to a third of the drain, and 8 that only wait.
	var work sync.WaitGroup
	keepers := make([]keeper, 32)
	for i := range keepers {
		work.Go(func() { keepers[i] = keepAsking(address, n.key, time.Duration(i)*15*time.Millisecond) })
	}
	idle := make([]time.Time, 8)
	for i := range idle {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n")
		in := bufio.NewReader(c)
		if r, err := http.ReadResponse(in, nil); err != nil || r.Close {
			t.Fatalf("before the stop: %v", err)
		} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			in.ReadByte()
			idle[i] = time.Now()
		})
	}
	time.Sleep(300 * time.Millisecond)

	stopped := time.Now()
	n.signal(syscall.SIGTERM)
	n.await("not ready", func() bool {
		status, body, err := request(n.ops+"/ready", "")
		return err == nil && status == 503 && strings.Contains(body, "stopping")
	})
	if status, _, err := request(n.url+"/v1/pools?limit=1", n.key); err != nil || status != 200 {
		t.Errorf("while it drains it answers %d, %v", status, err)
	}
	if since := time.Since(stopped); since > drain {
		t.Fatalf("the test took %s of the drain's %s", since, drain)
	}

	work.Wait()
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("the node ended with %v: %s", err, n.logs.String())
	}
	answered := 0
	for i, k := range keepers {
		answered += k.answered
		if !k.announced || k.err != nil || k.end.Before(stopped) {
			t.Errorf("connection %d: %d answers, announced %v, %v", i, k.answered, k.announced, k.err)
		}
	}
	for i, closed := range idle {
		if closed.Sub(stopped) < drain {
			t.Errorf("idle connection %d was closed %s after the signal; the drain is %s", i, closed.Sub(stopped), drain)
		}
	}
	t.Logf("%d answers over 32 connections, all closed after an announcement", answered)
}

// A second signal ends a drain.
func TestDrainEndsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	n := startInstance(t, "--drain", "5m")
	n.signal(syscall.SIGTERM)
	n.await("the drain", func() bool { return strings.Contains(n.logs.String(), "draining") })
	n.signal(syscall.SIGTERM)
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("the node ended with %v", err)
	}
}
