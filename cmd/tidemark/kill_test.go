package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"tidemark/storage/registry"
)

// How often TestKillMetering kills: enough to notice a broken promise in a few
// seconds; KILLS=100 for the whole measurement.
const defaultKills = 3

// killFlush is the default metering.flush, which the killed node runs with.
const killFlush = 100 * time.Millisecond

// victim is a node that is killed again and again, always on the same data.
type victim struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	welcome output
	url     string
}

// customer is an account under load, over all kills.
type customer struct {
	name, key string
	mu        sync.Mutex
	answered  int64 // units that answers said were charged, over all rounds
	inFlight  int64 // units of requests that had no answer when a node died
	refused   int64 // 429
	used      int64 // units charged, before the current round

	// Of the current round.
	answers []charge
	lost    int64 // units of requests without an answer
}

// charge is an answer.
type charge struct {
	at    time.Time
	units int64
}

// TestKillMetering kills a node with -9 at random moments under load. Charged
// units are never more than answers plus what was in flight, never fewer than
// answers less those of one flush, and no quota is passed.
func TestKillMetering(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills nodes")
	}
	kills := defaultKills
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	quota := int64(1500 * kills)

	v := newVictim(t, quota)
	v.start()
	free, bound := v.customer("free-rider", "unlimited"), v.customer("bound", "paced")
	var longest time.Duration
	for range kills {
		died := v.load(time.Duration(50+rand.IntN(700))*time.Millisecond, free, bound)
		v.start()
		for _, c := range []*customer{free, bound} {
			if lost := c.check(v, died); lost > longest {
				longest = lost
			}
		}
	}

	v.load(2*time.Second, bound)
	v.start()
	bound.check(v, time.Now())
	if bound.answered > quota {
		t.Errorf("%d units were answered; the quota is %d", bound.answered, quota)
	}

	t.Logf("%d kills: %d units answered, %d in flight; of a quota of %d %d were answered and %d "+
		"refused; the most that a kill lost are the answers of %s", kills, free.answered,
		free.inFlight, quota, bound.answered, bound.refused, longest.Round(time.Millisecond))
	v.kill()
	if findings, err := checkData(v.dir, os.Stderr); err != nil || findings > 0 {
		t.Errorf("the data after %d kills: %d findings, %v", kills, findings, err)
	}
}

func newVictim(t *testing.T, quota int64) *victim {
	v := &victim{t: t, dir: filepath.Join(t.TempDir(), "data")}
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plan := fmt.Sprintf("[[plans]]\nid = \"paced\"\nname = \"Paced\"\nmonthly-units = %d\n"+
		"requests-per-second = 1000\nburst = 100\n", quota)
	if err := os.WriteFile(v.dir+".toml", []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.kill)
	return v
}

// start starts the node and waits until it serves.
func (v *victim) start() {
	v.t.Helper()
	v.welcome = output{}
	v.cmd = exec.Command("tidemark", "serve", "--config", v.dir+".toml", "--data", v.dir,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	v.cmd.Env = append(os.Environ(), smallMarket...)

	var logs output
	v.cmd.Stdout, v.cmd.Stderr = &v.welcome, &logs
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}

	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if v.url = addressPattern.FindString(v.welcome.String()); v.url == "" {
			continue
		}
		if status, _, err := request(v.url+"/health", ""); err == nil && status == http.StatusOK {
			return
		}
	}
	v.t.Fatalf("the node does not serve: %s", logs.String())
}

func (v *victim) kill() {
	if v.cmd != nil {
		v.cmd.Process.Kill()
		v.cmd.Wait()
		v.cmd = nil
	}
}

// ask administers the running node.
func (v *victim) ask(method, path string, body, into any) {
	v.t.Helper()
	answer, err := adminClient(v.dir).do(method, path, body)
	if err == nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *victim) customer(name, plan string) *customer {
	var account registry.AccountView
	v.ask("POST", "/accounts", map[string]string{"name": name, "plan": plan}, &account)
	return &customer{name: name, key: v.issueKey(name)}
}

func (v *victim) issueKey(account string) string {
	v.t.Helper()
	var issued registry.IssuedKey
	v.ask("POST", "/keys", registry.KeyRequest{Account: account}, &issued)
	return issued.Key
}

// load has customers ask for a while, then kills the node among it.
func (v *victim) load(d time.Duration, customers ...*customer) (died time.Time) {
	var clients sync.WaitGroup
	for _, c := range customers {
		c.answers, c.lost = nil, 0
		for range 4 {
			clients.Go(func() { c.askUntilDead(v.url) })
		}
	}
	time.Sleep(d)
	died = time.Now()
	v.kill()
	clients.Wait()
	return died
}

// killedRoutes cost 1, 2 and, where nothing is found, 1 unit too.
var killedRoutes = []string{
	"/v1/positions?limit=1", "/v1/pools?limit=1", "/v1/positions/1/swapdex-v4/999999999",
}

func (c *customer) askUntilDead(url string) {
	client := http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()

	for i := rand.IntN(3); ; i++ {
		units, status, err := c.ask(&client, url+killedRoutes[i%3])
		c.mu.Lock()
		switch {
		case err != nil:
			c.lost += 2
			c.mu.Unlock()
			return
		case status == http.StatusTooManyRequests:
			c.refused++
		}
		c.answered += units
		c.answers = append(c.answers, charge{time.Now(), units})
		c.mu.Unlock()
	}
}

func (c *customer) ask(client *http.Client, url string) (units int64, status int, err error) {
	q, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, 0, err
	}

	q.Header.Set("KC-APIKey", c.key)
	r, err := client.Do(q)
	if err != nil {
		return 0, 0, err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return 0, 0, err
	}

	units, err = strconv.ParseInt(r.Header.Get("X-Units-Charged"), 10, 64)
	return units, r.StatusCode, err
}

// check compares what the round was charged with its answers, and says how
// far back the answers go that the kill lost.
func (c *customer) check(v *victim, died time.Time) (lost time.Duration) {
	v.t.Helper()
	var usage registry.UsageView
	v.ask("GET", "/usage/"+c.name, nil, &usage)
	charged, answered := usage.UnitsUsed-c.used, int64(0)
	for _, a := range c.answers {
		answered += a.units
	}
	if charged > answered+c.lost {
		v.t.Errorf("%s: charged %d units; %d were answered and %d in flight", c.name, charged, answered, c.lost)
	}

	missing := answered - charged
	for i := len(c.answers) - 1; i >= 0 && missing > 0; i-- {
		missing -= c.answers[i].units
		lost = died.Sub(c.answers[i].at)
	}
	// On top of the flush: its own write, and what a busy machine delays.
	if lost > 5*killFlush {
		v.t.Errorf("%s: the answers of the last %s are not charged; want at most one flush of %s",
			c.name, lost, killFlush)
	}

	c.used, c.inFlight = usage.UnitsUsed, c.inFlight+c.lost
	return lost
}
