package actors

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/rankings/market"
)

func TestParsePrices(t *testing.T) {
	const token = "0xA0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	got, err := parsePrices([]byte(`{"1:`+token+`": 0.999, "42161:`+token+`": 2}`), 77)
	if err != nil {
		t.Fatal(err)
	}

	want, _ := market.ParseAddress(token)
	if p := got[1]; len(p) != 1 || p[0].Token != want || p[0].Usd != 0.999 || p[0].AsOf != 77 {
		t.Errorf("chain 1 has %+v", p)
	}
	if p := got[42161]; len(p) != 1 || p[0].Usd != 2 {
		t.Errorf("chain 42161 has %+v", p)
	}

	free, err := parsePrices([]byte(`{"9223372036854775807:`+token+`": 0}`), 77)
	if p := free[1<<63-1]; err != nil || len(p) != 1 || p[0].Usd != 0 {
		t.Errorf("a token that is worth nothing, of the last chain: %+v, %v", free, err)
	}

	f := func(text string) {
		t.Helper()
		if got, err := parsePrices([]byte(text), 0); err == nil {
			t.Errorf("%s was read as %v", text, got)
		}
	}

	f(``)
	f(`[]`)
	f(`null`)
	f(`{} {}`)
	f(`{"1:` + token + `": 1`)
	f(`{"1:` + token + `": null}`)
	f(`{"1:` + token + `": "1"}`)
	f(`{"1:` + token + `": -1}`)
	f(`{"1:` + token + `": 1e999}`)
	f(`{"` + token + `": 1}`)
	f(`{"1:` + token + `": 1, "1:` + strings.ToLower(token) + `": 2}`)
	f(`{"1:` + token + `": 1, "1:` + token + `": 1}`)
	f(`{"one:` + token + `": 1}`)
	f(`{"1:0x12": 1}`)
	f(`{"9223372036854775808:` + token + `": 1}`)
	f(`{"1:` + token + `": 1, "2:` + token + `": -0.5}`)

	_, err = parsePrices([]byte(`{"1:`+token+`": 1, "1:`+token+`": 2}`), 0)
	if err == nil || !strings.Contains(err.Error(), "1:"+strings.ToLower(token)+" has two prices") {
		t.Errorf("a key that is there twice: %v", err)
	}
}

// FuzzPrices holds that whatever is read are prices, and one of each token.
func FuzzPrices(f *testing.F) {
	f.Add([]byte(`{"1:0xA0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": 0.999, ` +
		`"42161:0xA0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": 2e-7}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parsePrices(text, 7)
		if (all == nil) != (err != nil) {
			t.Errorf("%v, %v", all, err)
		}

		for chain, prices := range all {
			known := map[market.Address]bool{}
			for _, p := range prices {
				if known[p.Token] || !(p.Usd >= 0 && p.Usd <= math.MaxFloat64) || p.AsOf != 7 {
					t.Errorf("chain %d: %+v", chain, p)
				}
				known[p.Token] = true
			}
		}
	})
}

// A reading replaces the one before, with the time at which it was true; one
// that fails leaves it.
func TestPriceFeedReads(t *testing.T) {
	const usd = `{"1:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": 2}`
	answer, status := usd, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/undated" {
			w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT")
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer server.Close()

	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte(usd), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := time.Unix(1_767_312_000, 0)
	if err := os.Chtimes(file, changed, changed); err != nil {
		t.Fatal(err)
	}

	f := func(feed *PriceFeed, asOf int64) {
		t.Helper()
		if err := feed.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := feed.Of(1); len(p) != 1 || p[0].Usd != 2 || p[0].AsOf != asOf {
			t.Errorf("read %+v; want 2 USD as of %d", p, asOf)
		}
		if p := feed.Of(2); p != nil {
			t.Errorf("chain 2 has %+v", p)
		}
	}

	f(&PriceFeed{File: file}, changed.Unix())

	remote := &PriceFeed{URL: server.URL}
	f(remote, 1_795_244_400)
	now := &PriceFeed{URL: server.URL + "/undated"}
	before := time.Now().Unix()
	if err := now.read(t.Context()); err != nil || now.Of(1)[0].AsOf < before || now.Of(1)[0].AsOf > time.Now().Unix() {
		t.Errorf("an answer without a date: %+v, %v; want it to be of now", now.Of(1), err)
	}
	for _, gone := range []*PriceFeed{{File: file + ".gone"}, {URL: "http://127.0.0.1:1"}, {URL: "::"}} {
		if err := gone.read(t.Context()); err == nil || gone.Of(1) != nil {
			t.Errorf("%+v was read: %v", gone.Of(1), err)
		}
	}
	answer = "nothing"
	if err := remote.read(t.Context()); err == nil || len(remote.Of(1)) != 1 {
		t.Errorf("a bad answer was %v and left %+v", err, remote.Of(1))
	}

	// What comes with another status is no list of prices, whatever it looks like.
	answer = strings.Replace(usd, "2}", "3}", 1)
	for _, status = range []int{http.StatusNonAuthoritativeInfo, http.StatusNotFound, http.StatusBadGateway} {
		if err := remote.read(t.Context()); err == nil || len(remote.Of(1)) != 1 || remote.Of(1)[0].Usd != 2 {
			t.Errorf("status %d was %v and left %+v", status, err, remote.Of(1))
		}
	}
}

// An answer of more than 32 MiB is refused, and one of exactly that is not.
func TestPriceFeedSize(t *testing.T) {
	const usd = `{"1:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": 2}`
	size := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, usd+strings.Repeat(" ", size-len(usd)))
	}))
	defer server.Close()

	f := func(bytes int, ok bool) {
		t.Helper()
		size = bytes
		feed := &PriceFeed{URL: server.URL}
		if err := feed.read(t.Context()); (err == nil) != ok {
			t.Errorf("%d bytes: %v; want them read: %v", bytes, err, ok)
		}
	}

	f(32<<20, true)
	f(32<<20+1, false)
}

// What is said of a server has no word of its address, which can hold a key.
func TestPriceFeedAddressIsNotTold(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	f := func(address, want string) {
		t.Helper()
		feed := &PriceFeed{URL: address}
		err := feed.read(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q, and nothing of the address", address, err, want)
		}
	}

	f(server.URL+"/secret", "prices.url: the server answers 404 Not Found")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host is asked, and told %q", r.Referer())
	}))
	defer elsewhere.Close()
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	moved := httptest.NewServer(http.RedirectHandler(other, http.StatusFound))
	defer moved.Close()
	f(moved.URL+"/secret", "prices.url: the server answers 302 Found")
	f("http://127.0.0.1:1/secret", "prices.url: dial tcp 127.0.0.1:1: ")
	f("http://\x7f/secret", "prices.url: ")
	f("gopher:/secret", "prices.url: unsupported protocol scheme")
}

// A feed that cannot be read is told of at every try, but not because the node stops.
func TestPriceFeedWarnings(t *testing.T) {
	good := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(good, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(file string, after time.Duration, want int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			p := &PriceFeed{File: file, Every: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))}
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			p.Run(ctx)
			if got := strings.Count(log.String(), "cannot read the price feed"); got != want {
				t.Errorf("%s, for %s: %d warnings; want %d\n%s", file, after, got, want, &log)
			}
		})
	}

	f(good, 2500*time.Millisecond, 0)
	f(good+".gone", 2500*time.Millisecond, 3)
	f(good+".gone", 0, 0)
}
