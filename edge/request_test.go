package edge

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
)

// TestAbsoluteTargets checks what is left of a target with a scheme and a host, which
// has to be the one in the Host header.
func TestAbsoluteTargets(t *testing.T) {
	f := func(target, host, want string, refused *render.Error) {
		t.Helper()
		got, err := trimAuthority([]byte(target), []byte(host))
		if string(got) != want || err != refused {
			t.Errorf("%s of %s: got %q, %v; want %q, %v", target, host, got, err, want, refused)
		}
	}

	f("*", "a.example", "*", nil)
	f("http://a.example/v1/plans?x=1", "a.example", "/v1/plans?x=1", nil)
	f("HTTPS://A.example:80/", "a.EXAMPLE:80", "/", nil)
	f("http://a.example?x=/1", "a.example", "?x=/1", nil)
	f("http://a.example", "a.example", "", nil)
	f("http:///v1/plans", "", "/v1/plans", nil)
	f("http://a.example/v1/plans", "", "/v1/plans", nil)
	f("http:///v1/plans", "a.example", "", errHost)
	f("http://b.example/", "a.example", "", errHost)
	f("http://a.example.net/", "a.example", "", errHost)
	f("ftp://a.example/", "a.example", "", errTarget)
	f("v1/plans", "a.example", "", errTarget)
}

// TestPlainPaths checks that a path which is looked up has the route that it has when it is
// split, as one with a slash at its end is.
func TestPlainPaths(t *testing.T) {
	for path, plain := range plainPaths {
		split := matchRoute([]byte(path+"/"), nil)
		if split.route != plain.route || split.access != plain.access {
			t.Errorf("%s is %s, and %s when it is split", path, routes[plain.route].name, routes[split.route].name)
		}
	}
	if _, ok := plainPaths["/v1/positions"]; !ok {
		t.Error("the lists are not among the plain paths")
	}
}

// TestAnsweredRequest checks that a request which was answered, and waits for the next one,
// keeps nothing: its views would hold a generation in memory.
func TestAnsweredRequest(t *testing.T) {
	s := serve(t, nil)
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(new(fasthttp.Request), nil, nil)
	r := &request{ctx: ctx, now: time.Now(), answerID: []byte("x")}
	s.server.metrics.inFlight.Add(1)
	s.server.finishRequest(r)
	if !reflect.ValueOf(r).Elem().IsZero() {
		t.Errorf("it keeps %+v", *r)
	}
}

// TestRequestIDs checks that requests without an id of their own get different ones, which
// begin and end differently.
func TestRequestIDs(t *testing.T) {
	const requests = 500
	ids := newRequestIDs()
	if other := newRequestIDs(); other.seed == ids.seed {
		t.Error("two servers give the same ids")
	}
	all, first, last := map[string]bool{}, map[byte]bool{}, map[byte]bool{}
	for range requests {
		ctx := new(fasthttp.RequestCtx)
		id := string(ids.choose(ctx, new([requestIDLen]byte)))
		all[id], first[id[0]], last[id[15]] = true, true, true
	}
	if len(all) != requests || len(first) != 16 || len(last) != 16 {
		t.Errorf("of %d requests there are %d ids, with %d first and %d last digits", requests, len(all), len(first), len(last))
	}

	digits := map[rune]bool{}
	for id := range all {
		for _, d := range id {
			digits[d] = true
		}
		break
	}
	if len(digits) < 3 {
		t.Errorf("the digits of an id are %v", digits)
	}
}

// TestWellFormedRequestIDs checks which ids of clients are taken over: up to 64 letters,
// digits, - and _.
func TestWellFormedRequestIDs(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	allowed := letters + strings.ToUpper(letters) + "0123456789-_"
	f := func(id string, want bool) {
		t.Helper()
		if got := isRequestID([]byte(id)); got != want {
			t.Errorf("%q is an id: %t; want %t", id, got, want)
		}
	}

	for c := range 256 {
		text := string([]byte{byte(c)})
		want := strings.Contains(allowed, text)
		f(text, want)
		f("a"+text, want)
		f(text+"a", want)
	}
	f("", false)
	f(strings.Repeat("x", 64), true)
	f(strings.Repeat("x", 65), false)
}
