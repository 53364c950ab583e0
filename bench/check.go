package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// checked is an answer's content as far as it is checked.
type checked struct {
	Positions  *[]json.RawMessage
	Pools      *[]json.RawMessage
	Pagination *struct {
		Page, Limit, Total, TotalPages int
		HasMore                        *bool
		TotalCapped                    bool
	}
}

// positionFields and poolFields are the keys that every row has.
var (
	positionFields = []string{
		"rank", "positionId", "tokenId", "chainId", "protocol", "owner", "poolId", "token0", "token1",
		"tickLower", "tickUpper", "currentTick", "tickSpacing", "fee", "liquidity", "isActive",
		"amounts", "metrics", "poolStats", "pricing", "asOfBlock",
	}
	poolFields = []string{
		"poolId", "chainId", "protocol", "token0", "token1", "fee", "isDynamicFee", "tickSpacing",
		"currentTick", "sqrtPriceX96", "liquidity", "hooks", "createdAtTimestamp", "metrics",
		"pricing", "positionsCount", "holdersCount", "asOfBlock",
	}
)

// checkAnswer looks at one complete answer: that it is JSON with the keys it
// must have, and that ranks and order of a list are right.
func checkAnswer(_ int, status int, target string, body []byte) error {
	route, query, _ := strings.Cut(target, "?")
	body, err := unpacked(body)
	if err != nil {
		return err
	}
	if status != 200 {
		var e struct{ Error string }
		if err := json.Unmarshal(body, &e); err != nil || e.Error == "" {
			return fmt.Errorf("a %d without an error: %.100q", status, body)
		}
		return nil
	}
	if !json.Valid(body) {
		return fmt.Errorf("not JSON: %.100q", body)
	}

	switch depth := strings.Count(route, "/"); {
	case route == "/v1/positions", route == "/v1/pools":
		return checkList(route == "/v1/positions", query, body)
	case depth == 5 && strings.HasPrefix(route, "/v1/positions/"):
		return checkFields(body, append(positionFields, "transactions"))
	case depth == 5 && strings.HasPrefix(route, "/v1/pools/"):
		return checkFields(body, poolFields)
	case depth == 6 && strings.HasSuffix(route, "/charts"):
		return checkFields(body, []string{"range", "poolPrice", "poolOverview", "liquidityDistribution"})
	}
	return nil
}

// unpacked is a body without its coding, of which the first bytes tell.
func unpacked(body []byte) (plain []byte, err error) {
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

var zstdReader, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)) // fails for bad options alone

// isFree reports whether an answer says that it is not whole, and so costs
// nothing.
func isFree(body []byte) bool {
	return bytes.Contains(body, []byte(`"transactionsDegraded":true`)) ||
		bytes.Contains(body, []byte(`"partial":true`))
}

func checkFields(row []byte, fields []string) error {
	var has map[string]json.RawMessage
	if err := json.Unmarshal(row, &has); err != nil {
		return fmt.Errorf("not an object: %w", err)
	}
	for _, f := range fields {
		if _, ok := has[f]; !ok {
			return fmt.Errorf("%q is missing", f)
		}
	}
	return nil
}

// checkList checks pagination, every row's keys, ranks, and the order.
func checkList(positions bool, query string, body []byte) error {
	asked, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("cannot read our own question %q: %w", query, err)
	}
	var c checked
	if err := json.Unmarshal(body, &c); err != nil {
		return err
	}

	rows, fields := c.Pools, append(poolFields, "rank")
	if positions {
		rows, fields = c.Positions, positionFields
	}
	if rows == nil || c.Pagination == nil || c.Pagination.HasMore == nil {
		return fmt.Errorf("rows or pagination are missing: %.100q", body)
	}

	page, limit := whole(asked.Get("page"), 1), whole(asked.Get("limit"), pageRows)
	if c.Pagination.Page != page || c.Pagination.Limit != limit || len(*rows) > limit {
		return fmt.Errorf("page %d of %d rows; want page %d of at most %d",
			c.Pagination.Page, len(*rows), page, limit)
	}

	ends := c.Pagination.Total <= page*limit && !c.Pagination.TotalCapped
	if *c.Pagination.HasMore && (len(*rows) < limit || ends) {
		return fmt.Errorf("%d rows of %d in all, and hasMore", len(*rows), c.Pagination.Total)
	}
	return checkRows(*rows, fields, (page-1)*limit, asked.Get("sort"))
}

func whole(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}

// ranked is what an order is checked by. Numbers are what is shown, so equal
// neighbours and clamped values pass.
type ranked struct {
	Rank       int
	PositionID string
	Metrics    struct {
		APR, FeeAPR, ROI, PnlUsd, UnderlyingValueUsd *float64
		AgeSeconds                                   *int64
		TVLUsd, VolumeUsd24h, FeesUsd24h             *float64
	}
}

func checkRows(rows []json.RawMessage, fields []string, before int, sort string) error {
	last := ranked{}
	for i, row := range rows {
		if err := checkFields(row, fields); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		var r ranked
		if err := json.Unmarshal(row, &r); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if r.Rank != before+i+1 {
			return fmt.Errorf("row %d has rank %d; want %d", i, r.Rank, before+i+1)
		}
		if i > 0 && !inOrder(&last, &r, sort, len(r.PositionID) > 0) {
			return fmt.Errorf("rows %d and %d are not in the order %q", i-1, i, sort)
		}
		last = r
	}
	return nil
}

// inOrder reports whether b may follow a.
func inOrder(a, b *ranked, sort string, position bool) bool {
	switch sort {
	case "apr", "":
		if !position {
			return descending(a.Metrics.TVLUsd, b.Metrics.TVLUsd)
		}
		return descending(a.Metrics.APR, b.Metrics.APR)
	case "fee_apr":
		return descending(a.Metrics.FeeAPR, b.Metrics.FeeAPR)
	case "roi":
		return descending(a.Metrics.ROI, b.Metrics.ROI)
	case "pnl":
		return descending(a.Metrics.PnlUsd, b.Metrics.PnlUsd)
	case "underlying_value":
		return descending(a.Metrics.UnderlyingValueUsd, b.Metrics.UnderlyingValueUsd)
	case "tvl":
		return descending(a.Metrics.TVLUsd, b.Metrics.TVLUsd)
	case "volume":
		return descending(a.Metrics.VolumeUsd24h, b.Metrics.VolumeUsd24h)
	case "fees":
		return descending(a.Metrics.FeesUsd24h, b.Metrics.FeesUsd24h)
	case "age":
		return !position || *a.Metrics.AgeSeconds <= *b.Metrics.AgeSeconds
	case "nft_id_asc":
		return idLess(a.PositionID, b.PositionID)
	case "nft_id_desc":
		return idLess(b.PositionID, a.PositionID)
	}
	return true
}

// descending has unknown values last.
func descending(a, b *float64) bool { return b == nil || a != nil && *a >= *b }

// idLess compares decimal numbers of any length; ids of two chains may be equal.
func idLess(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a <= b }
