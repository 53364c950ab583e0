package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	tenants = 24
	// pipelined is how many requests a client sends before it reads: answers of one
	// connection share its buffers, where they could be mixed up.
	pipelined = 8
)

// TestCanary asks for many tenants at once, while every chain is refreshed five times
// a second. Each tenant has a plan with a quota of its own, each request an id of its
// own, and each question an answer that names it: an owner, a pool, a position, a page.
// Whatever a cache or a buffer mixes up shows in an answer.
func TestCanary(t *testing.T) {
	answers := int64(share(t, 30_000, 1_000_000))
	var plans strings.Builder
	for i := range tenants {
		fmt.Fprintf(&plans, "[[plans]]\nid = \"plan-%d\"\nname = \"P\"\nmonthly-units = %d\n"+
			"requests-per-second = 1000000\nburst = 1000000\nmax-api-keys = 9\n", i, quotaOf(i))
	}
	n := newNode(t, smallMarket+plans.String())
	n.start()
	c := &canary{node: n}
	c.findCanaries()

	var clients sync.WaitGroup
	for i := range tenants {
		name := fmt.Sprintf("tenant-%d", i)
		key := n.customer(name, fmt.Sprintf("plan-%d", i))
		clients.Go(func() { c.askUntil(answers, i, name, key) })
	}
	clients.Wait()

	if c.wrong.Load() > 0 {
		t.Errorf("%d answers are wrong, first: %s", c.wrong.Load(), c.first)
	}
	for i := range tenants {
		name := fmt.Sprintf("tenant-%d", i)
		if used := n.unitsUsed(name); used != c.units[i].Load() {
			t.Errorf("%s was charged %d units; its answers say %d", name, used, c.units[i].Load())
		}
	}
	figure(t, "%d answers to %d tenants during refreshes, %d page cache hits, %d wrong, %d refused",
		c.answers.Load(), tenants, int64(n.counter(`tidemark_edge_page_cache_total{result="hit"}`)),
		c.wrong.Load(), c.refused.Load())
	n.stop()
}

// quotaOf is a tenant's quota: no two are equal, and none is reached.
func quotaOf(tenant int) int { return 1_000_000_000 + tenant }

// canary asks questions whose answers name them.
type canary struct {
	*node
	positions []named // of all chains
	pools     []named

	answers, refused, wrong atomic.Int64
	units                   [tenants]atomic.Int64
	mu                      sync.Mutex
	first                   string
}

// named is a row that questions are about.
type named struct {
	ChainID                   int64
	PositionID, PoolID, Owner string
}

func (c *canary) findCanaries() {
	c.t.Helper()
	key := c.customer("finder", "unlimited")

	for page := 1; page <= 3; page++ {
		var list struct{ Positions, Pools []named }
		for _, path := range []string{"/v1/positions?status=all&minPoolTvl=0&includeRisky=true&sort=nft_id_asc",
			"/v1/pools?includeRisky=true"} {
			sep := "&limit=100&page=" + strconv.Itoa(page)
			_, body, err := get(c.url+path+sep, key)
			if err == nil {
				err = json.Unmarshal([]byte(body), &list)
			}
			if err != nil {
				c.t.Fatal(err)
			}
		}
		c.positions, c.pools = append(c.positions, list.Positions...), append(c.pools, list.Pools...)
	}
	if len(c.positions) < 200 || len(c.pools) < 100 {
		c.t.Fatalf("only %d positions and %d pools", len(c.positions), len(c.pools))
	}
}

// question is a path, and what must stand in its answer: a text that must occur, and
// a field that must have the same value wherever it occurs.
type question struct {
	path, want   string
	field, value string
}

