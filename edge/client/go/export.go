package tidemark

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// CutExport is the error of an export that ended before its last row. To go on, ask
// for the rows after After of the same generation, within a minute.
type CutExport struct {
	After      int64  // the rank of the last row that came
	Generation string // of all rows
	Message    string // why; what the node said, if it did
	Cause      error  // of the call for the next rows, which failed; nil: there was none
}

// Unwrap lets errors.As find what the node answered.
func (e *CutExport) Unwrap() error { return e.Cause }

func (e *CutExport) Error() string {
	return fmt.Sprintf("tidemark: the export ended after row %d: %s", e.After, e.Message)
}

// ExportPositions iterates over a ranking of positions, read by exports: one call has
// 100,000 rows. It begins after the row of that rank, which is 0 for all; the page and
// limit of the query are not read. An error ends the iteration.
func (c *Client) ExportPositions(
	ctx context.Context, q PositionsQuery, after int64,
) iter.Seq2[*Position, error] {
	q.Page, q.Limit = 0, 0
	return export[Position](ctx, c, "/v1/positions/export", q.values(), after)
}

// ExportPools iterates over a ranking of pools like ExportPositions.
func (c *Client) ExportPools(
	ctx context.Context, q PoolsQuery, after int64,
) iter.Seq2[*Pool, error] {
	q.Page, q.Limit = 0, 0
	return export[Pool](ctx, c, "/v1/pools/export", q.values(), after)
}

// export reads exports one after another, as long as the list goes on.
func export[T any](
	ctx context.Context, c *Client, path string, query url.Values, after int64,
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query) // a second loop is not of the first one's generations
		generation := ""
		for at := after; ; {
			query.Set("after", strconv.FormatInt(at, 10))
			answer, err := c.open(ctx, path, query, func(*http.Response) error { return nil })
			if err != nil {
				if at > after { // some rows came
					err = &CutExport{at, generation, err.Error(), err}
				}
				yield(nil, err)
				return
			}

			// What follows is from the same generations.
			generation = answer.Header.Get("X-Generation")
			query.Set("generation", generation)
			end, left := readRows(answer.Body, &at, yield)
			answer.Body.Close()
			switch {
			case left:
				return
			case !end.End:
				yield(nil, &CutExport{at, generation, end.Error, nil})
				return
			case !end.More:
				return
			}
		}
	}
}

// exportEnd is the last line of an export.
type exportEnd struct {
	End   bool   `json:"end"`
	More  bool   `json:"more"`
	Error string `json:"error"`
}

// endMark is how the last line begins. Rows begin with their rank.
var endMark = []byte(`{"end":`)

// readRows yields the rows of one export and counts them in at. It returns the last
// line, and whether the loop was left.
func readRows[T any](
	body io.Reader, at *int64, yield func(*T, error) bool,
) (end exportEnd, left bool) {
	for in := bufio.NewReader(body); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return exportEnd{Error: "the connection broke: " + err.Error()}, false
		}
		if bytes.HasPrefix(line, endMark) {
			err = json.Unmarshal(line, &end)
			if err != nil {
				end.Error = err.Error()
			}
			return end, false
		}

		row := new(T)
		if err := json.Unmarshal(line, row); err != nil {
			return exportEnd{Error: err.Error()}, false
		}
		*at++
		if !yield(row, nil) {
			return end, true
		}
	}
}
