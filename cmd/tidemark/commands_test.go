package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// answerer is an administration that gives one answer and keeps what it was asked.
type answerer struct {
	status int
	answer string
	other  map[string]string // answers to some paths, in place of the one
	asked  []string          // method, path and body
	dir    string            // the data directory it stands in for
}

func startAnswerer(t *testing.T) *answerer {
	t.Helper()
	a := &answerer{dir: t.TempDir()}
	socket, err := net.Listen("unix", filepath.Join(a.dir, "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}

	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.asked = append(a.asked, strings.TrimSpace(fmt.Sprint(r.Method, " ", r.URL, " ", string(body))))
		if answer, ok := a.other[r.URL.Path]; ok {
			io.WriteString(w, answer)
			return
		}
		w.WriteHeader(a.status)
		io.WriteString(w, a.answer)
	}))
	s.Listener.Close()
	s.Listener = socket
	s.Start()
	t.Cleanup(s.Close)
	return a
}

// runCommand returns the exit code of a command line and what it prints.
func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	problems, err := os.Create(filepath.Join(dir, "problems"))
	if err != nil {
		t.Fatal(err)
	}
	defer problems.Close()

	terminalOut, terminalErr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = out, problems
	code = run(args)
	os.Stdout, os.Stderr = terminalOut, terminalErr

	said, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	complained, err := os.ReadFile(problems.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, string(said), string(complained)
}

