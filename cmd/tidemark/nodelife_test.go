package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/bench/process"
	"tidemark/edge/admin"
	"tidemark/rankings"
	"tidemark/storage/registry"
)

// smallNode is a node of a small market in this process, of which nothing has started, and
// what it logs.
func smallNode(t *testing.T, path string) (*node, *process.Output) {
	t.Helper()
	dir := t.TempDir()
	l, err := loadConfig(path, smallMarket, map[string]string{
		"data": filepath.Join(dir, "data"), "listen": "127.0.0.1:0", "ops-listen": "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := os.Create(filepath.Join(dir, "screen"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { quiet.Close() })

	var logs process.Output
	n := &node{loaded: l, screen: newScreen(quiet), catchUp: catchUp{}, inForce: l.values()}
	n.log = slog.New(slog.NewTextHandler(&logs, nil))
	return n, &logs
}

// checkStarted checks that a node has started when its chains have, and not while a
// generation is far behind its chain's head.
func checkStarted(t *testing.T, n *node) {
	t.Helper()
	waitFor(t, "the start of all chains", n.hasStarted)

	still := &node{loaded: n.loaded} // with the same generations, and nothing that moves
	if still.hasStarted() {
		t.Error("a node without generations has started")
	}
	chains := n.board.Load().Chains
	for i := range chains {
		still.board.Publish(chains[i].View)
		still.board.SetStatus(chains[i].ID, chains[i].Status)
	}
	if !still.hasStarted() {
		t.Error("a node with the generations of one that has started has not")
	}

	f := func(change func(*rankings.ChainStatus), want bool) {
		t.Helper()
		status := chains[0].Status
		status.ChainHead.Time = chains[0].View.State.Head.Time + nearHead + 1
		change(&status)
		still.board.SetStatus(chains[0].ID, status)
		if still.hasStarted() != want {
			t.Errorf("a node has started: %t, with a chain of %+v", !want, status)
		}
	}
	f(func(s *rankings.ChainStatus) { s.ChainHead.Time-- }, true)
	f(func(*rankings.ChainStatus) {}, false)
	f(func(s *rankings.ChainStatus) { s.Offline = true }, true)
	f(func(s *rankings.ChainStatus) { s.Syncing = true }, false)

	still.board.Withdraw(chains[0].ID)
	f(func(s *rankings.ChainStatus) { s.Syncing = true }, true)
	f(func(*rankings.ChainStatus) {}, false)
}

// A node starts all of its parts, says what it serves and where, answers on every listener,
// takes up a changed configuration, is not ready once it drains, and ends in order.
func TestLifeOfANode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tidemark.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[limits]\ntotal-cap = 50\n[[plans]]\nid = \"free\"\nmonthly-units = 4711\n")
	n, logs := smallNode(t, path)
	banner, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer banner.Close()
	stdout := os.Stdout
	os.Stdout = banner
	defer func() { os.Stdout = stdout }()

	if err := n.start(t.Context()); err != nil {
		t.Fatal(err, n.stop())
	}
	checkServes(t, n)
	said := func() string {
		text, err := os.ReadFile(banner.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	waitFor(t, "the banner", func() bool { return said() != "" })
	for _, want := range []string{
		"serves a simulated market of Ethereum, Arbitrum One, Avalanche C-Chain at " + n.url + "\n",
		"\n  dashboard  " + n.url + "/ui\n", "\n  data       " + n.Data + "\n",
		"\n  metrics    " + urlOf(n.opsListener, false) + "/metrics\n",
		"\nTo get an API key: tidemark keys issue --account demo --data " + n.Data + "\n",
	} {
		if !strings.Contains(said(), want) {
			t.Errorf("it says %q; want %q", said(), want)
		}
	}

	checkStarted(t, n)
	saved := checkCommands(t, n)

	write("[limits]\ntotal-cap = 60\n[[plans]]\nid = \"free\"\nmonthly-units = 4711\n[metering]\nflush = \"3s\"\n")
	n.reloadConfig()
	write("[limits]\ntotal-cap = 0\n")
	n.reloadConfig()
	for _, want := range []string{
		`changed="limits.total-cap 60 (was 50)"`, "setting=metering.flush", "was not reloaded; the one in force stays",
		"total-cap is 0; allowed is 1 to 10000000", "the one in force stays\" reload=2 file=" + path,
	} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("it logs no %q", want)
		}
	}
	if ok, refused := n.metrics.reloaded.Get(), n.metrics.refused.Get(); ok != 1 || refused != 1 {
		t.Errorf("%d reloads and %d refused ones are counted; want one of each", ok, refused)
	}

	n.drain(nil)
	if err := n.ready.check(); err == nil || err.Error() != "the node is stopping" {
		t.Errorf("while it drains it is ready: %v", err)
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	for _, l := range []net.Listener{n.apiListener, n.opsListener} {
		if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
			t.Errorf("%s is open after the stop", l.Addr())
		}
	}
	checkRestored(t, saved)
}

// A node reads a price feed that is configured, from a file or an address, and looks for
// renewed certificates.
func TestPartsOfANode(t *testing.T) {
	dir := t.TempDir()
	files := TLSConfig{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	writePair(t, files, "node.example")
	path := filepath.Join(dir, "tidemark.toml")
	f := func(text string, want ...string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n, logs := smallNode(t, path)
		n.log = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))

		err := n.start(t.Context())
		if err = errors.Join(err, n.stop()); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`part="price feed"`, `part=certificate`} {
			if got := strings.Contains(logs.String(), part); got != slices.Contains(want, part) {
				t.Errorf("%s\nit has %s: %t", text, part, got)
			}
		}
	}

	f("")
	f("[prices]\nfile = \""+filepath.Join(dir, "prices.json")+"\"", `part="price feed"`)
	f(fmt.Sprintf("[prices]\nurl = \"http://127.0.0.1:1\"\n[tls]\ncert = %q\nkey = %q\n", files.Cert, files.Key),
		`part="price feed"`, `part=certificate`)
}