// draw returns a question. Each tenant asks about its own share of the rows, and all
// of them ask for the same pages.
func (c *canary) draw(r *rand.Rand, tenant int, name string) question {
	row := c.positions[(tenant+tenants*r.IntN(1+len(c.positions)/tenants))%len(c.positions)]
	pool := c.pools[(tenant+tenants*r.IntN(1+len(c.pools)/tenants))%len(c.pools)]
	detail := fmt.Sprintf("/v1/positions/%d/swapdex-v4/%s", row.ChainID, row.PositionID)
	identity := fmt.Sprintf(`"positionId":"%s","tokenId":"%s","chainId":%d`, row.PositionID, row.PositionID, row.ChainID)
	const all = "status=all&minPoolTvl=0&includeRisky=true&sort=nft_id_asc" // leaves nothing out

	switch r.IntN(10) {
	case 0:
		return question{detail, identity, "owner", ""}
	case 1:
		return question{detail + "/explain", `"positionId":"` + row.PositionID + `"`, "", ""}
	case 2:
		return question{fmt.Sprintf("/v1/positions?%s&positionId=%s&chainId=%d", all, row.PositionID, row.ChainID),
			identity, "positionId", row.PositionID}
	case 3:
		return question{"/v1/positions?" + all + "&owner=" + row.Owner, "", "owner", row.Owner} // it may have sold
	case 4:
		return question{"/v1/positions?" + all + "&poolId=" + pool.PoolID, "", "poolId", pool.PoolID}
	case 5:
		return question{fmt.Sprintf("/v1/pools/%d/swapdex-v4/%s", pool.ChainID, pool.PoolID),
			`"poolId":"` + pool.PoolID + `"`, "", ""}
	case 6:
		return question{"/v1/pools?includeRisky=true&search=" + pool.PoolID[:60], `"total":1,`, "poolId", pool.PoolID}
	case 7:
		return question{"/v1/usage", `"account":"` + name + `"`, "", ""}
	}
	page, limit := 1+r.IntN(6), 1+r.IntN(9)
	return question{fmt.Sprintf("/v1/positions?%s&page=%d&limit=%d", all, page, limit),
		fmt.Sprintf(`{"positions":[{"rank":%d,`, (page-1)*limit+1), "", ""}
}

func (c *canary) askUntil(answers int64, tenant int, name, key string) {
	r := rand.New(rand.NewPCG(uint64(tenant), 4))
	conn, err := net.Dial("tcp", c.address())
	if err != nil {
		c.note("no connection: %v", err)
		return
	}
	defer conn.Close()

	in := bufio.NewReaderSize(conn, 64<<10)
	var asked [pipelined]question
	for n := 0; c.answers.Add(pipelined) <= answers; n += pipelined {
		var out bytes.Buffer
		for i := range asked {
			asked[i] = c.draw(r, tenant, name)
			fmt.Fprintf(&out, "GET %s HTTP/1.1\r\nHost: x\r\nKC-APIKey: %s\r\nX-Request-Id: t%d-%d\r\n\r\n",
				asked[i].path, key, tenant, n+i)
		}
		conn.SetDeadline(time.Now().Add(askTimeout))
		if _, err := out.WriteTo(conn); err != nil {
			c.note("%v", err)
			return
		}
		for i := range asked {
			if err := c.read(in, &asked[i], tenant, fmt.Sprintf("t%d-%d", tenant, n+i)); err != nil {
				c.note("%s: %v", asked[i].path, err)
				return
			}
		}
	}
	c.answers.Add(-pipelined) // of the last round, which was not asked
}

// read reads the next answer and checks that it is the one to a question.
func (c *canary) read(in *bufio.Reader, q *question, tenant int, id string) error {
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	units, err := strconv.ParseInt(answer.Header.Get("X-Units-Charged"), 10, 64)
	if err != nil {
		return err
	}
	c.units[tenant].Add(units)

	if got := answer.Header.Get("X-Request-Id"); got != id {
		c.note("%s: request %s is answered with id %s", q.path, id, got)
	}
	if got := answer.Header.Get("X-Quota-Limit"); got != strconv.Itoa(quotaOf(tenant)) {
		c.note("%s: tenant %d has the quota %s", q.path, tenant, got)
	}
	switch {
	case answer.StatusCode == 503:
		c.refused.Add(1)
	case answer.StatusCode != 200:
		c.note("%s is answered %d %s", q.path, answer.StatusCode, body)
	default:
		c.checkBody(q, body)
	}
	return nil
}

func (c *canary) checkBody(q *question, body []byte) {
	if !bytes.Contains(body, []byte(q.want)) || !json.Valid(body) {
		c.note("%s: no %s in %.300s", q.path, q.want, body)
	}
	if q.value == "" {
		return
	}

	name := []byte(`"` + q.field + `":"`)
	for rest := body; ; {
		at := bytes.Index(rest, name)
		if at < 0 {
			return
		}
		if rest = rest[at+len(name):]; !bytes.HasPrefix(rest, []byte(q.value+`"`)) {
			c.note("%s: %s is %.80s", q.path, q.field, rest)
			return
		}
	}
}

func (c *canary) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong.Add(1) == 1 {
		c.first = fmt.Sprintf(format, args...)
	}
}
