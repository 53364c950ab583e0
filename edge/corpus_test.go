package edge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// corpusClients is how many requests of the corpus are sent at once.
const corpusClients = 64

// busyTries is how often a request is sent that the node refuses with a 503 since it has
// more to do than it can: on a busy machine, so many at once can be too many.
const busyTries = 20

// minCorpus is the least number of requests in the corpus.
const minCorpus = 600

// rawRequest is a line of testdata/raw.corpus: the status of its answer, whether the
// connection is open or closed afterwards, and the bytes as a Go string, in which
// {key} is a key and {text*n} is a text n times.
type rawRequest struct {
	line   int
	status int
	open   bool
	bytes  string
}

var repeated = regexp.MustCompile(`(?s)\{([^{}]+)\*(\d+)\}`)

func readCorpus(t *testing.T, key string) (list []rawRequest) {
	t.Helper()
	text, err := os.ReadFile("testdata/raw.corpus")
	must(err)
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		quoted, err := strconv.Unquote(fields[2])
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}

		status, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		list = append(list, rawRequest{n + 1, status, fields[1] == "open", expand(quoted, key)})
	}
	return list
}

func expand(text, key string) string {
	text = strings.ReplaceAll(text, "{key}", key)
	return repeated.ReplaceAllStringFunc(text, func(match string) string {
		parts := repeated.FindStringSubmatch(match)
		n, err := strconv.Atoi(parts[2])
		must(err)
		return strings.Repeat(parts[1], n)
	})
}

// TestRawRequests sends every request of the corpus. Each has exactly one answer, with
// the status and the end of its connection that the corpus says; every error is one
// in JSON. After a request that leaves the connection open, the next one on it is
// answered, and another HTTP parser agrees where the first one ended.
func TestRawRequests(t *testing.T) {
	s := serve(t, nil)
	list := readCorpus(t, s.key)
	if len(list) < minCorpus {
		t.Errorf("the corpus has %d requests; want at least %d", len(list), minCorpus)
	}
	plans := s.get("/v1/plans").body

	var ambiguous, broken atomic.Int64
	var clients sync.WaitGroup
	next := make(chan rawRequest)
	for range corpusClients { // some requests are answered when they time out
		clients.Go(func() {
			for r := range next {
				got, err := s.sendCorpus(r.bytes, plans)
				for try := 1; err == nil && got.status == 503 && try < busyTries; try++ {
					time.Sleep(100 * time.Millisecond)
					got, err = s.sendCorpus(r.bytes, plans)
				}
				switch {
				case err != nil:
					ambiguous.Add(1)
					t.Errorf("line %d: %.120q: %v", r.line, r.bytes, err)
				case got.status >= 500 && got.status != 505:
					broken.Add(1)
					t.Errorf("line %d: %.120q: got %d", r.line, r.bytes, got.status)
				case got.status != r.status || got.open != r.open:
					t.Errorf("line %d: %.120q: got %d, open: %v; want %d, %v", r.line, r.bytes, got.status, got.open,
						r.status, r.open)
				}
			}
		})
	}
	for _, r := range list {
		next <- r
	}
	close(next)
	clients.Wait()

	if panics := s.metric("tidemark_edge_panics_total"); panics != "0" || broken.Load() > 0 || s.log.String() != "" {
		t.Errorf("%s panics, %d answers with 5xx, the log says %q", panics, broken.Load(), s.log.String())
	}
	t.Logf("figure: %d raw requests: %d ambiguous, %d answers with 5xx, %s panics", len(list), ambiguous.Load(), broken.Load(),
		s.metric("tidemark_edge_panics_total"))
}

// ending is what came of a request.
type ending struct {
	status int
	open   bool
}

// sendCorpus sends a request, and another one behind its answer.
func (f *front) sendCorpus(request, plans string) (o ending, err error) {
	c, err := net.Dial("tcp", f.addr)
	must(err)
	defer c.Close()
	must(c.SetDeadline(time.Now().Add(10 * time.Second)))
	go io.WriteString(c, request) // the server may answer before it has read all

	in := bufio.NewReader(c)
	method, _, _ := strings.Cut(strings.TrimLeft(request, "\r\n"), " ")
	answer, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		return o, fmt.Errorf("no answer: %w", err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return o, fmt.Errorf("the answer is cut: %w", err)
	}
	if o.status = answer.StatusCode; o.status >= 400 && method != "HEAD" {
		var e struct{ Error string }
		if json.Unmarshal(body, &e) != nil || e.Error == "" || answer.Header.Get("Content-Type") != "application/json" {
			return o, fmt.Errorf("%d with a body that is no error: %.100s", o.status, body)
		}
	}

	if answer.Close {
		if rest, err := io.ReadAll(in); len(rest) > 0 {
			return o, fmt.Errorf("%.100q after the end of the answer, %v", rest, err)
		}
		return o, nil
	}
	o.open = true
	if err := checkEnd(request); err != nil {
		return o, err
	}
	_, err = io.WriteString(c, "GET /v1/plans HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if err != nil {
		return o, err
	}
	rest, err := io.ReadAll(in)
	_, next, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
	if err != nil || string(next) != plans {
		return o, fmt.Errorf("the next request on the connection is answered %.200q, %v", rest, err)
	}
	return o, nil
}

// checkEnd returns an error if another parser finds another end of a request that was
// answered on a connection that stays open.
func checkEnd(request string) error {
	in := bufio.NewReader(strings.NewReader(strings.TrimPrefix(request, "\r\n")))
	r, err := http.ReadRequest(in)
	var target url.EscapeError // of a target, which both refuse
	if errors.As(err, &target) {
		return nil
	}
	if err != nil {
		return errOther(err)
	}

	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return errOther(err)
	}
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		return fmt.Errorf("another parser leaves %.100q", rest)
	}
	return nil
}

func errOther(err error) error { return errors.Join(errors.New("another parser refuses it"), err) }
