package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// orders are what a node was told to do with its chains, in their order.
type orders struct {
	testControl
	list []string
	err  error // of every backup
}

func (o *orders) SetOffline(id market.ChainID, offline bool) error {
	o.list = append(o.list, fmt.Sprint("offline ", offline, " ", id))
	return nil
}

func (o *orders) Rebuild(id market.ChainID) error {
	o.list = append(o.list, fmt.Sprint("rebuild ", id))
	return nil
}

func (o *orders) Resync(id market.ChainID) error {
	o.list = append(o.list, fmt.Sprint("resync ", id))
	return nil
}

func (o *orders) Backup(string) error { return o.err }

// answer returns the status and the body of an answer.
func (s *Server) answer(method, path string) string {
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return fmt.Sprintf("%d %s", w.Code, w.Body.String())
}

// Whoever filters the log by a chain finds its orders too.
func TestLoggedChainIsANumber(t *testing.T) {
	var log strings.Builder
	s := &Server{Config: Config{Log: slog.New(slog.NewJSONHandler(&log, nil))}}
	r := httptest.NewRequest("POST", "/chains/42161/online", nil)
	r.SetPathValue("id", "42161")
	s.logAct("POST /chains/{id}/online", r, nil)
	if !strings.Contains(log.String(), `"chain":42161}`) {
		t.Errorf("the log has %s", log.String())
	}
}

// Each order of an operator reaches the chain that it names, is answered with the chains
// and is a line of the log.
func TestOrders(t *testing.T) {
	o := &orders{}
	c := newServer(t, &o.testControl).Config
	c.Control = o
	s := New(c)
	chains := s.answer("GET", "/chains")

	f := func(order, done, says string) {
		t.Helper()
		o.list = nil
		o.log.Reset()
		if got := s.answer("POST", "/chains/42161/"+order); got != chains {
			t.Errorf("%s is answered %s; want the chains, %s", order, got, chains)
		}
		if len(o.list) != 1 || o.list[0] != done {
			t.Errorf("%s: the node is told %q; want %q", order, o.list, done)
		}
		if log := o.log.String(); !strings.Contains(log, says) || !strings.Contains(log, "chain=42161") {
			t.Errorf("%s: the log has %q; want %q of chain 42161", order, log, says)
		}
	}

	f("offline", "offline true 42161", "chain taken offline")
	f("online", "offline false 42161", "chain taken online")
	f("rebuild", "rebuild 42161", "chain dropped, to be built again from its archive")
	f("resync", "resync 42161", "chain dropped, to be indexed from its start")

	o.log.Reset()
	if got := s.answer("POST", "/chains/1/verify?sample=2147483647"); !strings.HasPrefix(got, "200 ") {
		t.Errorf("the largest sample is answered %s", got)
	}
	if !strings.Contains(o.log.String(), `msg="chain compared with its contracts" chain=1 compared=9 different=0`) {
		t.Errorf("the log of a comparison has %q", o.log.String())
	}
	if got := s.answer("POST", "/chains/1/verify?sample=2147483648"); !strings.HasPrefix(got, "400 ") {
		t.Errorf("a larger sample is answered %s; want 400", got)
	}
}

// A backup that failed is an error, no line says that it was written, and its directory is
// free for the next try.
func TestFailedBackup(t *testing.T) {
	o := &orders{err: errors.New("the disk is gone")}
	c := newServer(t, &o.testControl).Config
	c.Control = o

	dir := filepath.Join(t.TempDir(), "saved")
	if got := New(c).answer("POST", "/backup?dir="+dir); got != "500 {\"error\":\"the disk is gone\"}\n" {
		t.Errorf("a failed backup is answered %s", got)
	}
	if strings.Contains(o.log.String(), "backup written") {
		t.Errorf("the log has %s", o.log.String())
	}

	o.err = nil
	if got := New(c).answer("POST", "/backup?dir="+dir); !strings.HasPrefix(got, "200 ") {
		t.Errorf("the next try is answered %s", got)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of a backup: %v, %v; want one that others cannot enter", info, err)
	}
}

// `chains list` shows what is known of a chain: nothing before its actor has started, no
// lag before the head was seen, and no generation before a page is published.
func TestChainViews(t *testing.T) {
	s := newServer(t, new(testControl))
	f := func(want string) {
		t.Helper()
		other := `{"chainId":42161,"name":"Arbitrum One","status":"down","reason":"no ranking has been published yet",` +
			`"generation":0,"lastIndexedBlock":0,"chainHeadBlock":0,"lagBlocks":null,"lagSeconds":null,"etaSeconds":null}`
		want = `200 [{"chainId":1,"name":"Ethereum","status":"down","reason":"no ranking has been published yet",` +
			want + "}," + other + "]\n"
		if got := s.answer("GET", "/chains"); got != want {
			t.Errorf("the chains are %s; want %s", got, want)
		}
	}

	f(`"generation":0,"lastIndexedBlock":0,"chainHeadBlock":0,"lagBlocks":null,"lagSeconds":null,"etaSeconds":null`)
	status := rankings.ChainStatus{LastIndexed: market.Head{Number: 90, Time: 1000}, ETASeconds: 77}
	s.Board.SetStatus(1, status)
	f(`"generation":0,"lastIndexedBlock":90,"chainHeadBlock":0,"lagBlocks":null,"lagSeconds":null,"etaSeconds":77`)
	status.ChainHead = market.Head{Number: 100, Time: 1024}
	s.Board.SetStatus(1, status)
	f(`"generation":0,"lastIndexedBlock":90,"chainHeadBlock":100,"lagBlocks":10,"lagSeconds":24,"etaSeconds":77`)
	s.Board.Publish(&rankings.View{State: &market.State{Chain: 1}, Generation: 6})
	f(`"generation":6,"lastIndexedBlock":90,"chainHeadBlock":100,"lagBlocks":10,"lagSeconds":24,"etaSeconds":77`)
}