// Every command that asks a running node sends one request and prints its answer as a
// table, to the letter.
func TestCommandOutput(t *testing.T) {
	node := startAnswerer(t)
	f := func(command, wantAsked, answer, want string) {
		t.Helper()
		node.status, node.answer, node.asked = http.StatusOK, answer, nil
		code, got, problems := runCommand(t, append(strings.Fields(command), "--data", node.dir)...)
		if code != 0 || problems != "" {
			t.Errorf("%s ended with %d: %s", command, code, problems)
		}
		if strings.Join(node.asked, "\n") != wantAsked {
			t.Errorf("%s asked %q; want %q", command, node.asked, wantAsked)
		}
		if want = strings.TrimPrefix(want, "\n"); got != want {
			t.Errorf("%s printed\n%s\nwant\n%s", command, got, want)
		}
	}

	f("usage acme --month 2026-11", "GET /usage/acme?month=2026-11 null", `{"month": "2026-11", "unitsUsed": 3,
		"unitsReserved": 1, "unitsLimit": 3000000, "resetsAt": "2026-12-01T00:00:00Z",
		"routes": [{"path": "/v1/pools", "requests": 2, "units": 3}],
		"days": [{"day": "2026-11-02", "requests": 2, "units": 3}]}`, `
MONTH    UNITS  OF       RESETS
2026-11  3      3000000  2026-12-01T00:00:00Z

1 more units count against the limit, uncharged: requests may have used them when the node was killed.

UNITS  REQUESTS  ROUTE
3      2         /v1/pools

DAY         UNITS  REQUESTS
2026-11-02  3      2
`)
	f("usage acme", "GET /usage/acme?month= null", `{"month": "2026-11", "resetsAt": "2026-12-01T00:00:00Z",
		"unitsLimit": null, "routes": [], "days": []}`, `
MONTH    UNITS  OF        RESETS
2026-11  0      no limit  2026-12-01T00:00:00Z
`)

	account := `{"name": "acme", "plan": "growth", "status": "active", "activeKeys": 2, "createdAt": "2026-11-01"`
	accountTable := `
NAME  PLAN    STATUS  ACTIVE KEYS  CREATED
acme  growth  active  2            2026-11-01
`
	f("accounts create acme --plan growth", `POST /accounts {"name":"acme","plan":"growth"}`, account+"}", accountTable)
	f("accounts list", "GET /accounts null", "["+account+"}]", accountTable)
	f("accounts suspend acme", "POST /accounts/acme/suspend null", account+"}", accountTable)
	f("accounts resume acme", "POST /accounts/acme/resume null", account+"}", accountTable)
	f("accounts set-plan acme scale", `POST /accounts/acme/plan {"plan":"scale"}`, account+"}", accountTable)

	keys := `{"id": "key_1", "prefix": "tm_srv_ab", "kind": "server", "account": "acme", "status": "active",
		"createdAt": "2026-11-01", "label": "nightly"},
		{"id": "key_2", "prefix": "tm_web_cd", "kind": "browser", "account": "acme", "status": "revoked",
		"createdAt": "2026-11-02", "lastUsedAt": "2026-11-03", "allowedOrigins": ["https://a", "https://b"]}`
	f("accounts show acme", "GET /accounts/acme null", account+`, "keys": [`+keys+`],
		"usage": {"month": "2026-11", "unitsUsed": 7, "resetsAt": "2026-12-01"}}`, `
NAME  PLAN    STATUS  ACTIVE KEYS  CREATED
acme  growth  active  2            2026-11-01

MONTH    UNITS  OF        RESETS
2026-11  7      no limit  2026-12-01

ID     PREFIX      KIND     ACCOUNT  STATUS   CREATED     LAST USED   ORIGINS              LABEL
key_1  tm_srv_ab…  server   acme     active   2026-11-01  -           -                    nightly
key_2  tm_web_cd…  browser  acme     revoked  2026-11-02  2026-11-03  https://a https://b  
`)

	f("keys list", "GET /keys?account= null", "[]",
		"ID  PREFIX  KIND  ACCOUNT  STATUS  CREATED  LAST USED  ORIGINS  LABEL\n")
	f("keys list --account acme", "GET /keys?account=acme null", "["+keys+"]", `
ID     PREFIX      KIND     ACCOUNT  STATUS   CREATED     LAST USED   ORIGINS              LABEL
key_1  tm_srv_ab…  server   acme     active   2026-11-01  -           -                    nightly
key_2  tm_web_cd…  browser  acme     revoked  2026-11-02  2026-11-03  https://a https://b  
`)
	f("keys revoke key_1", "POST /keys/key_1/revoke null", `{"id": "key_1", "prefix": "tm_srv_ab", "kind": "server",
		"account": "acme", "status": "revoked", "createdAt": "2026-11-01", "label": "nightly"}`, `
ID     PREFIX      KIND    ACCOUNT  STATUS   CREATED     LAST USED  ORIGINS  LABEL
key_1  tm_srv_ab…  server  acme     revoked  2026-11-01  -          -        nightly
`)
	f("keys issue --account acme --kind browser --origin https://a --origin https://b --label shop",
		`POST /keys {"account":"acme","kind":"browser","origins":["https://a","https://b"],"label":"shop"}`,
		`{"id": "key_3", "key": "tm_web_all", "account": "acme", "kind": "browser",
		"allowedOrigins": ["https://a", "https://b"]}`, `
id       key_3
key      tm_web_all
account  acme
kind     browser
origins  https://a https://b
Keep the key now: only its first characters are stored.
`)
	f("keys issue --account acme", `POST /keys {"account":"acme","kind":"server","origins":null,"label":""}`,
		`{"id": "key_3", "key": "tm_srv_all", "account": "acme", "kind": "server"}`, `
id       key_3
key      tm_srv_all
account  acme
kind     server
Keep the key now: only its first characters are stored.
`)

	chains := `[{"chainId": 1, "name": "Ethereum", "status": "live", "generation": 9, "lastIndexedBlock": 90,
		"chainHeadBlock": 100, "lagBlocks": 10, "lagSeconds": 120},
		{"chainId": 10, "name": "OP", "status": "live", "lagBlocks": 0, "lagSeconds": 0},
		{"chainId": 43114, "name": "Avalanche", "status": "offline", "reason": "taken offline"}]`
	chainTable := `
CHAIN  NAME       STATUS   GENERATION  INDEXED  HEAD  BEHIND                REASON
1      Ethereum   live     9           90       100   10 blocks, 2 minutes  -
10     OP         live     0           0        0     no                    -
43114  Avalanche  offline  0           0        0     unknown               taken offline
`
	f("chains list", "GET /chains null", chains, chainTable)
	f("chains offline 43114", "POST /chains/43114/offline null", chains, chainTable)
	f("chains online 43114", "POST /chains/43114/online null", chains, chainTable)
	f("chains resync 43114 --yes", "POST /chains/43114/resync null", chains, chainTable)

	f("cluster status", "GET /cluster null", `[{"chainId": 1, "name": "Ethereum", "role": "follower",
		"writer": "a", "status": "live", "cut": 12, "lagCuts": 2, "lagMilliseconds": 150,
		"snapshot": {"cut": 10, "bytes": 4096, "madeAt": "2026-11-02T03:04:05Z"}},
		{"chainId": 10, "name": "OP", "role": "writer", "writer": "b", "status": "live", "cut": 7, "lagCuts": 0,
		"lagMilliseconds": 0, "snapshot": null},
		{"chainId": 43114, "name": "Avalanche", "role": "follower", "status": "stopped", "reason": "no writer"}]`, `
CHAIN  NAME       ROLE      WRITER  STATUS   CUT  BEHIND          SNAPSHOT                            REASON
1      Ethereum   follower  a       live     12   2 cuts, 150 ms  cut 10, 4 kB, 2026-11-02T03:04:05Z  -
10     OP         writer    b       live     7    no              none                                -
43114  Avalanche  follower  -       stopped  0    unknown         none                                no writer
`)
	f("cluster status --accounts", "GET /cluster/accounts null", `{"nodes": [{"name": "a"},
		{"name": "b", "silentMilliseconds": 0}], "month": "2026-11", "accounts": [
		{"account": "acme", "unitsLimit": 1000, "requestsPerSecond": 2.26, "nodes": [
		{"node": "a", "unitsBilled": 5, "unitsLeased": 6, "unitsLost": 1, "burstPart": 0.75},
		{"node": "b", "unitsBilled": 8, "unitsLeased": 9}]},
		{"account": "free", "nodes": [{"node": "a"}]}]}`, `
NODE  HEARD
a     this node
b     0 ms ago

ACCOUNT  LIMIT  REQUESTS/S  NODE  BILLED  LEASED  LOST  BURST
acme     1000   2.3         a     5       6       1     75 %
acme     1000   2.3         b     8       9       0     equal
free     none   0.0         a     0       0       0     equal
`)
	f("backup /tmp/b", "POST /backup?dir=%2Ftmp%2Fb null", `{"dir": "/tmp/b"}`, "checkpoint in  /tmp/b\n")

	f("ready", "GET /ready null", `{"ready": true}`, "ready\n")
	f("ready --json", "GET /ready null", `{"ready": true}`, `{"ready": true}`)

	f("chains rebuild 43114", "POST /chains/43114/rebuild null", chains, chainTable)

	f("verify", "GET /chains null", "[]", "CHAIN  BLOCK  COMPARED  DIFFERENT\n")
	f("verify --chain 1 --sample 9", "POST /chains/1/verify?sample=9 null", `{"block": 90, "compared": 50}`, `
CHAIN  BLOCK  COMPARED  DIFFERENT
1      90     50        0
`)
	f("keys list --json", "GET /keys?account= null", `[{"id":"key_1"}]`, "[\n  {\n    \"id\": \"key_1\"\n  }\n]")
}

