package torture

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidemark/storage/registry"
)

// TestRace runs a node that is built with the race detector, under all routes of its
// own OpenAPI document, its operations port and all administration at once. The
// detector reports nothing, and no answer is a 500.
func TestRace(t *testing.T) {
	lasts := share(t, 15*time.Second, time.Minute)
	n := newNode(t, smallMarket+"[limits]\nqueue = \"20ms\"\n")
	n.binary = build(t, "-race")
	n.start()
	r := &racer{node: n, key: n.customer("racer", "unlimited"), other: n.customer("other", "growth")}
	paths := r.documentedPaths()

	end := make(chan struct{})
	time.AfterFunc(lasts, func() { close(end) })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { r.askUntil(end, paths, uint64(i)) })
	}
	all.Go(func() { r.operateUntil(end) })
	for range 2 {
		all.Go(func() { r.administerUntil(end) })
	}
	all.Wait()
	n.stop()

	reports := strings.Count(n.logs.String(), "WARNING: DATA RACE")
	if reports > 0 {
		t.Errorf("the race detector reports: %s", n.logs.String())
	}
	if panics := strings.Count(n.logs.String(), "panic"); panics > 0 || r.broken.Load() > 0 {
		t.Errorf("%d lines about panics, %d answers with 500", panics, r.broken.Load())
	}
	figure(t, "race detector, %s: %d routes, %d answers, %d of operations, %d acts of administration, %d reports",
		lasts, len(paths), r.answers.Load(), r.operations.Load(), r.acts.Load(), reports)
}

type racer struct {
	*node
	key, other                        string
	answers, operations, acts, broken atomic.Int64
}

// documentedPaths are the paths of the OpenAPI document with real ids, and the pages.
func (r *racer) documentedPaths() (paths []string) {
	r.t.Helper()
	var list struct{ Pools []struct{ PoolID string } }
	r.decode("/v1/pools?chainId=1&includeRisky=true", &list)
	var document struct{ Paths map[string]any }
	r.decode("/openapi.json", &document)
	ids := strings.NewReplacer("{chainId}", "1", "{protocol}", "swapdex-v4", "{positionId}", "7",
		"{poolId}", list.Pools[0].PoolID, "{address}", "0x00000000000000000000000000000000000000aa")

	for path := range document.Paths {
		if path = ids.Replace(path); strings.Contains(path, "{") {
			r.t.Fatalf("no id for %s", path)
		}
		paths = append(paths, path)
	}
	if len(paths) < 15 {
		r.t.Fatalf("the document has only %d paths", len(paths))
	}
	return append(paths, "/", "/ui", "/docs", "/docs/reference", "/nothing")
}

func (r *racer) decode(path string, into any) {
	r.t.Helper()
	status, body, err := get(r.url+path, r.key)
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), into)
	}
	if err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
}

// askUntil asks documented paths and the usual mix, with both keys.
func (r *racer) askUntil(end <-chan struct{}, paths []string, seed uint64) {
	random, m := rand.New(rand.NewPCG(seed, 2)), mix{}
	m.filters.Store(int64(seed) << 20)
	c, err := dial(r.address(), r.key)
	for err == nil {
		select {
		case <-end:
			c.close()
			return
		default:
		}

		path := m.draw(random)
		if random.IntN(2) == 0 {
			path = paths[random.IntN(len(paths))]
		}
		c.key = []string{r.key, r.key, r.other, "nonsense"}[random.IntN(4)]
		var a reply
		if a, err = c.ask(path); err != nil {
			break
		}
		r.answers.Add(1)
		if a.status >= 500 && a.status != 503 {
			r.broken.Add(1)
		}
		if a.closed {
			c.close()
			c, err = dial(r.address(), r.key)
		}
	}
	r.t.Errorf("a client ended: %v", err)
}

// operateUntil reads the operations port and has the configuration loaded again.
func (r *racer) operateUntil(end <-chan struct{}) {
	paths := []string{"/metrics", "/ready", "/live", "/debug/pprof/", "/debug/pprof/heap?gc=1",
		"/debug/pprof/goroutine?debug=1", "/debug/pprof/profile?seconds=1", "/debug/pprof/cmdline"}
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		case <-time.After(50 * time.Millisecond):
		}

		if _, _, err := get(r.ops+paths[i%len(paths)], ""); err != nil {
			r.t.Error(err)
		}
		r.operations.Add(1)
		if i%10 == 0 {
			r.signal(syscall.SIGHUP)
		}
	}
}

// administerUntil does every act of administration, again and again. Two at once
// may be in each other's way, so that an act may be refused.
func (r *racer) administerUntil(end <-chan struct{}) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 3))
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		default:
		}

		chain := fmt.Sprint(chains[1+random.IntN(2)].id)
		name := fmt.Sprintf("account-%d-%d", random.Uint32(), i)
		var issued registry.IssuedKey
		r.act("POST", "/accounts", map[string]string{"name": name, "plan": "growth"}, nil)
		r.act("POST", "/keys", registry.KeyRequest{
			Account: name, Kind: "browser", Origins: []string{"https://app.example.com"},
		}, &issued)
		r.act("POST", "/keys/"+issued.ID+"/revoke", nil, nil)
		r.act("POST", "/accounts/"+name+"/plan", map[string]string{"plan": "scale"}, nil)
		r.act("POST", "/accounts/other/suspend", nil, nil)
		r.act("POST", "/accounts/other/resume", nil, nil)
		for _, path := range []string{"/accounts", "/accounts/" + name, "/keys", "/keys?account=" + name,
			"/usage/racer", "/chains"} {
			r.act("GET", path, nil, nil)
		}

		r.act("POST", "/chains/"+chain+"/offline", nil, nil)
		r.act("POST", "/chains/"+chain+"/online", nil, nil)
		if i%20 == 5 {
			r.act("POST", "/chains/"+chain+"/resync", nil, nil)
			r.act("POST", "/chains/1/verify?sample=5", nil, nil)
			dir := filepath.Join(r.t.TempDir(), "backup")
			r.act("POST", "/backup?dir="+dir, nil, nil)
			os.RemoveAll(dir)
		}
	}
}

func (r *racer) act(method, path string, body, into any) {
	if err := r.administer(method, path, body, into); err != nil && !strings.Contains(err.Error(), "is answered") {
		r.t.Errorf("%s %s: %v", method, path, err)
	}
	r.acts.Add(1)
}