// `cluster status` shows what the node knows of each chain; without a writer it does not
// know how far it is behind. A node on its own says so.
func TestClusterViews(t *testing.T) {
	s := newServer(t, new(testControl))
	if got := s.answer("GET", "/cluster"); got !=
		"400 {\"error\":\"this node is in no cluster; cluster.nats is empty\"}\n" {
		t.Errorf("a node on its own answers %s", got)
	}

	member := rankings.Membership{}
	s.Membership = func(id market.ChainID) (rankings.Membership, bool) { return member, id == 1 }
	s.Chains = s.Chains[:1]
	f := func(want string) {
		t.Helper()
		want = "200 [" + `{"chainId":1,"name":"Ethereum",` + want + "}]\n"
		if got := s.answer("GET", "/cluster"); got != want {
			t.Errorf("the cluster is %s; want %s", got, want)
		}
	}

	down := `"status":"down","reason":"no ranking has been published yet",`
	f(`"role":"","writer":null,` + down + `"cut":0,"lagCuts":null,"lagMilliseconds":null,"snapshot":null`)
	s.Board.SetStatus(1, rankings.ChainStatus{Role: rankings.Follower})
	member = rankings.Membership{Cut: 40, LagCuts: 3, LagMillis: 1500}
	f(`"role":"follower","writer":null,` + down + `"cut":40,"lagCuts":null,"lagMilliseconds":null,"snapshot":null`)
	member.Writer = "a"
	f(`"role":"follower","writer":"a",` + down + `"cut":40,"lagCuts":3,"lagMilliseconds":1500,"snapshot":null`)
	member.Snapshot = rankings.ChainSnapshot{Cut: 32, Bytes: 12345, MadeAt: 1_700_000_000_123}
	f(`"role":"follower","writer":"a",` + down + `"cut":40,"lagCuts":3,"lagMilliseconds":1500,` +
		`"snapshot":{"cut":32,"bytes":12345,"madeAt":"2023-11-14T22:13:20.123Z"}`)
}

// `cluster status --accounts` shows what nodes have of the limits, or why that is not known.
// A node on its own says so.
func TestSharing(t *testing.T) {
	s := newServer(t, new(testControl))
	f := func(want string) {
		t.Helper()
		if got := s.answer("GET", "/cluster/accounts"); got != want+"\n" {
			t.Errorf("got %s; want %s", got, want)
		}
	}

	f(`400 {"error":"this node is in no cluster; cluster.nats is empty"}`)
	s.Sharing = func(context.Context) (*SharingView, error) {
		return &SharingView{Nodes: []NodeView{{Name: "a"}}, Month: "2026-11", Accounts: []AccountShareView{}}, nil
	}
	f(`200 {"nodes":[{"name":"a","silentMilliseconds":null}],"month":"2026-11","accounts":[]}`)
	s.Sharing = func(context.Context) (*SharingView, error) { return nil, errors.New("no answer") }
	f(`500 {"error":"no answer"}`)
}

// A node is ready when nothing keeps it from serving.
func TestReady(t *testing.T) {
	s := newServer(t, new(testControl))
	var why error
	s.Ready = func() error { return why }
	if got := s.answer("GET", "/ready"); got != "200 {\"ready\":true}\n" {
		t.Errorf("a node that is ready answers %s", got)
	}
	why = errors.New("chain 1 is loading")
	if got := s.answer("GET", "/ready"); got != "200 {\"ready\":false,\"reason\":\"chain 1 is loading\"}\n" {
		t.Errorf("a node that is not ready answers %s", got)
	}
}

// A server that could not listen names the socket, and can be stopped all the same.
func TestListenNowhere(t *testing.T) {
	s := newServer(t, new(testControl))
	work := t.TempDir()
	t.Chdir(work)
	dir := filepath.Join(t.TempDir(), "gone")
	if err := s.Listen(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, SocketName)) {
		t.Errorf("Listen = %v; want an error that names the socket", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("Stop = %v", err)
	}

	// The directory is in the way of the socket: nothing is left of the attempt.
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, SocketName, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(dir); err == nil {
		t.Error("Listen replaces a directory")
	}
	for path, want := range map[string]int{dir: 1, work: 0} {
		if entries, err := os.ReadDir(path); err != nil || len(entries) != want {
			t.Errorf("left behind in %s: %v, %v", path, entries, err)
		}
	}
}

// A process that may open no more files cannot listen, and says so, in a short directory
// and in one whose path is too long for a socket's address.
func TestListenWithoutFiles(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long/", 30))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := newServer(t, new(testControl))
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		err := s.Listen(dir)
		if back := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); back != nil {
			t.Fatal(back)
		}
		if err == nil || !strings.HasSuffix(err.Error(), "too many open files") {
			t.Errorf("Listen = %v; want too many open files", err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
}

// A long path of the data directory costs no open file, however often it is dialled.
func TestDialLeavesNothingOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("the system does not list open files")
		}
		for _, e := range entries {
			if name, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil &&
				strings.HasPrefix(name, dir) {
				n++
			}
		}
		return n
	}

	for range 3 {
		if _, err := Dial(t.Context(), dir); err == nil {
			t.Fatal("there is nothing to dial")
		}
		l, err := listenPrivately(dir)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if n := open(); n != 0 {
		t.Errorf("%d files of the directory are open; want none", n)
	}
}
