package tidemark

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestStream checks that a stream goes on behind its last event when the connection
// breaks or the node stops, and ends when the account cannot go on.
func TestStream(t *testing.T) {
	const row = `{"rank":null,"positionId":"77","chainId":1}`
	parts := []string{
		"event: generation\nid: 1:1/0\ndata: {\"generation\":\"1:1\"}\n\n: \n\nevent: changed\nid: 1:2/1\ndata: " + row + "\n\n",
		"event: changed\nid: 1:3/1\nda", // cut within an event
		"event: reorg\nid: 1:3/2\ndata: {\"chainId\":1,\"ids\":[\"1-77\"]}\n\nevent: end\ndata: {\"reason\":\"stop\"}\n\n",
		"event: reset\nid: 1:9/0\ndata: {\"generation\":\"1:9\"}\n\nevent: end\ndata: {\"reason\":\"quota\"}\n\n",
	}
	var after []string
	c := New("http://node", "tm_srv_test")
	c.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
		if r.URL.String() != "http://node/v1/stream?positions=1-77%2C1-78" {
			t.Errorf("asked %s", r.URL)
		}
		after = append(after, r.Header.Get("Last-Event-ID"))
		w := httptest.NewRecorder()
		fmt.Fprint(w, parts[len(after)-1])
		return w.Result()
	})}

	var got []string
	synctest.Test(t, func(t *testing.T) {
		for e, err := range c.Stream(t.Context(), StreamQuery{Positions: []string{"1-77", "1-78"}}) {
			if err != nil {
				t.Fatal(err)
			}
			text := e.Name + " " + e.ID
			switch {
			case e.Position != nil:
				text += " " + e.Position.PositionID
			case e.Reorg != nil:
				text += " " + e.Reorg.IDs[0]
			case e.End != nil:
				text += e.End.Reason
			}
			got = append(got, text)
		}
	})

	want := []string{"generation 1:1/0", "changed 1:2/1 77", "reorg 1:3/2 1-77", "reset 1:9/0", "end quota"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
	if want := []string{"", "1:2/1", "1:2/1", "1:3/2"}; !slices.Equal(after, want) {
		t.Errorf("went on after %q; want %q", after, want)
	}
}

// TestStreamFails checks that a refused stream ends with its error, and one that may
// come back after as many tries as a call.
func TestStreamFails(t *testing.T) {
	f := func(status, tries int) {
		t.Helper()
		asked := 0
		c := New("http://node", "")
		c.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) *http.Response {
			asked++
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":"no"}`)
			return w.Result()
		})}

		var failed error
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			for _, err := range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
				failed = err
			}
			if tries > 1 && time.Since(begun) < time.Second {
				t.Errorf("%d: %d tries within %s", status, asked, time.Since(begun))
			}
		})
		if e := (*APIError)(nil); !errors.As(failed, &e) || e.Status != status || asked != tries {
			t.Errorf("%d: got %v after %d tries; want %d", status, failed, asked, tries)
		}
	}
	f(400, 1)
	f(503, defaultAttempts)
}

// roundTrip answers requests without a connection.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
