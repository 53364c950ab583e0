package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The keys that answers have.
var (
	positionFields = strings.Fields(`rank positionId tokenId chainId protocol owner poolId token0 token1
		tickLower tickUpper currentTick tickSpacing fee liquidity isActive amounts metrics poolStats
		pricing asOfBlock`)
	poolFields = strings.Fields(`poolId chainId protocol token0 token1 fee isDynamicFee tickSpacing
		currentTick sqrtPriceX96 liquidity hooks createdAtTimestamp metrics pricing positionsCount
		holdersCount asOfBlock`)
	chartFields = strings.Fields(`range poolPrice poolOverview liquidityDistribution`)
)

// sortMetrics are the metrics that orders go by, descending; an order that is
// not here is by id or by time.
var sortMetrics = map[string]string{
	"apr": "apr", "fee_apr": "feeApr", "roi": "roi", "pnl": "pnlUsd",
	"underlying_value": "underlyingValueUsd", "tvl": "tvlUsd", "volume": "volumeUsd24h",
	"fees": "feesUsd24h",
}

// fields are an object's, by key.
type fields map[string]json.RawMessage

func (f fields) check(wanted []string) error {
	for _, name := range wanted {
		if _, ok := f[name]; !ok {
			return fmt.Errorf("%q is missing", name)
		}
	}
	return nil
}

// metric is nil when it is unknown.
func (f fields) metric(name string) *float64 {
	var metrics map[string]any
	if json.Unmarshal(f["metrics"], &metrics) != nil {
		return nil
	}
	if x, ok := metrics[name].(float64); ok {
		return &x
	}
	return nil
}

// checkAnswer looks at one complete answer: that it is JSON with the keys it
// must have, and that ranks and order of a list are right.
func checkAnswer(status int, target string, body []byte) error {
	route, query, _ := strings.Cut(target, "?")
	body, err := unpack(body)
	if err != nil {
		return err
	}
	var has fields
	err = json.Unmarshal(body, &has)
	switch {
	case status != 200 && len(has["error"]) <= len(`""`):
		return fmt.Errorf("a %d without an error: %.100q", status, body)
	case !json.Valid(body):
		return fmt.Errorf("not JSON: %w: %.100q", err, body)
	case status != 200:
		return nil
	}

	switch depth := strings.Count(route, "/"); {
	case route == "/v1/positions":
		return checkList(has, "positions", positionFields, "apr", query)
	case route == "/v1/pools":
		return checkList(has, "pools", append(poolFields, "rank"), "tvl", query)
	case depth == 5 && strings.HasPrefix(route, "/v1/positions/"):
		return has.check(append(positionFields, "transactions"))
	case depth == 5 && strings.HasPrefix(route, "/v1/pools/"):
		return has.check(poolFields)
	case depth == 6 && strings.HasSuffix(route, "/charts"):
		return has.check(chartFields)
	}
	return nil
}

var zstdReader, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)) // fails for bad options alone

// unpack returns a body without its coding, of which the first bytes tell.
func unpack(body []byte) (plain []byte, err error) {
	switch {
	case bytes.HasPrefix(body, []byte{0x1f, 0x8b}):
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			plain, err = io.ReadAll(r)
		}
	case bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		plain, err = zstdReader.DecodeAll(body, nil)
	default:
		return body, nil
	}

	if err != nil {
		return nil, fmt.Errorf("a packed body cannot be read: %w", err)
	}
	return plain, nil
}

// isFree reports whether an answer says that it is not whole, and so costs
// nothing.
func isFree(body []byte) bool {
	return bytes.Contains(body, []byte(`"transactionsDegraded":true`)) ||
		bytes.Contains(body, []byte(`"partial":true`))
}

// checkList checks pagination, every row's keys, ranks, and the order.
func checkList(has fields, list string, wanted []string, sort, query string) error {
	asked, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("cannot read our own question %q: %w", query, err)
	}
	if err := has.check([]string{list, "pagination"}); err != nil {
		return err
	}
	var rows []fields
	var p struct {
		Page, Limit, Total   int
		HasMore, TotalCapped bool
	}
	err = errors.Join(json.Unmarshal(has[list], &rows), json.Unmarshal(has["pagination"], &p))
	if err != nil {
		return fmt.Errorf("rows and pagination: %w", err)
	}

	page, limit := numberOr(asked.Get("page"), 1), numberOr(asked.Get("limit"), pageRows)
	if p.Page != page || p.Limit != limit || len(rows) > limit {
		return fmt.Errorf("page %d of %d rows; want page %d of at most %d", p.Page, len(rows), page, limit)
	}
	ends := p.Total <= page*limit && !p.TotalCapped
	if p.HasMore && (len(rows) < limit || ends) {
		return fmt.Errorf("%d rows of %d in all, and hasMore", len(rows), p.Total)
	}

	if s := asked.Get("sort"); s != "" {
		sort = s
	}
	for i, row := range rows {
		if err := row.check(wanted); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if want := strconv.Itoa((page-1)*limit + i + 1); string(row["rank"]) != want {
			return fmt.Errorf("row %d has rank %s; want %s", i, row["rank"], want)
		}
		if i > 0 && !inOrder(rows[i-1], row, sort) {
			return fmt.Errorf("rows %d and %d are not in the order %q", i-1, i, sort)
		}
	}
	return nil
}

func numberOr(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}

// inOrder reports whether row b may follow row a. Numbers are what is shown, so
// equal neighbours and clamped values pass; unknown ones come last.
func inOrder(a, b fields, sort string) bool {
	if metric, ok := sortMetrics[sort]; ok {
		x, y := a.metric(metric), b.metric(metric)
		return y == nil || x != nil && *x >= *y
	}

	switch {
	case sort == "age" && a["positionId"] != nil:
		x, y := a.metric("ageSeconds"), b.metric("ageSeconds")
		return x == nil || y == nil || *x <= *y
	case sort == "nft_id_asc":
		return idLess(a["positionId"], b["positionId"])
	case sort == "nft_id_desc":
		return idLess(b["positionId"], a["positionId"])
	}
	return true
}

// idLess compares quoted decimals of any length; ids of two chains may be equal.
func idLess(a, b json.RawMessage) bool {
	return len(a) < len(b) || len(a) == len(b) && string(a) <= string(b)
}
