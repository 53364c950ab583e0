package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"tidemark/bench/process"
	"tidemark/storage/registry"
)

// A client that asks and never reads holds nobody up: leases are given back,
// stores are closed, and the node ends in order. A closed terminal ends nothing.
func TestStopBesideStuckClient(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	v := newVictim(t, 1_000_000)
	v.start()
	key := v.customer("acme", "growth")
	conn, err := net.Dial("tcp", strings.TrimPrefix(v.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	ask := []byte("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
	for range 2000 { // until nothing fits between us any more
		if _, err := conn.Write(ask); err != nil {
			break
		}
	}

	if err := v.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	status, _, err := request(v.url+"/v1/pools?limit=1", key)
	if err != nil || status != 200 {
		t.Fatalf("after SIGHUP: %d, %v", status, err)
	}

	began := time.Now()
	v.stop()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the stop took %s; want %s for the client and little more", took, clientTimeout)
	}

	v.start()
	var usage registry.UsageView
	v.ask("GET", "/usage/acme", nil, &usage)
	if usage.UnitsUsed != 2 || usage.UnitsReserved != 0 {
		t.Errorf("after the stop %d units are used and %d reserved; want 2 and 0", usage.UnitsUsed, usage.UnitsReserved)
	}
}

// A node outlives whoever reads its log: a line that nobody can read any more is lost, and
// the node serves on and ends in order.
func TestLogReaderEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("tidemark", "serve", "--data", filepath.Join(t.TempDir(), "data"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	node.Env = append(os.Environ(), smallMarket...)
	node.Stdout, node.Stderr = writer, writer
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	defer node.Process.Kill()
	writer.Close()
	readUntil(t, reader, "keys issue")
	reader.Close()

	if err := node.Process.Signal(syscall.SIGHUP); err != nil { // the reload is logged
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := node.Wait(); err != nil {
		t.Errorf("without a reader of its log the node ended with %v", err)
	}
}

// TestPartThatHangs checks that a part that does not end takes nothing from those that were
// started before it.
func TestPartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{log: slog.New(slog.DiscardHandler)}
		release, closed := make(chan struct{}), false
		n.addPart("store", func(context.Context) error {
			closed = true
			return nil
		})
		n.addPart("chains", func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("a feed is stuck")
		})
		n.background("watchdog", func(context.Context) { <-release })

		began := time.Now()
		err := n.stop()
		want := "cannot stop watchdog: it hangs; it was given 10s\ncannot stop chains: a feed is stuck"
		if err == nil || err.Error() != want {
			t.Errorf("stop = %v; want %s", err, want)
		}
		if took := time.Since(began); !closed || took != 2*partTimeout+partGrace {
			t.Errorf("the stop took %s, and the store was closed: %t", took, closed)
		}
		close(release)
	})
}

// serveOn runs a first start with an output and returns what it says until it
// is served, or until it ends.
func serveOn(t *testing.T, dir string, out *os.File, args ...string) (*exec.Cmd, chan error) {
	t.Helper()
	cmd := exec.Command("tidemark", append([]string{
		"serve", "--data", dir, "--ops-listen", "127.0.0.1:0",
	}, args...)...)
	cmd.Env = append(os.Environ(), smallMarket...)
	cmd.Stdout = out
	var logs process.Output
	cmd.Stderr = &logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		ended <- fmt.Errorf("%w: %s", err, logs.String())
	}()
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, ended
}

// terminal is a pseudo terminal: what a process writes to its end is read here.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}

	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}

	if !term.IsTerminal(int(theirs.Fd())) {
		t.Fatal("a pseudo terminal is none")
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// readUntil reads until a text has been seen.
func readUntil(t *testing.T, r io.Reader, want string) string {
	t.Helper()
	var said bytes.Buffer
	for b := make([]byte, 4096); !strings.Contains(said.String(), want); {
		n, err := r.Read(b)
		said.Write(b[:n])
		if err != nil {
			t.Fatalf("%v after %q; want %q", err, said.String(), want)
		}
	}
	return said.String()
}

// The first key goes to a terminal and nowhere else, and keeps the node on its
// own machine until it is revoked.
func TestFirstKey(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes")
	}
	dir := filepath.Join(t.TempDir(), "data")

	// An address that is taken leaves no account and no key behind.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ours, theirs := terminal(t)
	_, ended := serveOn(t, dir, theirs, "--listen", taken.Addr().String())
	if err := <-ended; !strings.Contains(err.Error(), "address already in use") {
		t.Fatalf("on a taken address: %v", err)
	}

	cmd, ended := serveOn(t, dir, theirs, "--listen", "127.0.0.1:0")
	said := readUntil(t, ours, "/v1/positions?limit=1")
	if !strings.Contains(said, "shown this once: tm_srv_") || !strings.Contains(said, `curl -H "KC-APIKey: tm_srv_`) {
		t.Errorf("a first start on a terminal says %q; want a key", said)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	<-ended

	_, ended = serveOn(t, dir, theirs, "--listen", "0.0.0.0:0")
	err = <-ended
	for _, want := range []string{"cannot serve on ", "key_1", "tidemark keys revoke key_1 --data " + dir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("on every address: %v; want %q", err, want)
		}
	}

	cmd, ended = serveOn(t, dir, theirs, "--listen", "127.0.0.1:0")
	said = readUntil(t, ours, "tidemark keys issue --account demo")
	if strings.Contains(said, "tm_srv_") {
		t.Errorf("a later start says %q; want no key", said)
	}
	if _, err := adminClient(dir).do("POST", "/keys/key_1/revoke", nil); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	<-ended
	cmd, ended = serveOn(t, dir, theirs, "--listen", "0.0.0.0:0")
	readUntil(t, ours, "tidemark keys issue --account demo")
	cmd.Process.Signal(syscall.SIGTERM)
	<-ended
}

// Where the output is kept no key is made, whatever the address.
func TestFirstKeyIsNotLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	dir := filepath.Join(t.TempDir(), "data")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd, ended := serveOn(t, dir, w, "--listen", "0.0.0.0:0")
	w.Close()
	said := readUntil(t, r, "tidemark keys issue --account demo --data "+dir)

	var keys []registry.KeyView
	v := &victim{t: t, dir: dir}
	v.ask("GET", "/keys", nil, &keys)
	if strings.Contains(said, "tm_srv_") || len(keys) != 0 {
		t.Errorf("it says %q and has %d keys; want none", said, len(keys))
	}

	cmd.Process.Signal(syscall.SIGTERM)
	<-ended
}
