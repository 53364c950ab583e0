package edge

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/storage/accounts"
)

// cell is one status of one route in the table of TestCoverage.
type cell struct {
	path, target string // the documented path, and one of something that exists
	s            *front
}

// present returns a target of something that exists on chain 1.
func present(path string) string {
	st := stateOf(1)
	address := st.Owners.At(0).String()
	if path == "/v1/tokens/{chainId}/{address}" {
		address = st.Tokens.At(0).Address.String()
	}
	return strings.NewReplacer("{chainId}", "1", "{protocol}", "swapdex-v4", "{positionId}", "1",
		"{poolId}", st.Pools.At(0).ID.String(), "{address}", address).Replace(path) + requiredQueries(st)[path]
}

// absent returns a target of something that does not exist.
func (c *cell) absent() string {
	path := strings.NewReplacer("{chainId}", "1", "{protocol}", "swapdex-v4", "{positionId}", "999999",
		"{poolId}", somePool, "{address}", noOne).Replace(c.path)
	if _, query, some := strings.Cut(c.target, "?"); some {
		path += "?" + query
	}
	return path
}

// withParameter adds a parameter to a target.
func withParameter(target, pair string) string {
	if strings.Contains(target, "?") {
		return target + "&" + pair
	}
	return target + "?" + pair
}

// raw sends a request that fails before it reaches the route.
func (c *cell) raw(method, version, more string) {
	a, _ := c.s.sendRaw(method + " " + c.target + " " + version + "\r\nHost: api.example.com\r\n" +
		gate.HeaderKey + ": " + c.s.key + "\r\n" + more + "\r\n")
	conform(c.s.t, "GET", c.target, a)
}

// causes has, for each status, a function that makes a route answer with it.
var causes = map[int]func(*cell){
	200: func(c *cell) {
		if _, query, _ := strings.Cut(c.target, "?"); c.path == streamPath {
			c.s.openStream(query)
			return
		}
		c.s.get(c.target)
	},
	304: func(c *cell) {
		tag := c.s.get(c.target).header.Get("ETag")
		c.s.get(c.target, "If-None-Match: W/\"other\", "+tag)
	},
	400: func(c *cell) {
		c.s.get(withParameter(c.target, "bad=1"))
		c.raw("GET", "HTTP/1.1", "X-A: one\r\n two\r\n")
	},
	401: func(c *cell) { c.s.get(c.target, gate.HeaderKey+": ") },
	403: func(c *cell) { c.s.get(c.target, "Origin: https://app.example.com") },
	404: func(c *cell) { c.s.get(c.absent()) },
	405: func(c *cell) { conform(c.s.t, "GET", c.target, c.s.ask("POST", c.target)) },
	408: func(c *cell) {
		c.s = startImpatient(c.s.t)
		c.raw("GET", "HTTP/1.1", "X-Never-Ends: ")
	},
	410: func(c *cell) { c.s.get(c.target + "?chainId=1&generation=1:999") },
	413: func(c *cell) { c.raw("POST", "HTTP/1.1", "Content-Length: 99999\r\n") },
	417: func(c *cell) { c.raw("POST", "HTTP/1.1", "Content-Length: 5\r\nExpect: 100-continue\r\n") },
	429: func(c *cell) {
		key := c.s.issue("free", accounts.Server)
		c.s.takeAll(key)
		c.s.get(c.target, gate.HeaderKey+": "+key)
	},
	431: func(c *cell) { c.raw("GET", "HTTP/1.1", "X-A: "+strings.Repeat("a", maxHead)+"\r\n") },
	500: func(c *cell) {
		s := serve(c.s.t, nil)
		defer s.breakPages()()
		s.get(c.target)
	},
	503: func(c *cell) {
		serve(c.s.t, func(c *Config) { offline(c, chainsWith(0, 1, 2)...) }).get(c.target)
	},
	505: func(c *cell) { c.raw("GET", "HTTP/3.0", "") },
}

// breakPages makes every route panic until mend is called.
func (f *front) breakPages() (mend func()) {
	kept, document := f.server.pages, f.server.openAPI
	f.server.pages, f.server.openAPI = new(pages.Pages), nil
	return func() { f.server.pages, f.server.openAPI = kept, document }
}

// impatient is a listener whose connections wait for hardly any time when they read.
type impatient struct{ net.Listener }

func (l impatient) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return impatientConn{c}, err
}

type impatientConn struct{ net.Conn }

func (c impatientConn) SetReadDeadline(time.Time) error {
	return c.Conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
}

// startImpatient starts a server on such a listener.
func startImpatient(t *testing.T) *front {
	f := &front{t: t}
	var err error
	f.server, err = New(config(f, sharedNode()))
	must(err)
	f.key = f.issue("unlimited", accounts.Server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	f.addr = l.Addr().String()
	go f.server.Serve(impatient{l})
	t.Cleanup(func() { must(f.server.Shutdown(context.Background())) })
	return f
}

// requiredStatuses are the statuses that the contract names for each kind of
// route. The document must have them all.
var requiredStatuses = map[access][]int{
	free:  {200, 405},
	keyed: {200, 400, 401, 403, 405, 429},
}

// TestCoverage produces every documented status of every route, checks each answer
// against the document, and prints the table.
func TestCoverage(t *testing.T) {
	s := serve(t, nil)
	columns := []int{200, 400, 401, 403, 404, 405, 408, 410, 413, 417, 429, 431, 500, 503, 505}
	table := fmt.Sprintf("%-56s%v\n", "answers held against the document", columns)
	for _, path := range slices.Sorted(maps.Keys(document().Paths.Map())) {
		target := present(path)
		table += fmt.Sprintf("%-56s", path)
		checkNamed(t, path, target)
		for _, code := range columns {
			if _, documented := answerSchema(path, code); !documented {
				table += "   -"
				continue
			}
			before := covering(path, code)
			causes[code](&cell{path, target, s})
			if covering(path, code) == before {
				t.Errorf("%s: no %d was seen", path, code)
			}
			table += fmt.Sprintf("%4d", covering(path, code))
		}
		table += "\n"
	}

	t.Log(table)
}

func checkNamed(t *testing.T, path, target string) {
	t.Helper()
	place, _, _ := strings.Cut(target, "?")
	to := matchRoute([]byte(place), nil)
	want := slices.Clone(requiredStatuses[to.access])
	if to.access == keyed && to.route != routeUsage {
		want = append(want, 503)
	}
	if to.access == keyed && strings.Contains(path, "{") && to.route != routeOwner {
		want = append(want, 404)
	}

	for _, code := range want {
		if _, documented := answerSchema(path, code); !documented {
			t.Errorf("%s: the contract names %d; the document does not", path, code)
		}
	}
}

func covering(path string, code int) int {
	covered.Lock()
	defer covered.Unlock()
	return covered.cells[fmt.Sprint(path, " ", code)]
}
