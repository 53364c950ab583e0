package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/bench/process"
)

const (
	// killFlush is the default metering.flush, which the killed node runs with.
	killFlush = 100 * time.Millisecond
	// lostFlushes is how many flushes of answers a kill may lose: one, its write, and
	// what a busy machine delays.
	lostFlushes = 5
	// answerWithin is the time from the start of the process to its first page.
	answerWithin = 500 * time.Millisecond
	// quotaPerKill makes the quota run out before the end, so that it is tested.
	quotaPerKill = 1500
	// killLoad is the longest time under load: some refreshes of the default 2 s.
	killLoad = 2500 * time.Millisecond
	// starting is the share of kills, one in so many, that come during a start.
	starting = 5
)

// TestKill kills a node with -9 at random moments, under load and a live feed, and
// sometimes while it starts. The next start answers within half a second. No
// generation goes back, and a page of a generation that was served before has the
// same bytes. Charged units are never more than answers and what was in flight,
// never fewer than answers less those of one flush, exactly the answers of an
// account that was quiet for a flush; and no quota is passed.
func TestKill(t *testing.T) {
	kills := share(t, 20, 200)
	quota := int64(quotaPerKill * kills)
	v := &victim{node: newNode(t, fmt.Sprintf("[[plans]]\nid = \"paced\"\nname = \"Paced\"\n"+
		"monthly-units = %d\nrequests-per-second = 1000\nburst = 100\n", quota)),
		seen: map[string][]byte{}, newest: map[string]uint64{}}
	v.start()
	v.reader = v.customer("reader", "unlimited")
	free := &customer{name: "free-rider", key: v.customer("free-rider", "unlimited")}
	bound := &customer{name: "bound", key: v.customer("bound", "paced")}
	quietly := &customer{name: "quiet", key: v.customer("quiet", "growth")}

	var longest time.Duration
	for i := range kills {
		died := v.load(time.Duration(rand.Int64N(int64(killLoad))), quietly, free, bound)
		if i%starting == 0 {
			v.killStarting()
		}
		v.restart()
		v.comparePages()
		v.awaitAdministration()
		for _, c := range []*customer{free, bound} {
			longest = max(longest, c.check(v, died))
		}
		quietly.checkExactly(v)
	}
	v.judge(kills, quota, longest, free, bound, quietly)
}