// A command whose output cannot be written has failed: what config print has written to a full
// disk is no configuration.
func TestUnwrittenOutput(t *testing.T) {
	node := startAnswerer(t)
	node.status, node.answer = http.StatusOK, `{"ready": true}`
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()

	terminal := os.Stdout
	defer func() { os.Stdout = terminal }()
	os.Stdout = full
	data := "--data=" + node.dir
	for _, command := range [][]string{
		{"config", "print"}, {"config", "print", "--json"}, {"config", "check"},
		{"ready", data}, {"ready", "--json", data}, {"version"},
	} {
		if code := run(command); code != exitFailed {
			t.Errorf("%s ended with %d on a full disk; want %d", command, code, exitFailed)
		}
	}
	if err := new(CheckCmd).print(full, nil); err == nil {
		t.Error("check has printed to a full disk")
	}
}

// An empty --data or variable is not given, as for serve.
func TestEmptyData(t *testing.T) {
	t.Chdir(t.TempDir())
	f := func(variable, want string, args ...string) {
		t.Helper()
		t.Setenv("TIDEMARK_DATA", variable)
		if code, _, got := runCommand(t, args...); code != exitFailed || !strings.HasPrefix(got, "tidemark: "+want) {
			t.Errorf("%q with TIDEMARK_DATA=%q ended with %d: %s; want %s", args, variable, code, got, want)
		}
	}

	for _, dir := range []string{"accounts", "market"} {
		if err := os.MkdirAll(filepath.Join("saved", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f("", "cannot reach a node on ./data; start it", "accounts", "list")
	f("", "cannot reach a node on ./data; start it", "accounts", "list", "--data", "")
	f("other", "cannot reach a node on other; start it", "accounts", "list", "--data", "")
	f("other", "cannot reach a node on here; start it", "accounts", "list", "--data", "here")
	f("", "no data in ./data", "check")
	f("", "chain 1 has no archive in ./data", "archive", "export", "spans", "--chain", "1")
	if err := os.MkdirAll(filepath.Join("data", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	f("", "./data is not empty", "restore", "saved")
}

// What a node refuses or answers badly is an error that says so, with an exit code.
func TestRefusedCommands(t *testing.T) {
	node := startAnswerer(t)
	f := func(command string, status int, answer string, wantCode int, want string) {
		t.Helper()
		node.status, node.answer = status, answer
		command = strings.ReplaceAll(command, "DIR", node.dir)
		code, _, got := runCommand(t, append(strings.Fields(command), "--data", node.dir)...)
		if want = strings.ReplaceAll(want, "DIR", node.dir); code != wantCode || !strings.HasPrefix(got, want) {
			t.Errorf("%s ended with %d: %swant %d: %s", command, code, got, wantCode, want)
		}
	}

	f("usage acme", 404, `{"error": "no account acme"}`, 1, "tidemark: no account acme\n")
	f("usage acme", 500, `oh`, 1, "tidemark: the node on DIR answered 500 Internal Server Error\n")
	f("usage acme", 500, `{}`, 1, "tidemark: the node on DIR answered 500 Internal Server Error\n")
	f("usage acme", 200, `oh`, 1, "tidemark: cannot read the answer of the node on DIR: ")
	f("usage acme --json", 200, `oh`, 1, "tidemark: cannot read the answer of the node on DIR: ")

	f("ready", 200, `{"reason": "the node is stopping"}`, 1, "tidemark: the node is stopping\n")
	f("ready", 200, `oh`, 1, "tidemark: cannot read the answer of the node on DIR: ")
	f("ready", 404, `{"error": "no"}`, 1, "tidemark: no\n")

	f("verify --sample=-1", 200, `[]`, 1, "tidemark: --sample is -1; allowed is a whole number from 0 on\n")
	f("check --sample=-1", 200, ``, 1, "tidemark: --sample is -1; allowed is a whole number from 0 on\n")
	f("check --requests 0", 200, ``, 1, "tidemark: --requests is 0; allowed is a whole number from 1 on\n")
	f("check --total-cap=-1", 200, ``, 1, "tidemark: --total-cap is -1; allowed is a whole number from 1 on\n")
	f("check --timeout=-1s", 200, ``, 1, "tidemark: --timeout is -1s; allowed is a duration above 0s, such as 30s\n")
	for _, url := range []string{"127.0.0.1:8080", "localhost:8080", "http://", "unix:api.sock"} {
		f("check --url "+url, 200, ``, 1, "tidemark: --url is \""+url+"\"; allowed is http://HOST:PORT, or https\n")
	}
	f("verify", 500, `{"error": "not now"}`, 2, "tidemark: not now\n")
	f("verify", 200, `oh`, 2, "tidemark: cannot read the answer of the node on DIR: ")
	f("verify --chain 1", 404, `{"error": "no chain 1"}`, 2, "tidemark: no chain 1\n")
	f("verify --chain 1", 200, `oh`, 2, "tidemark: cannot read the answer of the node on DIR for chain 1: ")
	f("verify --chain 1", 200, `{"compared": 5, "different": 2}`, 1, "tidemark: 2 values differ from the contracts\n")
	f("unknown", 200, `{}`, 2, "tidemark: unexpected argument unknown")
	f("restore DIR/missing", 200, ``, 1, "tidemark: DIR/missing is no checkpoint: ")
}

// A chain that cannot be compared keeps verify from no other, and what differs is told.
func TestVerifyGoesOn(t *testing.T) {
	node := startAnswerer(t)
	node.status, node.answer = 409, `{"error": "chain 5 is loading"}`
	node.other = map[string]string{"/chains": `[{"chainId": 5}, {"chainId": 7}]`, "/chains/7/verify": `{"block": 90, "compared": 50}`}
	f := func(wantCode int, want, problem string) {
		t.Helper()
		code, stdout, stderr := runCommand(t, "verify", "--data", node.dir)
		if code != wantCode || !strings.Contains(stdout, want) || stderr != problem {
			t.Errorf("verify ended with %d: %s%swant %d: %s\n%s", code, stdout, stderr, wantCode, want, problem)
		}
	}

	f(exitUnfinished, "7      90     50        0", "tidemark: chain 5 is loading\n")
	node.other["/chains/7/verify"] = `{"block": 90, "compared": 50, "different": 2}`
	f(exitFailed, "7      90     50        2", "tidemark: 2 values differ from the contracts\nchain 5 is loading\n")
}

// A node that breaks the connection off was reached, and the error does not say otherwise.
func TestBrokenConnectionToTheNode(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = c.Read(make([]byte, 1)) // the rest stays unread: the connection is reset
			_ = c.Close()
		}
	}()

	_, err = adminClient(dir).do(http.MethodGet, "/chains", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot ask the node on "+dir) {
		t.Errorf("got %v", err)
	}
}

// Whoever may not open the socket of a node is not told to start another.
func TestUnaskedNode(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		if got := errUnasked("d", err).Error(); got != want {
			t.Errorf("%v is told as %q; want %q", err, got, want)
		}
	}

	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", err)}
	}
	absent := "cannot reach a node on d; start it with tidemark serve --data d"
	forbidden := "cannot reach a node on d: permission denied; run this as the user that the node runs as"
	f(dial(syscall.ECONNREFUSED), absent)
	f(&os.PathError{Op: "open", Path: "d", Err: syscall.ENOENT}, absent)
	f(dial(syscall.EACCES), forbidden)
	f(&os.PathError{Op: "open", Path: "d", Err: syscall.EACCES}, forbidden)
	f(io.ErrUnexpectedEOF, "cannot ask the node on d: unexpected EOF")
}
