package tidemark

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzStreamEvents holds that whatever a stream brings ends, and that an event has what its
// name says, and no more.
func FuzzStreamEvents(f *testing.F) {
	f.Add("event: changed\nid: 1:2/1\ndata: {\"poolId\":\"0xa\"}\n\n: nothing\n\n" +
		"event: generation\nid: 1:2/2\ndata: {\"generation\":\"1:2\"}\n\n" +
		"event: end\ndata: {\"reason\":\"key\"}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := scripted(func(*http.Request) *http.Response { return say(200, text) })
		q := StreamQuery{Pools: []string{"1-0xa"}}
		goOn, _, err := c.follow(t.Context(), &q, func(e *StreamEvent, err error) bool {
			if err != nil {
				return true
			}

			set := 0
			for _, is := range []bool{
				e.Position != nil, e.Pool != nil, e.Reorg != nil, e.Generation != nil, e.End != nil,
			} {
				if is {
					set++
				}
			}
			if set != 1 || e.Name == "" || e.Position != nil {
				t.Errorf("the event %+v", e)
			}
			return true
		})
		if goOn != (err != nil) {
			t.Errorf("it goes on: %t, %v", goOn, err)
		}
	})
}

// FuzzExportRows holds that whatever an export brings is counted, and that it ends with its
// last line or with an error.
func FuzzExportRows(f *testing.F) {
	f.Add("{\"rank\":1,\"poolId\":\"0xa\"}\n{\"end\":true,\"more\":false}\n")
	f.Add("{\"rank\":1}\n{\"end\":false,\"error\":\"late\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		at, rows := int64(7), int64(0)
		end, left := readRows(strings.NewReader(text), &at, func(row *Pool, err error) bool {
			rows++
			return row != nil && err == nil
		})

		if left || at != 7+rows || rows > int64(strings.Count(text, "\n")) {
			t.Errorf("%d rows to %d, left: %t", rows, at, left)
		}
		if !end.End && end.Error == "" && !strings.Contains(text, string(endMark)) {
			t.Errorf("it ends with %+v", end)
		}
	})
}
