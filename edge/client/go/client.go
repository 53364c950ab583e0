package tidemark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	defaultAttempts = 4
	defaultMaxWait  = time.Minute
	firstBackoff    = time.Second // doubles with every attempt, plus or minus half

	protocol = "swapdex-v4"
)

// Client calls the API of one node. It is safe for concurrent use, as long as its
// fields are not changed after the first call.
type Client struct {
	URL  string // such as http://127.0.0.1:8080
	Key  string // not needed for the free routes
	HTTP *http.Client

	Attempts int           // how often a call is tried in total
	MaxWait  time.Duration // the longest Retry-After to wait for; beyond it a call fails

	// OnAnswer, if set, gets the status and headers of every answer, before its body is
	// read: what it cost, and its generations, which a query or a stream can begin with.
	OnAnswer func(status int, header http.Header)
}

// New returns a client for the node at address. key is a server key.
func New(address, key string) *Client {
	return &Client{
		URL: strings.TrimSuffix(address, "/"), Key: key, HTTP: &http.Client{CheckRedirect: sameHost},
		Attempts: defaultAttempts, MaxWait: defaultMaxWait,
	}
}

// sameHost has a redirect to another host, or one that leaves TLS, be the answer: net/http
// would send the key there.
func sameHost(next *http.Request, via []*http.Request) error {
	const most = 3
	plain := via[0].URL.Scheme == "https" && next.URL.Scheme != "https"
	if plain || next.URL.Hostname() != via[0].URL.Hostname() || len(via) > most {
		return http.ErrUseLastResponse
	}
	return nil
}

// USD returns a pointer to v, for the minimums of a query: 0 is a minimum too, and
// nil means the default.
func USD(v float64) *float64 { return &v }

// Pips returns a pointer to v, for the fee of a query: 0 is a fee too, and nil means
// any.
func Pips(v int64) *int64 { return &v }

// Positions returns one page of the ranking of positions.
func (c *Client) Positions(ctx context.Context, q PositionsQuery) (*PositionList, error) {
	return get[PositionList](ctx, c, "/v1/positions", q.values())
}

// Position returns one position with its transactions.
func (c *Client) Position(
	ctx context.Context, chainID int64, positionID string,
) (*PositionDetail, error) {
	return get[PositionDetail](ctx, c, detailPath("positions", chainID, positionID, ""), nil)
}

// PositionBatch returns up to 100 positions by their ids, such as 1-77: chain id and
// position id.
func (c *Client) PositionBatch(ctx context.Context, ids ...string) (*PositionBatch, error) {
	return get[PositionBatch](ctx, c, "/v1/positions/batch", idsQuery(ids))
}

// PositionCharts returns the daily series of a position. days is 30d, 60d, 90d,
// 180d or all.
func (c *Client) PositionCharts(
	ctx context.Context, chainID int64, positionID, days string,
) (*PositionCharts, error) {
	path := detailPath("positions", chainID, positionID, "/charts")
	return get[PositionCharts](ctx, c, path, rangeQuery(days))
}

// PositionChartsByHour returns the hourly series of a position over 30 days.
func (c *Client) PositionChartsByHour(
	ctx context.Context, chainID int64, positionID string,
) (*PositionCharts, error) {
	path := detailPath("positions", chainID, positionID, "/charts")
	return get[PositionCharts](ctx, c, path, url.Values{"interval": {"1h"}})
}

// Explain returns how the numbers of a position's row were computed.
func (c *Client) Explain(
	ctx context.Context, chainID int64, positionID string,
) (*Explanation, error) {
	return get[Explanation](ctx, c, detailPath("positions", chainID, positionID, "/explain"), nil)
}

// Pools returns one page of the ranking of pools.
func (c *Client) Pools(ctx context.Context, q PoolsQuery) (*PoolList, error) {
	return get[PoolList](ctx, c, "/v1/pools", q.values())
}

// Pool returns one pool.
func (c *Client) Pool(ctx context.Context, chainID int64, poolID string) (*PoolDetail, error) {
	return get[PoolDetail](ctx, c, detailPath("pools", chainID, poolID, ""), nil)
}

