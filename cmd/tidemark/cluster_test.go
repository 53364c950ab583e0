package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/actors/cluster/burst"
	"tidemark/actors/cluster/natstest"
	"tidemark/actors/cluster/quota"
	"tidemark/edge/admin"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// settleNew settles the identity of a new node that starts so many seconds after the
// first one.
func settleNew(t *testing.T, agree agreement, after int64, change func(*Config)) (*loaded, error) {
	t.Helper()
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	l := &loaded{Config: defaultConfig()}
	change(&l.Config)
	start := time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC).Add(time.Duration(after) * time.Second)
	err = l.settleIdentity(store, agree, start)
	if err != nil && len(store.Identity()) > 0 {
		t.Errorf("a node that was refused has the identity %v", store.Identity())
	}
	return l, err
}

// roleOf returns what a node does for chain 1.
func (n *instance) roleOf() string {
	_, body, err := request(n.url+"/health", "")
	var health struct{ Chains []struct{ Role string } }
	if err != nil || json.Unmarshal([]byte(body), &health) != nil || len(health.Chains) == 0 {
		return ""
	}
	return health.Chains[0].Role
}

// tellsOf reports whether the cluster's status has the role, the writer and a snapshot of
// chain 1, and /health the same.
func (n *instance) tellsOf(role string) bool {
	n.t.Helper()
	said, err := exec.Command("tidemark", "cluster", "status", "--json", "--data", n.dir).Output()
	if err != nil {
		n.t.Fatal(err)
	}

	var chains []admin.ClusterView
	if err := json.Unmarshal(said, &chains); err != nil {
		n.t.Fatal(err)
	}
	_, health, err := request(n.url+"/health", "")
	if err != nil {
		n.t.Fatal(err)
	}

	c := &chains[0]
	return c.Role == role && c.Writer != nil && *c.Writer == "a" &&
		c.Cut > 0 && *c.LagCuts == 0 && c.Snapshot != nil &&
		strings.Contains(health, fmt.Sprintf(`"snapshot":{"cut":%d,"bytes":%d,`, c.Snapshot.Cut, c.Snapshot.Bytes))
}

