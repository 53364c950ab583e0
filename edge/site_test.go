package edge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

const browser = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

// TestSite checks that / is a page for browsers and the index for programs, and
// that ETags work.
func TestSite(t *testing.T) {
	s := serve(t, nil)
	f := func(path, contentType, begins string, headers ...string) {
		t.Helper()
		a := s.get(path, headers...)
		if a.code != 200 || a.header.Get("Content-Type") != contentType || !strings.HasPrefix(a.body, begins) {
			t.Errorf("%s: got %d %s %.60s", path, a.code, a.header.Get("Content-Type"), a.body)
			return
		}
		tag := a.header.Get("ETag")
		if tag == "" {
			return
		}
		for _, known := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"),
			"\"other\"\r\nIf-None-Match: " + tag, "*"} {
			again := s.get(path, append(headers, "If-None-Match: "+known)...)
			if again.code != fasthttp.StatusNotModified || again.body != "" {
				t.Errorf("%s: got %d with If-None-Match: %s; want 304", path, again.code, known)
			}
			if vary := again.header.Get("Vary"); vary != a.header.Get("Vary") {
				t.Errorf("%s: the 304 varies by %q; want %q", path, vary, a.header.Get("Vary"))
			}
		}
		if other := s.get(path, append(headers, `If-None-Match: "other"`)...); other.code != 200 {
			t.Errorf("%s: got %d with another ETag; want 200", path, other.code)
		}
	}
	const html, doctype = "text/html; charset=utf-8", "<!doctype html>"
	f("/", html, doctype, browser)
	f("/", contentJSON, `{"name":"tidemark"`)
	f("/ui", html, doctype)
	f("/ui/positions/1/swapdex-v4/1?range=90d", html, doctype, browser)
	f("/docs", html, doctype)
	f("/docs/errors/", html, doctype)
	f("/docs/errors.md", "text/markdown; charset=utf-8", "# Errors")
	f("/llms.txt", "text/plain; charset=utf-8", "# Tidemark")
	f("/favicon.svg", "image/svg+xml", "<svg")

	for _, path := range []string{"//", "//?x=1", "/ui//", "/ui/%2F"} {
		if a := s.get(path, browser); a.code != 404 || a.header.Get("Content-Type") != contentJSON {
			t.Errorf("%s: got %d %s; want 404", path, a.code, a.header.Get("Content-Type"))
		}
	}

	// The API stays what it is to a browser too.
	f("/v1/chains", contentJSON, `[{"chainId":1`, browser)
	f("/openapi.json", contentJSON, "{")
	f("/health", contentJSON, `{"status"`, browser)
	if a := s.get("/v1/pools", "KC-APIKey: ", browser); a.code != 401 || a.header.Get("Content-Type") != contentJSON {
		t.Errorf("a page in place of the API: %d", a.code)
	}
}

// TestSiteHeaders checks the security headers of pages and their compression.
func TestSiteHeaders(t *testing.T) {
	s := serve(t, nil)
	a := s.get("/ui", browser, "Accept-Encoding: gzip")
	policy := a.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q has no %s", policy, part)
		}
	}

	if strings.Contains(policy, "unsafe") || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %v", a.header)
	}

	for _, path := range []string{"/ui", "/llms.txt"} {
		a := s.get(path, browser)
		tag, cache := a.header.Get("ETag"), a.header.Get("Cache-Control")
		if !strings.HasSuffix(tag, `"`) || cache != "no-cache" {
			t.Errorf("%s: ETag is %q, Cache-Control %q", path, tag, cache)
		}
		if again := s.get(path, browser, "If-None-Match: "+tag); again.code != 304 || again.body != "" {
			t.Errorf("%s: asked again with its ETag: %d", path, again.code)
		}
	}
	if a := s.get("/llms.txt", "Accept-Encoding: gzip"); a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("Content-Encoding is %q", a.header.Get("Content-Encoding"))
	}
	if a := s.get("/openapi.json"); a.header.Get("Cache-Control") != documentCache {
		t.Errorf("Cache-Control is %q", a.header.Get("Cache-Control"))
	}
	if a := s.ask("POST", "/ui"); a.code != 405 {
		t.Errorf("POST: got %d", a.code)
	}
}

// TestPreview checks that the index shows a ranking only if that is configured.
func TestPreview(t *testing.T) {
	f := func(shown bool) {
		t.Helper()
		s := serve(t, func(c *Config) { c.Preview = shown })
		var index struct {
			Version string                                 `json:"version"`
			Links   map[string]string                      `json:"links"`
			Preview *struct{ Positions []json.RawMessage } `json:"preview"`
		}
		must(json.Unmarshal([]byte(s.get("/").body), &index))
		if (index.Preview != nil) != shown || shown && len(index.Preview.Positions) != 5 {
			t.Errorf("preview %t: got %+v", shown, index.Preview)
		}
		if index.Version != "test" || index.Links["docs"] != "/docs" {
			t.Errorf("got %+v", index)
		}
	}

	f(true)
	f(false)
}

// Distances are those of the textbook, either way round.
func TestEditDistance(t *testing.T) {
	f := func(a, b string, want int) {
		t.Helper()
		if got, back := EditDistance(a, b), EditDistance(b, a); got != want || back != want {
			t.Errorf("from %q to %q are %d edits, and back %d; want %d", a, b, got, back, want)
		}
	}

	f("", "", 0)
	f("", "abc", 3)
	f("abc", "abc", 0)
	f("abc", "bc", 1)
	f("abc", "ab", 1)
	f("abc", "xabc", 1)
	f("abc", "axc", 1)
	f("kitten", "sitting", 3)
	f("flaw", "lawn", 2)
	f("intention", "execution", 5)
	f("/v1/pool", "/v1/pools", 1)
	f("abcd", "dcba", 4)
}

// TestNearest checks that the 404 of an unknown route suggests the nearest one.
func TestNearest(t *testing.T) {
	s := serve(t, nil)
	f := func(path, want string) {
		t.Helper()
		says := "no such route; the nearest is " + want + ", and /docs lists them all"
		if want == docsPath {
			says = "no such route; /docs lists them all"
		}

		if a := s.get(path); a.code != 404 || !strings.Contains(a.body, says) {
			t.Errorf("%s: got %d %s; want %s", path, a.code, a.body, says)
		}
	}

	f("/v1/position", "/v1/positions")
	f("/v1/pool", "/v1/pools")
	f("/positions", "/v1/positions")
	f("/v1/chain", "/v1/chains")
	f("/v1/positions/1/swapdex-v4/77/chart", "/v1/positions/{chainId}/{protocol}/{positionId}/charts")
	f("/v1/pools/1/swapdex-v4/"+somePool+"/chart", "/v1/pools/{chainId}/{protocol}/{poolId}/charts")
	f("/v1/positions/1/swapdex-v4", "/v1/positions/{chainId}/{protocol}/{positionId}")
	f("/v1/positions/1/swapdex-v4/", "/v1/positions/{chainId}/{protocol}/{positionId}")
	f("/v1/pools/1/swapdex-v4", "/v1/pools/{chainId}/{protocol}/{poolId}")
	f("/v1/owners", "/v1/owners/{address}")
	f("/v1/tokens/1", "/v1/tokens/{chainId}/{address}")
	f("/v1/price/units", "/v1/pricing/units")
	f("/v1/", docsPath)
	f("/favicon.ico", docsPath)
	f("/.well-known/security.txt", docsPath)
	f("/doc", docsPath)
	f("/healthz", "/health")
}
