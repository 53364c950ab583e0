package balancer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// standIn is a node that says its name, and how it is.
type standIn struct {
	*httptest.Server
	down   atomic.Bool
	events chan string // of its stream
}

func newStandIn(t *testing.T, name string) *standIn {
	t.Helper()
	s := &standIn{events: make(chan string)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/health" && s.down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/health":
		case r.URL.Path == "/v1/stream":
			for e := range s.events {
				fmt.Fprintf(w, "event: %s\n\n", e)
				w.(http.Flusher).Flush()
			}
		default:
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Generation", name)
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("KC-APIKey"), body)
		}
	}))

	t.Cleanup(s.Close)
	return s
}

// balance starts a balancer in front of stand-ins.
func balance(t *testing.T, nodes ...*standIn) (url string) {
	t.Helper()
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, strings.TrimPrefix(n.URL, "http://"))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	b := New(addresses)
	done := make(chan error)
	go func() { done <- b.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// ask returns which node answered, and how.
func ask(t *testing.T, method, url, body string) (node string, status int, answer string) {
	t.Helper()
	q, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("KC-APIKey", "key")

	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header.Get("X-Generation"), r.StatusCode, string(all)
}

// Requests go to each node in turn, and come as they were sent.
func TestEachInTurn(t *testing.T) {
	url := balance(t, newStandIn(t, "a"), newStandIn(t, "b"), newStandIn(t, "c"))
	count := map[string]int{}
	for range 30 {
		node, status, body := ask(t, "POST", url+"/v1/positions/batch?x=%2F", "ids")
		count[node]++
		if want := "POST /v1/positions/batch?x=%2F key ids"; status != http.StatusAccepted || body != want {
			t.Errorf("the answer is %d %q; want %q", status, body, want)
		}
	}

	if count["a"] != 10 || count["b"] != 10 || count["c"] != 10 {
		t.Errorf("30 requests went to %v", count)
	}
	if _, status, body := ask(t, "HEAD", url+"/v1/positions", ""); status != http.StatusAccepted || body != "" {
		t.Errorf("HEAD is answered %d %q", status, body)
	}
}

// A node that is down or gone gets no requests, and none is lost. Once it is back it gets
// its share. Without any node the answer says so.
func TestOnlyHealthyNodes(t *testing.T) {
	a, b := newStandIn(t, "a"), newStandIn(t, "b")
	url := balance(t, a, b)
	share := func(want string) {
		t.Helper()
		got := ""
		for end := time.Now().Add(20 * time.Second); got != want && time.Now().Before(end); {
			seen := map[string]bool{}
			for range 6 {
				node, _, _ := ask(t, "GET", url+"/v1/positions", "")
				seen[node] = true
			}
			got = ""
			for _, name := range []string{"", "a", "b"} {
				if seen[name] {
					got += name + "."
				}
			}
		}
		if got != want {
			t.Errorf("answers are of %q; want %q", got, want)
		}
	}

	share("a.b.")
	a.down.Store(true)
	share("b.")
	a.down.Store(false)
	share("a.b.")
	b.Listener.Close()
	b.CloseClientConnections()
	if node, _, _ := ask(t, "GET", url+"/v1/positions", ""); node != "a" {
		t.Errorf("a request after the end of b is answered by %q", node)
	}
	share("a.")

	a.down.Store(true)
	share(".")
	_, status, body := ask(t, "GET", url+"/v1/positions", "")
	if status != http.StatusServiceUnavailable || body != noNode {
		t.Errorf("without a node the answer is %d %q", status, body)
	}
}

// Events of a stream come when they are sent.
func TestStreamIsPassedOn(t *testing.T) {
	a := newStandIn(t, "a")
	url := balance(t, a)
	go func() { a.events <- "one" }()
	r, err := http.Get(url + "/v1/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()

	lines := bufio.NewScanner(r.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return fmt.Sprint("the end: ", lines.Err())
	}
	if got := next(); got != "event: one" {
		t.Errorf("the first event is %q", got)
	}
	a.events <- "two"
	if got := next(); got != "event: two" {
		t.Errorf("the second event is %q", got)
	}

	close(a.events)
	if got := next(); got != "the end: <nil>" {
		t.Errorf("after the last event comes %q", got)
	}
}