// victim is a node that is killed again and again, always on the same data.
type victim struct {
	*node
	reader string // key of the account that reads pages

	mu     sync.Mutex
	seen   map[string][]byte // pages by path and generations
	newest map[string]uint64 // generation by chain

	starts, quietStarts []time.Duration // to the first page; while nobody else used the processors

	loading  int // pages that were asked for again, because their records were still loading
	compared int // pages of the same generation, before and after a kill
	differ   int
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

// killedRoutes cost 1, 2, 1, 10 and, where nothing is found, 1 unit too.
var killedRoutes = []string{
	"/v1/positions?limit=1", "/v1/pools?limit=1", "/v1/positions/1/swapdex-v4/7",
	"/v1/positions/1/swapdex-v4/7/charts", "/v1/positions/1/swapdex-v4/999999999",
}

// maxUnits is the most that a request in flight can cost.
const maxUnits = 10

// load has customers ask for a while, then kills the node among it. The first one
// asks only at the beginning, and is quiet for some flushes before the kill.
func (v *victim) load(d time.Duration, quiet *customer, busy ...*customer) (died time.Time) {
	var clients sync.WaitGroup
	for _, c := range busy {
		c.answers, c.lost = nil, 0
		for range 4 {
			clients.Go(func() { c.askUntilDead(v.address()) })
		}
	}
	clients.Go(v.watchPages)
	quiet.answers, quiet.lost = nil, 0
	quiet.askTimes(v, 20)

	time.Sleep(max(d, lostFlushes*killFlush))
	died = time.Now()
	v.kill()
	clients.Wait()
	return died
}

// killStarting starts the node and kills it before or shortly after it serves.
func (v *victim) killStarting() {
	v.launch()
	time.Sleep(time.Duration(rand.Int64N(int64(answerWithin))))
	v.kill()
}

// restart starts the node and notes when it answers the first page.
func (v *victim) restart() {
	v.t.Helper()
	before := process.ReadMachine().Busy - process.Own()
	v.launch()
	v.await("a page", func() bool {
		if v.url == "" && !v.findURL() {
			return false
		}
		status, _, err := get(v.url+"/v1/positions?limit=1", v.reader)
		return err == nil && status == http.StatusOK
	})
	took := time.Since(v.began)
	v.starts = append(v.starts, took)

	others := process.ReadMachine().Busy - process.Own() - before - process.CPU(v.cmd.Process.Pid)
	if float64(others) < quietShare*float64(took) {
		v.quietStarts = append(v.quietStarts, took)
	}
}

func (c *customer) askUntilDead(address string) {
	conn, err := dial(address, c.key)
	if err != nil {
		return
	}
	defer conn.close()
	for i := rand.IntN(len(killedRoutes)); ; i++ {
		if !c.ask(conn, killedRoutes[i%len(killedRoutes)]) {
			return
		}
	}
}

// ask asks once and counts the answer, or what may have been charged without one.
func (c *customer) ask(conn *client, path string) (answered bool) {
	r, err := conn.ask(path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.lost += maxUnits
		return false
	}

	if r.status == http.StatusTooManyRequests {
		c.refused++
	}
	c.answered += r.units
	c.answers = append(c.answers, charge{time.Now(), r.units})
	return true
}

// askTimes asks so often, and every request must be answered.
func (c *customer) askTimes(v *victim, times int) {
	v.t.Helper()
	conn, err := dial(v.address(), c.key)
	if err != nil {
		v.t.Fatal(err)
	}
	defer conn.close()
	for i := range times {
		if !c.ask(conn, killedRoutes[i%len(killedRoutes)]) {
			v.t.Fatal("a request before a kill was not answered")
		}
	}
}

// check compares what the round was charged with its answers, and says how far
// back the answers go that the kill lost.
func (c *customer) check(v *victim, died time.Time) (lost time.Duration) {
	v.t.Helper()
	used := v.unitsUsed(c.name)
	charged, answered := used-c.used, int64(0)
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
	if lost > lostFlushes*killFlush {
		v.t.Errorf("%s: the answers of the last %s are not charged; want at most one flush of %s",
			c.name, lost, killFlush)
	}

	c.used, c.inFlight = used, c.inFlight+c.lost
	return lost
}

// checkExactly compares all that was ever charged with all answers.
func (c *customer) checkExactly(v *victim) {
	v.t.Helper()
	if used := v.unitsUsed(c.name); used != c.answered {
		v.t.Errorf("%s: charged %d units; %d were answered, the last ones %s before the kill",
			c.name, used, c.answered, lostFlushes*killFlush)
	}
}

// watched are the pages that must not change within a generation.
var watched = []string{
	"/v1/positions", "/v1/positions?sort=pnl&status=all&page=3", "/v1/positions?chainId=1&sort=age&limit=100",
	"/v1/positions?chainId=42161&range=in&minValueUsd=10", "/v1/pools", "/v1/pools?chainId=43114&search=e",
	"/v1/positions/1/swapdex-v4/7", "/v1/positions/42161/swapdex-v4/5/explain",
	"/v1/positions/43114/swapdex-v4/3/charts?range=all",
}

// watchPages reads pages until the node dies, and remembers them.
func (v *victim) watchPages() {
	conn, err := dial(v.address(), v.reader)
	if err != nil {
		return
	}
	defer conn.close()
	for i := 0; ; i++ {
		if _, err := v.readPage(conn, watched[i%len(watched)]); err != nil {
			return
		}
	}
}

// readPage reads a page and compares it with what its generation had before.
func (v *victim) readPage(conn *client, path string) (compared bool, err error) {
	r, err := conn.ask(path)
	for ; err == nil && r.status == http.StatusServiceUnavailable &&
		bytes.Contains(r.body, []byte("still loading")); r, err = conn.ask(path) {
		v.loading++
		time.Sleep(pollEvery)
	}
	if err != nil {
		return false, err
	}

	v.mu.Lock()
	defer v.mu.Unlock()
	if r.status != http.StatusOK {
		v.differ++
		v.t.Errorf("%s is answered %d %s", path, r.status, r.body)
		return false, nil
	}
	for part := range strings.SplitSeq(r.generation, ",") {
		chain, text, _ := strings.Cut(part, ":")
		number, _ := strconv.ParseUint(text, 10, 64)
		if number < v.newest[chain] {
			v.t.Errorf("%s: generation %d of chain %s after %d", path, number, chain, v.newest[chain])
		}
		v.newest[chain] = number
	}

	key := r.generation + " " + path
	before, ok := v.seen[key]
	if ok && !bytes.Equal(before, r.body) {
		v.differ++
		v.t.Errorf("%s of generation %s has changed:\n%s\n%s", path, r.generation, before, r.body)
	}
	v.seen[key] = r.body
	return ok, nil
}

// comparePages reads every page after a start. What was seen before the kill stays
// until then.
func (v *victim) comparePages() {
	v.t.Helper()
	conn, err := dial(v.address(), v.reader)
	if err != nil {
		v.t.Fatal(err)
	}
	defer conn.close()

	for _, path := range watched {
		compared, err := v.readPage(conn, path)
		if err != nil {
			v.t.Fatal(err)
		}
		if compared {
			v.compared++
		}
	}
	clear(v.seen)
}

func (v *victim) judge(kills int, quota int64, longest time.Duration, free, bound, quietly *customer) {
	t := v.t
	if bound.answered > quota {
		t.Errorf("%d units were answered; the quota is %d", bound.answered, quota)
	}
	if v.compared < len(watched)*kills/2 {
		t.Errorf("only %d pages could be compared", v.compared)
	}
	slices.Sort(v.starts)
	slices.Sort(v.quietStarts)
	median, most := v.starts[len(v.starts)/2], v.starts[len(v.starts)-1]
	if median > answerWithin {
		t.Errorf("a start needs %s to the first page; cannot exceed %s", median, answerWithin)
	}
	slowest := time.Duration(0)
	if n := len(v.quietStarts); n > 0 {
		slowest = v.quietStarts[n-1]
	}
	if slowest > 2*answerWithin {
		t.Errorf("a start that had the machine for itself needs %s to the first page; cannot exceed %s",
			slowest, 2*answerWithin)
	}

	figure(t, "%d kills -9: first page after %s in the median and %s at most, %s at most of %d starts that had the "+
		"machine for themselves; %d pages compared with their generation before the kill, %d differ, %d were "+
		"still loading; %d units answered and %d in flight, at most the answers of %s lost; %d units of a quiet "+
		"account, exact; of a quota of %d %d answered, %d refused",
		kills, median, most, slowest, len(v.quietStarts), v.compared, v.differ, v.loading, free.answered,
		free.inFlight, longest, quietly.answered, quota, bound.answered, bound.refused)
	v.kill()
	if said, err := v.run("check", "--data", v.dir); err != nil {
		t.Errorf("the data after %d kills: %v: %s", kills, err, said)
	}
}
