package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tidemark/bench/process"
	"tidemark/storage/registry"
)

// The scripts in testdata are what a user could type. Beside the commands of
// testscript they have:
//
//	node [flag...]           start a node on $WORK/data with a small market; sets $URL, and
//	                         $KEY to a new key of demo; waits until every chain is served
//	down | crash             end it in order, or with -9
//	get STATUS PATH [KEY]    ask the API; the body becomes stdout
//	pages FILE               write the first pages of every sort into a file
//	keep NAME PATTERN        set a variable to what matches in stdout
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tidemark": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Values[nodeKey{}] = new(*scriptNode)
			return nil
		},

		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"node":  startNode,
			"down":  func(ts *testscript.TestScript, _ bool, _ []string) { endNode(ts, syscall.SIGTERM) },
			"crash": func(ts *testscript.TestScript, _ bool, _ []string) { endNode(ts, syscall.SIGKILL) },
			"get":   get,
			"pages": writePages,
			"keep":  keep,
		},
	})
}

// scriptNode is the running node of a script.
type scriptNode struct {
	*exec.Cmd
	welcome, logs process.Output
}

// smallMarket keeps scripts fast: it is the least that the market promises.
var smallMarket = []string{
	"TIDEMARK_SIM_POSITIONS=200", "TIDEMARK_SIM_POOLS=60", "TIDEMARK_SIM_DAYS=3",
	"TIDEMARK_REFRESH_EVERY=200ms",
}

const startTimeout = 30 * time.Second

func startNode(ts *testscript.TestScript, _ bool, args []string) {
	args = append([]string{
		"serve", "--data", ts.MkAbs("data"), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
	}, args...)
	p := &scriptNode{Cmd: exec.Command(lookPath(ts), args...)}
	p.Dir, p.Env = ts.MkAbs("."), append(os.Environ(), smallMarket...)
	p.Stdout, p.Stderr = &p.welcome, &p.logs
	ts.Check(p.Start())
	ts.Defer(func() { p.Process.Kill(); p.Wait() })
	*nodeOf(ts) = p
	waitServed(ts, p)
}

// nodeKey is where a script keeps its running node.
type nodeKey struct{}

func nodeOf(ts *testscript.TestScript) **scriptNode { return ts.Value(nodeKey{}).(**scriptNode) }

func lookPath(ts *testscript.TestScript) string {
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if info, err := os.Stat(dir + "/tidemark"); err == nil && info.Mode().IsRegular() {
			return dir + "/tidemark"
		}
	}
	ts.Fatalf("no tidemark in PATH")
	return ""
}

var addressPattern = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// waitServed waits until every chain is served.
func waitServed(ts *testscript.TestScript, p *scriptNode) {
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		said := p.welcome.String()
		url := addressPattern.FindString(said)
		if url == "" {
			continue
		}

		status, body, err := request(url+"/health", "")
		if err != nil || status != http.StatusOK || strings.Contains(body, `"generation":null`) {
			continue
		}
		ts.Setenv("URL", url)
		issueKey(ts, p)
		return
	}
	ts.Fatalf("not served after %s: %s%s", startTimeout, p.welcome.String(), p.logs.String())
}

// issueKey issues a key of the account that a first start makes.
func issueKey(ts *testscript.TestScript, p *scriptNode) {
	var data string
	for i, arg := range p.Args {
		if arg == "--data" {
			data = ts.MkAbs(p.Args[i+1]) // the last one counts
		}
	}
	request := registry.KeyRequest{Account: registry.Demo}
	answer, err := adminClient(data).do(http.MethodPost, "/keys", request)
	ts.Check(err)
	var issued registry.IssuedKey
	ts.Check(json.Unmarshal(answer, &issued))
	ts.Setenv("KEY", issued.Key)
}

func request(url, key string) (status int, body string, err error) {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}

	if key != "" {
		q.Header.Set("KC-APIKey", key)
	}

	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, string(text), err
}

func endNode(ts *testscript.TestScript, signal syscall.Signal) {
	p := *nodeOf(ts)
	ts.Check(p.Process.Signal(signal))
	err := p.Wait()
	if signal == syscall.SIGTERM && err != nil {
		ts.Fatalf("the node did not stop in order: %s: %s", err, p.logs.String())
	}
}

func get(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: get STATUS PATH [KEY]")
	}
	key := ""
	if len(args) == 3 {
		key = args[2]
	}

	status, body, err := request(ts.Getenv("URL")+args[1], key)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), body)
	if fmt.Sprint(status) != args[0] {
		ts.Fatalf("%s is answered %d %s; want %s", args[1], status, body, args[0])
	}
}

func keep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: keep NAME PATTERN")
	}
	found := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("nothing matches %s in %s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found)
}