// generationOf asks for a page, and returns its body and its generation.
func (n *instance) generationOf(path string) (body, generation string) {
	n.t.Helper()
	q, err := http.NewRequest("GET", n.url+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	q.Header.Set("KC-APIKey", n.key)

	r, err := http.DefaultClient.Do(q)
	if err != nil {
		n.t.Fatal(err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return fmt.Sprint(r.StatusCode, string(all)), r.Header.Get("X-Generation")
}

// sharedPages are what both nodes are asked for.
var sharedPages = []string{
	"/v1/positions?chainId=1&limit=100", "/v1/positions?chainId=1&sort=pnl&status=all&page=2",
	"/v1/pools?chainId=1&limit=100", "/v1/positions?limit=50",
}

// answersAlike waits until the nodes answer with the same generation, and compares what
// they say then. It returns the generation.
func answersAlike(a, b *instance) (last string) {
	a.t.Helper()
	for _, path := range sharedPages {
		var one, two string
		a.await("one generation on both nodes", func() bool {
			var first, second, again string

			one, first = a.generationOf(path)
			two, second = b.generationOf(path)
			one, again = a.generationOf(path)
			last = first
			return first != "" && first == second && first == again && one == two
		})
	}
	return last
}

// memberOf is the environment of a node of a cluster.
func memberOf(servers *natstest.Servers, name string) []string {
	return []string{"TIDEMARK_CLUSTER_NATS=" + servers.URLs()[0], "TIDEMARK_CLUSTER_NAME=" + name}
}

// walksOver reads all pages of a pinned walk, from one node after the other, while
// generations follow. No row may be there twice or be missing.
func walksOver(t *testing.T, key string, nodes ...*instance) {
	t.Helper()
	named, seen, total := "pin", map[string]bool{}, 0
	for page := 1; ; page++ {
		n := nodes[page%len(nodes)]
		asked := &instance{t: t, url: n.url, key: key}
		answer, generation := asked.generationOf(fmt.Sprintf(
			"/v1/positions?chainId=42161&status=all&limit=3&page=%d&generation=%s", page, named))
		if named == "pin" {
			named = generation
			time.Sleep(3 * time.Second) // the other node must have been told by then
		}
		text, ok := strings.CutPrefix(answer, "200")
		var body struct {
			Positions  []struct{ PositionID string }
			Pagination struct{ Total int }
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil || !ok || generation != named {
			t.Fatalf("page %d of a walk on %s is of %s: %.100s", page, named, generation, answer)
		}

		for _, row := range body.Positions {
			if seen[row.PositionID] {
				t.Errorf("page %d has position %s again", page, row.PositionID)
			}
			seen[row.PositionID] = true
		}
		if total = body.Pagination.Total; len(body.Positions) == 0 || len(seen) >= total {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(seen) != total || total < 30 {
		t.Errorf("a walk over both nodes has %d of %d rows", len(seen), total)
	}
}

// Two nodes of a cluster answer with the same bytes, and share their keys. After the writer is killed the other
// one goes on.
func TestClusterOfTwo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes")
	}
	t.Parallel() // it waits for nodes
	servers := natstest.Start(t, 1, false)
	join := func(name string) *instance {
		t.Helper()
		return startInstanceIn(t, memberOf(servers, name), "--insecure-cluster")
	}

	a := join("a")
	a.await("a writer", func() bool { return a.roleOf() == "writer" })
	b := join("b")
	b.await("a follower", func() bool { return b.roleOf() == "follower" })
	before := answersAlike(a, b)
	for name, n := range map[string]*instance{"writer": a, "follower": b} {
		n.await("a snapshot in the status of the "+name, func() bool { return n.tellsOf(name) })
	}

	walksOver(t, a.key, a, b)

	// Each node tells what both have of an account.
	b.await("the accounts of both nodes", func() bool {
		request(a.url+sharedPages[0], a.key)
		request(b.url+sharedPages[0], a.key)
		said, err := exec.Command("tidemark", "cluster", "status", "--accounts", "--data", b.dir).CombinedOutput()
		if err != nil {
			t.Fatalf("cluster status --accounts: %v, %s", err, said)
		}
		return len(regexp.MustCompile(`demo +none +\S+ +[ab] +[1-9]`).FindAll(said, -1)) == 2
	})

	// A key works on all nodes, and one that any node revokes works on none.
	answers := func(n *instance, key string, want int) {
		t.Helper()
		n.await(fmt.Sprint("a ", want), func() bool {
			status, _, err := request(n.url+sharedPages[0], key)
			return err == nil && status == want
		})
	}
	answers(a, b.key, 200)
	answers(b, a.key, 200)
	out, err := exec.Command("tidemark", "keys", "revoke", "key_1", "--data", b.dir).CombinedOutput()
	if err != nil {
		t.Fatalf("keys revoke: %v, %s", err, out)
	}
	answers(a, a.key, 401)
	answers(a, b.key, 200)

	a.signal(syscall.SIGKILL)
	b.await("the next writer", func() bool { return b.roleOf() == "writer" })
	b.await("the next generation", func() bool {
		_, now := b.generationOf(sharedPages[0])
		return now != "" && now != before
	})
}

// A node that is started while its NATS servers are down serves what its data has, flagged
// stale, writes nothing and changes no account. It joins when they are back. One that
// has nothing of a cluster is refused.
func TestStartWithoutServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes")
	}
	t.Parallel() // it waits for servers
	servers := natstest.Start(t, 1, false)
	a := startInstanceIn(t, memberOf(servers, "a"), "--insecure-cluster")
	a.await("a generation", func() bool { return a.roleOf() == "writer" })
	a.await("that it is ready", func() bool { return exec.Command("tidemark", "ready", "--data", a.dir).Run() == nil })
	a.signal(syscall.SIGTERM)
	a.cmd.Wait()
	servers.Stop(0)

	b := &instance{t: t, dir: a.dir, key: a.key}
	b.env = append(a.env, "TIDEMARK_LIMITS_FRESHNESS=2s") // a page is stale soon
	b.serve("--insecure-cluster")
	var before string
	b.await("the generation that it had", func() bool {
		_, before = b.generationOf(sharedPages[0])
		return before != ""
	})
	b.await("that it is ready", func() bool { return exec.Command("tidemark", "ready", "--data", a.dir).Run() == nil })
	for end := time.Now().Add(2 * startTimeout); ; time.Sleep(100 * time.Millisecond) {
		body, now := b.generationOf(sharedPages[0])
		if now != before {
			t.Fatalf("without the servers there is generation %s after %s", now, before)
		}
		if strings.Contains(body, `"stale":true`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("without the servers no page is stale: %s", body)
		}
	}
	if role := b.roleOf(); role != "follower" {
		t.Errorf("without the servers the node is a %s", role)
	}
	out, err := exec.Command("tidemark", "accounts", "create", "late", "--plan", "free", "--data", b.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "NATS servers") {
		t.Errorf("without the servers an account was made: %v, %s", err, out)
	}

	first := exec.Command("tidemark", "serve", "--insecure-cluster", "--data", t.TempDir(),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	first.Env = append(os.Environ(), a.env...)
	said, err := first.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "at its first start") {
		t.Errorf("a first start without the servers: %v, %s", err, said)
	}

	servers.Again(t, 0)
	b.await("that it writes", func() bool { return b.roleOf() == "writer" })
	b.await("the next generation", func() bool {
		body, now := b.generationOf(sharedPages[0])
		return now != "" && now != before && !strings.Contains(body, `"stale":true`)
	})
	if out, err := exec.Command("tidemark", "accounts", "create", "late", "--plan", "free", "--data", b.dir).CombinedOutput(); err != nil {
		t.Errorf("after it has joined: %v, %s", err, out)
	}
}

// The status of accounts has what each node has billed and leased, and its part of a burst
// limit.
func TestSharingView(t *testing.T) {
	terms := accounts.NewTerms(&accounts.Plan{ID: "p", RequestsPerSecond: 5, Burst: 10, MonthlyUnits: 900}, false)
	bursts := burst.Status{
		Nodes: []burst.Node{{Name: "a"}, {Name: "b", Silent: 400 * time.Millisecond}},
		Accounts: []burst.Part{{
			Cell: accounts.NewCell(2, "two", 0, terms), Needed: 2.5, Parts: map[string]float64{"a": 0.75, "b": 0.25},
		}},
	}
	usages := []quota.Usage{
		{Account: 1, Limit: 500, Nodes: map[string]quota.NodeUsage{"b": {Billed: 7, Leased: 50, Lost: 3}}},
		{Account: 9, Nodes: map[string]quota.NodeUsage{"a": {Billed: 1}}},
	}
	got, err := json.Marshal(viewSharing(bursts, usages, func(id uint64) string {
		return map[uint64]string{1: "one", 2: "two"}[id]
	}))

	want := `{"nodes":[{"name":"a","silentMilliseconds":null},{"name":"b","silentMilliseconds":400}],"month":"",` +
		`"accounts":[{"account":"one","unitsLimit":500,"requestsPerSecond":0,"nodes":[` +
		`{"node":"b","unitsBilled":7,"unitsLeased":50,"unitsLost":3,"burstPart":null}]},` +
		`{"account":"two","unitsLimit":900,"requestsPerSecond":2.5,"nodes":[` +
		`{"node":"a","unitsBilled":0,"unitsLeased":0,"burstPart":0.75},` +
		`{"node":"b","unitsBilled":0,"unitsLeased":0,"burstPart":0.25}]},` +
		`{"account":"unknown","unitsLimit":null,"requestsPerSecond":0,"nodes":[` +
		`{"node":"a","unitsBilled":1,"unitsLeased":0,"burstPart":null}]}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