// PoolBatch returns up to 100 pools by their ids, such as 1-0x…: chain id and pool
// id.
func (c *Client) PoolBatch(ctx context.Context, ids ...string) (*PoolBatch, error) {
	return get[PoolBatch](ctx, c, "/v1/pools/batch", idsQuery(ids))
}

// PoolCharts returns the daily series of a pool. days is as for PositionCharts.
func (c *Client) PoolCharts(
	ctx context.Context, chainID int64, poolID, days string,
) (*PoolCharts, error) {
	return get[PoolCharts](ctx, c, detailPath("pools", chainID, poolID, "/charts"), rangeQuery(days))
}

// PoolChartsByHour returns the hourly series of a pool over 30 days.
func (c *Client) PoolChartsByHour(
	ctx context.Context, chainID int64, poolID string,
) (*PoolCharts, error) {
	path := detailPath("pools", chainID, poolID, "/charts")
	return get[PoolCharts](ctx, c, path, url.Values{"interval": {"1h"}})
}

// PoolTicks returns a page of the initialised ticks of a pool, ascending. A page and
// a limit of 0 are the defaults.
func (c *Client) PoolTicks(
	ctx context.Context, chainID int64, poolID string, page, limit int64,
) (*PoolTicks, error) {
	path := detailPath("pools", chainID, poolID, "/ticks")
	return get[PoolTicks](ctx, c, path, pageQuery(page, limit))
}

// PoolEstimate returns what a position would have earned, of a range whose ticks are
// multiples of the pool's tick spacing. days is as for PositionCharts.
func (c *Client) PoolEstimate(
	ctx context.Context, chainID int64, poolID string,
	tickLower, tickUpper int64, valueUsd float64, days string,
) (*PoolEstimate, error) {
	q := url.Values{
		"tickLower": {strconv.FormatInt(tickLower, 10)},
		"tickUpper": {strconv.FormatInt(tickUpper, 10)},
		"valueUsd":  {strconv.FormatFloat(valueUsd, 'g', -1, 64)},
	}
	maps.Copy(q, rangeQuery(days))
	return get[PoolEstimate](ctx, c, detailPath("pools", chainID, poolID, "/estimate"), q)
}

// Owner returns what the positions of an owner come to.
func (c *Client) Owner(ctx context.Context, address string) (*Owner, error) {
	return get[Owner](ctx, c, "/v1/owners/"+url.PathEscape(address), nil)
}

// Tokens returns one page of the tokens, those with the highest TVL first.
func (c *Client) Tokens(ctx context.Context, q TokensQuery) (*TokenList, error) {
	return get[TokenList](ctx, c, "/v1/tokens", q.values())
}

// Token returns one token, and how its price was found.
func (c *Client) Token(ctx context.Context, chainID int64, address string) (*TokenDetail, error) {
	path := "/v1/tokens/" + strconv.FormatInt(chainID, 10) + "/" + url.PathEscape(address)
	return get[TokenDetail](ctx, c, path, nil)
}

// Usage returns what the key's account has used this month. The call is free.
func (c *Client) Usage(ctx context.Context) (*Usage, error) {
	return get[Usage](ctx, c, "/v1/usage", nil)
}

// Chains returns the registered chains.
func (c *Client) Chains(ctx context.Context) ([]Chain, error) {
	return list[Chain](ctx, c, "/v1/chains")
}

// Protocols returns the enabled protocols.
func (c *Client) Protocols(ctx context.Context) ([]Protocol, error) {
	return list[Protocol](ctx, c, "/v1/protocols")
}

// Plans returns the price list.
func (c *Client) Plans(ctx context.Context) (*Plans, error) {
	return get[Plans](ctx, c, "/v1/plans", nil)
}

// Units returns what each route costs.
func (c *Client) Units(ctx context.Context) (*Units, error) {
	return get[Units](ctx, c, "/v1/pricing/units", nil)
}

// Stats returns the number of positions, pools and transactions.
func (c *Client) Stats(ctx context.Context) (*Stats, error) {
	return get[Stats](ctx, c, "/v1/stats", nil)
}

