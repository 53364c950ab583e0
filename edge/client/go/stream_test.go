package tidemark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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

// TestQuietStream checks that a stream goes on however often a connection without events
// breaks, if it has lasted for a while each time and was not silent.
func TestQuietStream(t *testing.T) {
	f := func(says string, lasts time.Duration, want int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := scripted(func(*http.Request) *http.Response {
				if asked++; asked == 9 {
					return say(200, "event: end\ndata: {\"reason\":\"revoked\"}\n\n")
				}
				answer := say(200, "")
				answer.Body = io.NopCloser(io.MultiReader(strings.NewReader(says), breaksAfter(lasts)))
				return answer
			})

			for range c.Stream(t.Context(), StreamQuery{Positions: []string{"1-1"}, LastEventID: "1:1/0"}) {
			}
			if asked != want {
				t.Errorf("%d connections that say %q and last %s; want %d", asked, says, lasts, want)
			}
		})
	}
	f(":\n\n", 20*time.Second, 9)
	f(":\n\n", time.Second, defaultAttempts)
	f("", time.Minute, defaultAttempts)
}

// breaksAfter is the body of a connection that breaks without a word.
type breaksAfter time.Duration

func (b breaksAfter) Read([]byte) (int, error) {
	time.Sleep(time.Duration(b))
	return 0, io.ErrUnexpectedEOF
}

// roundTrip answers requests without a connection.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// TestStreamOfPools checks that the rows of pools are read as pools, that a stream begins
// behind the event it is told, and that any end but a stop is the last event.
func TestStreamOfPools(t *testing.T) {
	asked, after := "", ""
	c := scripted(func(r *http.Request) *http.Response {
		asked, after = r.URL.String(), r.Header.Get("Last-Event-ID")
		if accept := r.Header.Get("Accept"); accept != "text/event-stream" {
			t.Errorf("accepts %s", accept)
		}
		return say(200, "event: changed\nid: 1:2/1\ndata: {\"poolId\":\"0xa\"}\n\n"+
			"event: generation\nid: 1:2/2\ndata: {\"generation\":\"1:2\"}\n\n"+
			"event: end\ndata: {\"reason\":\"key\"}\n\nevent: changed\nid: 1:3/1\ndata: {}\n\n")
	})
	var got []string
	for e, err := range c.Stream(t.Context(), StreamQuery{Pools: []string{"1-0xa", "1-0xb"}, LastEventID: "1:1/0"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Position != nil:
			t.Errorf("the event %s is of a position", e.Name)
		case e.Pool != nil:
			got = append(got, e.Name+" "+e.Pool.PoolID)
		case e.Generation != nil:
			got = append(got, e.Name+" "+e.Generation.Generation)
		case e.End != nil:
			got = append(got, e.Name+" "+e.End.Reason+e.ID)
		}
	}

	if want := []string{"changed 0xa", "generation 1:2", "end key"}; !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
	if asked != "http://node/v1/stream?pools=1-0xa%2C1-0xb" || after != "1:1/0" {
		t.Errorf("asked %s after %s", asked, after)
	}
}

// TestStreamEndsEarly checks that a loop that is left and an event that cannot be read
// end the stream, and that a cancelled one ends while it waits to come back.
func TestStreamEndsEarly(t *testing.T) {
	asked := 0
	row := "event: changed\nid: 1:2/1\ndata: {}\n\n"
	c := scripted(func(*http.Request) *http.Response {
		asked++
		return say(200, row+row+"event: changed\nid: 1:3/1\ndata: {\n\n"+row)
	})
	for range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
		break
	}
	rows, failed := 0, error(nil)
	for _, err := range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
		if failed = err; err == nil {
			rows++
		}
	}
	if asked != 2 || rows != 2 || failed == nil || !strings.Contains(failed.Error(), "the event changed") {
		t.Errorf("%d rows, %v of %d connections; want two, and an error that names the event", rows, failed, asked)
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		c := scripted(func(*http.Request) *http.Response { return say(503, `{"error":"no"}`) })
		var failed error
		for _, err := range c.Stream(ctx, StreamQuery{Owner: "0x1"}) {
			failed = err
		}
		if !errors.Is(failed, context.DeadlineExceeded) {
			t.Errorf("a cancelled stream ends with %v", failed)
		}
	})
}

// quiet is a connection on which nothing comes until its request is cancelled.
type quiet struct {
	text *strings.Reader
	ctx  context.Context
}

func (q quiet) Read(to []byte) (int, error) {
	if n, err := q.text.Read(to); err == nil {
		return n, nil
	}
	<-q.ctx.Done()
	return 0, q.ctx.Err()
}

func (q quiet) Close() error { return nil }

// TestSilentStream checks that a stream which is silent for 45 seconds is begun again,
// and that one which only says that it lives is not.
func TestSilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var began []time.Duration
		start := time.Now()
		c := scripted(func(r *http.Request) *http.Response {
			asked++
			began = append(began, time.Since(start))
			w := say(200, "")
			if asked == 1 {
				w.Body = quiet{strings.NewReader("event: generation\nid: 1:1/0\ndata: {}\n\n"), r.Context()}
				return w
			}
			in, out := io.Pipe()
			go func() {
				for range 5 {
					time.Sleep(40 * time.Second)
					io.WriteString(out, ": \n\n")
				}
				io.WriteString(out, "event: end\ndata: {\"reason\":\"key\"}\n\n")
			}()
			w.Body = in
			return w
		})

		var names []string
		for e, err := range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		if !slices.Equal(names, []string{"generation", "end"}) || asked != 2 {
			t.Fatalf("got %q of %d connections; want a generation and the end, of two", names, asked)
		}
		if waited := began[1]; waited < 45*time.Second || waited > 47*time.Second {
			t.Errorf("a silent stream was begun again after %s; want 45 s and a first pause", waited)
		}
	})
}

// TestStreamGoesOnForLong checks that connections that break after events are not counted
// as failures: only those in a row are.
func TestStreamGoesOnForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := scripted(func(*http.Request) *http.Response {
			if asked++; asked > 20 {
				return say(200, "")
			}
			return say(200, fmt.Sprintf("event: generation\nid: 1:%d/0\ndata: {}\n\n", asked))
		})

		events, failed := 0, error(nil)
		for _, err := range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
			if failed = err; err == nil {
				events++
			}
		}
		if events != 20 || asked != 20+defaultAttempts-1 || !errors.Is(failed, io.ErrUnexpectedEOF) {
			t.Errorf("%d events of %d connections, %v; want 20, of 23", events, asked, failed)
		}
	})
}