// checkCommands runs the commands that need a running node with a market, and returns the
// directory of a checkpoint.
func checkCommands(t *testing.T, n *node) (saved string) {
	t.Helper()
	f := func(wantCode int, want string, args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := runCommand(t, args...)
		if code != wantCode || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%v ended with %d: %s%s; want %d: %s", args, code, stdout, stderr, wantCode, want)
		}
		return stdout, stderr
	}

	saved = filepath.Join(t.TempDir(), "saved")
	f(0, "checkpoint in  "+saved, "backup", saved, "--data", n.Data)
	f(1, "exists already; name a new directory", "backup", saved, "--data", n.Data)
	f(1, "is within a store; name a directory elsewhere",
		"backup", filepath.Join(n.dataPath(marketDir), "saved"), "--data", n.Data)
	f(0, "43114", "chains", "list", "--data", n.Data)
	f(1, "a node is running on "+n.Data+"; stop it first",
		"archive", "import", saved, "--chain", "1", "--data", n.Data)
	f(1, "is not empty; stop its node and move it away first", "restore", saved, "--data", n.Data)
	f(1, "is no checkpoint", "restore", t.TempDir(), "--data", n.Data)
	f(1, "is within the checkpoint "+saved+"; name a directory beside it",
		"restore", saved, "--data", filepath.Join(saved, "below", "data"))
	f(1, "no data in ", "check", "--data", t.TempDir())
	return saved
}

// checkRestored makes data from a checkpoint, which the check finds whole.
func checkRestored(t *testing.T, saved string) {
	t.Helper()
	mask := syscall.Umask(0) // the command narrows it
	defer syscall.Umask(mask)
	data := filepath.Join(t.TempDir(), "data")
	code, stdout, stderr := runCommand(t, "restore", saved, "--data", data)
	if code != 0 || stdout != "restored "+data+" from "+saved+"\n" {
		t.Errorf("the restore ended with %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := runCommand(t, "check", "--data", data); code != 0 || stdout != "no findings\n" {
		t.Errorf("the check ended with %d: %s%s", code, stdout, stderr)
	}

	// What cannot be copied or is damaged is not taken for restored.
	f := func(spoil func(dir string) error, want string) {
		t.Helper()
		spoiled, data := filepath.Join(t.TempDir(), "spoiled"), filepath.Join(t.TempDir(), "data")
		if err := errors.Join(os.CopyFS(spoiled, os.DirFS(saved)), spoil(spoiled)); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := runCommand(t, "restore", spoiled, "--data", data)
		if code != 1 || strings.Contains(stdout, "restored") || !strings.Contains(stderr, want) {
			t.Errorf("the restore ended with %d: %s%s; want %q", code, stdout, stderr, want)
		}
		// What could not be copied whole is gone again, so that the restore can be repeated.
		left, err := os.ReadDir(data)
		if copied := strings.Contains(stderr, "in the restored data"); err != nil && copied || len(left) > 0 != copied {
			t.Errorf("a failed restore (%s) left %v, %v", stderr, left, err)
		}
	}
	f(func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, marketDir, "pipe"), 0o600) },
		"a checkpoint has directories and regular files only")
	const lost = "are damaged; nothing was restored"
	f(func(dir string) error { return spoilManifest(filepath.Join(dir, accountsDir)) }, lost)
	f(func(dir string) error { return os.Remove(filepath.Join(dir, accountsDir+".proof")) }, lost)
	f(func(dir string) error {
		logs, err := filepath.Glob(filepath.Join(dir, accountsDir, "*.log"))
		for _, path := range logs {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}, lost)
	f(func(dir string) error { return spoilManifest(filepath.Join(dir, marketDir)) },
		"1 findings in the restored data")
}

// spoilManifest makes a store unreadable as a whole.
func spoilManifest(dir string) error {
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	for _, path := range manifests {
		err = errors.Join(err, os.WriteFile(path, []byte("spoiled"), 0o600))
	}
	return err
}

// checkServes asks a node on each of its listeners.
func checkServes(t *testing.T, n *node) {
	t.Helper()
	waitFor(t, "ready", func() bool { return n.ready.check() == nil })
	ask := func(method, path string, body, answer any) {
		t.Helper()
		text, err := adminClient(n.Data).do(method, path, body)
		if err == nil {
			err = json.Unmarshal(text, answer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	var chains []admin.ChainView
	ask(http.MethodGet, "/chains", nil, &chains)
	for i, id := range []uint64{1, 42161, 43114} {
		if len(chains) != 3 || chains[i].ChainID != id || chains[i].Generation == 0 {
			t.Errorf("the chains are %+v", chains)
		}
	}
	var key registry.IssuedKey
	ask(http.MethodPost, "/keys", registry.KeyRequest{Account: registry.Demo}, &key)

	f := func(url, key, want string) {
		t.Helper()
		status, body, err := request(url, key)
		if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, %v, %.200s; want %q", url, status, err, body, want)
		}
	}
	f(n.url+"/v1/positions?limit=1", key.Key, `{"positions":[{"rank":1,`)
	f(n.url+"/health", "", `"chainId":43114`)
	f(n.url+"/v1/plans", "", `4711`)
	ops := urlOf(n.opsListener, false)
	f(ops+"/ready", "", "ready")
	f(ops+"/metrics", "", `tidemark_edge_units_charged_total{route="positions"} 1`)
}

// waitFor waits for what comes within milliseconds on an idle machine.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(startTimeout); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s after %s", what, startTimeout)
		}
	}
}
