package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/bench/process"
	"tidemark/edge/admin"
	"tidemark/storage/registry"
)

// tortureEnv is quick or full; see the package.
const tortureEnv = "TIDEMARK_TORTURE"

// builds is where the binaries of this run are.
var builds string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		panic(err)
	}
	builds = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the binary with these flags, once, and returns its path.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	path := filepath.Join(builds, "tidemark"+strings.Join(flags, ""))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, "tidemark/cmd/tidemark")...).CombinedOutput(); err != nil {
		t.Fatalf("cannot build the binary: %v: %s", err, out)
	}
	return path
}

// share returns the count of a test: the first one for each change, the second one
// for the full torture. Without the torture the test is skipped.
func share[T any](t *testing.T, quick, full T) T {
	t.Helper()
	switch os.Getenv(tortureEnv) {
	case "":
		t.Skipf("set %s to torture nodes", tortureEnv)
	case "quick":
		return quick
	}
	return full
}

// figure prints a line of the torture.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf("figure: "+format, args...)
}

// node is a process of the binary, on a data directory that outlives it.
type node struct {
	t        *testing.T
	binary   string
	dir      string // its data, and its configuration beside it
	args     []string
	cmd      *exec.Cmd
	began    time.Time
	url, ops string
	said     process.Output
	logs     process.Output
}

// startTimeout bounds a start. Only a wrong node, or one with a large market, needs as
// long.
const startTimeout = 3 * time.Minute

// smallMarket is the least market, for tests that start many nodes.
const smallMarket = "[sim]\npositions = 200\npools = 60\ndays = 3\n[refresh]\nevery = \"200ms\"\n"

// newNode prepares a node with a configuration. It is not started.
func newNode(t *testing.T, config string, args ...string) *node {
	t.Helper()
	n := &node{t: t, binary: build(t), dir: filepath.Join(t.TempDir(), "data"), args: args}
	if err := os.WriteFile(n.dir+".toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.kill)
	return n
}

// start starts the process and waits until every chain is served.
func (n *node) start() {
	n.t.Helper()
	n.launch()
	n.await("a page of every chain", func() bool { return n.findURL() && n.isServing() })
	n.awaitAdministration()
}

// awaitAdministration waits for the socket, which opens after the API.
func (n *node) awaitAdministration() {
	n.t.Helper()
	n.await("the administration", func() bool {
		c, err := admin.Dial(context.Background(), n.dir)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// launch starts the process.
func (n *node) launch() {
	n.t.Helper()
	n.said.Reset()
	n.logs.Reset()
	n.url, n.ops = "", ""
	n.cmd = exec.Command(n.binary, append([]string{
		"serve", "--config", n.dir + ".toml", "--data", n.dir,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
	}, n.args...)...)
	n.cmd.Stdout, n.cmd.Stderr = &n.said, &n.logs

	n.began = time.Now()
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
}

var (
	listening = regexp.MustCompile(`"api":"(http://[^"]+)","operations":"(http://[^"]+)"`)
	pollEvery = 5 * time.Millisecond
)

// findURL finds the addresses that the node says it listens on.
func (n *node) findURL() bool {
	found := listening.FindStringSubmatch(n.logs.String())
	if found == nil {
		return false
	}
	n.url, n.ops = found[1], found[2]
	return true
}

func (n *node) isServing() bool {
	status, body, err := get(n.url+"/health", "")
	return err == nil && status == http.StatusOK && !strings.Contains(body, `"generation":null`)
}

// await waits until something is so.
func (n *node) await(what string, is func() bool) {
	n.t.Helper()
	for end := time.Now().Add(startTimeout); !is(); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			n.t.Fatalf("%s did not come: %s%s", what, n.said.String(), n.logs.String())
		}
	}
}

// address is where the API listens.
func (n *node) address() string { return strings.TrimPrefix(n.url, "http://") }

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// kill ends the process with -9, if it runs.
func (n *node) kill() {
	if n.cmd != nil {
		n.cmd.Process.Kill()
		n.cmd.Wait()
		n.cmd = nil
	}
}

// stop ends the process in order.
func (n *node) stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	if err := n.cmd.Wait(); err != nil {
		n.t.Errorf("the node did not stop in order: %v: %s", err, n.logs.String())
	}
	n.cmd = nil
}

// run runs another command of the binary on the data and returns what it says.
func (n *node) run(args ...string) (string, error) {
	out, err := exec.Command(n.binary, args...).CombinedOutput()
	return string(out), err
}

// administer sends a request to the administration socket. into may be nil.
func (n *node) administer(method, path string, body, into any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	q, err := http.NewRequest(method, "http://admin"+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return admin.Dial(ctx, n.dir) }
	client := http.Client{
		Timeout: startTimeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}

	r, err := client.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case r.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s is answered %d %s", method, path, r.StatusCode, answer)
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer, into)
}

// order is administer for what must succeed.
func (n *node) order(method, path string, body, into any) {
	n.t.Helper()
	if err := n.administer(method, path, body, into); err != nil {
		n.t.Fatal(err)
	}
}

// customer makes an account of a plan and returns a key of it.
func (n *node) customer(name, plan string) (key string) {
	n.t.Helper()
	n.order("POST", "/accounts", map[string]string{"name": name, "plan": plan}, nil)
	var issued registry.IssuedKey
	n.order("POST", "/keys", registry.KeyRequest{Account: name}, &issued)
	return issued.Key
}

// unitsUsed returns the units that an account was charged this month.
func (n *node) unitsUsed(account string) int64 {
	n.t.Helper()
	var usage registry.UsageView
	n.order("GET", "/usage/"+account, nil, &usage)
	return usage.UnitsUsed
}

var single = http.Client{Timeout: 20 * time.Second}

// get asks once.
func get(url, key string) (status int, body string, err error) {
	q, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, "", err
	}
	if key != "" {
		q.Header.Set("KC-APIKey", key)
	}

	r, err := single.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, string(text), errors.Join(err)
}

// counter reads a metric of the node.
func (n *node) counter(name string) (value float64) {
	n.t.Helper()
	_, text, err := get(n.ops+"/metrics", "")
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			fmt.Sscan(rest, &value)
		}
	}
	return value
}