// Health returns the status of the node and its chains. If no chain can be
// served, the call fails with Unavailable.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return get[Health](ctx, c, "/health", nil)
}

func detailPath(kind string, chainID int64, id, below string) string {
	chain := strconv.FormatInt(chainID, 10)
	return "/v1/" + kind + "/" + chain + "/" + protocol + "/" + url.PathEscape(id) + below
}

func rangeQuery(days string) url.Values {
	if days == "" {
		return nil
	}
	return url.Values{"range": {days}}
}

func pageQuery(page, limit int64) url.Values {
	v := url.Values{}
	if page != 0 {
		v.Set("page", strconv.FormatInt(page, 10))
	}
	if limit != 0 {
		v.Set("limit", strconv.FormatInt(limit, 10))
	}
	return v
}

func idsQuery(ids []string) url.Values {
	return url.Values{"ids": {strings.Join(ids, ",")}}
}

func list[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	all, err := get[[]T](ctx, c, path, nil)
	if err != nil {
		return nil, err
	}
	return *all, nil
}

// get calls the API and decodes the answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (*T, error) {
	answer, _, err := getFrom[T](ctx, c, path, query)
	return answer, err
}

// getFrom is get, and also returns the generations of the answer.
func getFrom[T any](
	ctx context.Context, c *Client, path string, query url.Values,
) (_ *T, generation string, err error) {
	var body []byte
	raw, err := c.open(ctx, path, query, func(raw *http.Response) (err error) {
		defer raw.Body.Close()
		body, err = io.ReadAll(raw.Body)
		return err
	})
	if err != nil {
		return nil, "", err
	}

	answer := new(T)
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, "", fmt.Errorf("tidemark: cannot decode the answer to %s: %w", path, err)
	}
	return answer, raw.Header.Get("X-Generation"), nil
}

// open calls the API and retries until there is an answer that accept takes, or a retry
// is pointless. accept reads the answer's body, or leaves that to the caller.
func (c *Client) open(
	ctx context.Context, path string, query url.Values, accept func(*http.Response) error,
) (*http.Response, error) {
	target := c.URL + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}

	for attempt := 1; ; attempt++ {
		answer, err := c.fetch(ctx, target)
		if err == nil {
			err = accept(answer)
		}
		if err == nil {
			return answer, nil
		}

		wait, again := c.retryWait(ctx, err, attempt)
		if !again {
			return nil, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (c *Client) fetch(ctx context.Context, target string) (*http.Response, error) {
	q, err := c.newRequest(ctx, target, "application/json")
	if err != nil {
		return nil, err
	}
	return c.send(q)
}

// send returns the answer to a request if it is a 200.
func (c *Client) send(q *http.Request) (*http.Response, error) {
	answer, err := c.HTTP.Do(q)
	if err != nil {
		return nil, err
	}
	if c.OnAnswer != nil {
		c.OnAnswer(answer.StatusCode, answer.Header)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}

	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return nil, newError(answer, body)
}

// newRequest returns a GET with the client's key.
func (c *Client) newRequest(ctx context.Context, target, accept string) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", accept)
	if c.Key != "" {
		q.Header.Set("KC-APIKey", c.Key)
	}
	return q, nil
}

// retryWait returns how long to wait before the next attempt, and whether there
// is one: after a 429, a 5xx, or no answer at all.
func (c *Client) retryWait(
	ctx context.Context, err error, attempt int,
) (wait time.Duration, again bool) {
	if attempt >= c.Attempts || ctx.Err() != nil {
		return 0, false
	}

	// Wait for Retry-After exactly. If that is too long, fail now.
	if told := (*APIError)(nil); errors.As(err, &told) {
		if told.Status != http.StatusTooManyRequests && told.Status < http.StatusInternalServerError {
			return 0, false
		}
		if told.RetryAfter > 0 {
			return told.RetryAfter, told.RetryAfter <= c.MaxWait
		}
	}

	backoff := firstBackoff << (attempt - 1)
	return backoff/2 + rand.N(backoff), true
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
