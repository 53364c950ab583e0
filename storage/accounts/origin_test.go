package accounts

import (
	"strings"
	"testing"
)

func TestCanonicalOrigin(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got, err := CanonicalOrigin(in); err != nil || got != want {
			t.Errorf("CanonicalOrigin(%q) = %q, %v; want %q", in, got, err, want)
		}
	}

	f("app.example.com", "https://app.example.com")
	f("https://app.example.com", "https://app.example.com")
	f("HTTPS://App.Example.COM", "https://app.example.com")
	f("https://app.example.com:443", "https://app.example.com")
	f("http://app.example.com:80", "http://app.example.com")
	f("http://app.example.com:443", "http://app.example.com:443")
	f("https://app.example.com:80", "https://app.example.com:80")
	f("http://localhost:3000", "http://localhost:3000")
	f("http://localhost:03000", "http://localhost:3000")
	f("localhost:3000", "https://localhost:3000")
	f("http://127.0.0.1:8080", "http://127.0.0.1:8080")
	f("http://[::1]:8080", "http://[::1]:8080")
	f("https://[2001:DB8:0:0::1]", "https://[2001:db8::1]")
	f("https://bücher.example", "https://xn--bcher-kva.example")
	f("https://BÜCHER.example:8443", "https://xn--bcher-kva.example:8443")
	f("https://xn--bcher-kva.example", "https://xn--bcher-kva.example")
	f("my_app.example.com", "https://my_app.example.com")
	f("http://0x7f.1.example", "http://0x7f.1.example")
	f("http://127.example", "http://127.example")
	f("https://1e3", "https://1e3")
}

func TestRefusedOrigin(t *testing.T) {
	f := func(in string, says string) {
		t.Helper()
		if got, err := CanonicalOrigin(in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("CanonicalOrigin(%q) = %q, %v; want a refusal: %s", in, got, err, says)
		}
	}

	const name, scheme, path = "is not a host name", "the scheme is http or https", "it has a path"
	const port, address = "is not 1 to 65535", "is not an IPv6 address"
	f("", `bad origin "": it is empty; write scheme://host[:port]`)
	f("null", `bad origin "null": null is what browsers send for pages without an origin, and is never allowed`)
	f("null ", `bad origin "null ": host "null " `+name)
	f("//a.com", `bad origin "//a.com": it has no scheme`)
	f("https://a\u2135", name) // its canonical form is no name itself
	f("https://", name)
	f("https://app.example.com/", path)
	f("https://app.example.com/path", path)
	f("app.example.com/", path)
	f("https://app.example.com?q=1", "it has a query")
	f("https://app.example.com#top", "it has a fragment")
	f("https://user@app.example.com", "it has user info")
	f("https://user:pass@app.example.com", "it has user info")
	f("https://*.example.com", "wildcards are not allowed")
	f("*", `bad origin "*": wildcards are not allowed; write scheme://host[:port]`)
	f("https://app.example.com:0", port)
	f("https://app.example.com:65536", port)
	f("https://app.example.com:-1", port)
	f("https://app.example.com:+80", port)
	f("https://app.example.com:", port)
	f("https://app.example.com:http", port)
	f("ftp://app.example.com", scheme)
	f("file://x", scheme)
	f("chrome-extension://abcdef", scheme)
	f("javascript:alert(1)", port)
	f("https://app..example.com", name)
	f("https://-app.example.com", name)
	f("https://app example.com", name)
	f("https://[::1", address)
	f("https://[::1]x", port)
	f("https://[::1:80", address)
	f("https://[1.2.3.4]", address)
	f("https://[fe80::1%25eth0]", address)
	for _, host := range []string{"256.1.1.1", "1.2.3", "127.1", "010.0.0.1", "5", "0x7f.1", "0X7F000001", "0x", "a.7"} {
		f("https://"+host, "ends in a number and is not an IPv4 address")
	}
	f("https://xn--\xff.example", "it is not UTF-8")
	f("https://a.example\\@b.example", path)
	f("https://:80", `host "" is not a host name`)
	f(":80", `host "" is not a host name`)

	// Hebrew letters of another form: no browser sends what this becomes.
	f("https://\u2135pj", `host "xn--pj-uld" is not a host name`)
}

func TestAllows(t *testing.T) {
	k := &Key{Issued: Issued{Kind: Browser, Origins: []string{"https://app.example.com", "http://localhost:3000"}}}

	f := func(origin string, want bool) {
		t.Helper()
		if got := k.Allows([]byte(origin)); got != want {
			t.Errorf("Allows(%q) = %v; want %v", origin, got, want)
		}
	}

	f("https://app.example.com", true)
	f("https://APP.example.com:443", true)
	f("http://localhost:3000", true)
	f("app.example.com", false) // bare hosts are a convenience of issuing only
	f("http://app.example.com", false)
	f("http://localhost", false)
	f("https://app.example.com.evil.example", false)
	f("https://app.example.com/", false)
	f("null", false)
	f("", false)
}

func FuzzCanonicalOrigin(f *testing.F) {
	f.Add("https://bücher.example:8443")
	f.Add("http://[::1]:80")
	f.Add("https://0\xc30")
	f.Fuzz(func(t *testing.T, s string) {
		once, err := CanonicalOrigin(s)
		if err != nil {
			return
		}
		if twice, err := CanonicalOrigin(once); err != nil || twice != once {
			t.Errorf("CanonicalOrigin(%q) = %q, and of that %q, %v", s, once, twice, err)
		}
	})
}

// An origin has up to 300 bytes, and a host letters and digits of all of ASCII.
func TestOriginBounds(t *testing.T) {
	f := func(in string, ok bool) {
		t.Helper()
		if got, err := CanonicalOrigin(in); (err == nil) != ok || ok && got != in {
			t.Errorf("CanonicalOrigin(%q) = %q, %v; want it as it is: %t", in, got, err, ok)
		}
	}

	f("https://abcxyz-_-abcxyz.az.09a", true)
	f("https://a-", false)
	f("https://-a", false)
	f("https://a_", false)
	f("https://a{b", false)
	f("https://a`b", false)
	f("https://a.example:1", true)
	f("https://a.example:65535", true)
	long := "https://" + strings.Repeat("a.", MaxOriginLen)
	for n, says := range map[int]string{MaxOriginLen: "is not a host name", MaxOriginLen + 1: "longer than 300 bytes"} {
		if _, err := CanonicalOrigin(long[:n]); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("an origin of %d bytes: %v; want %s", n, err, says)
		}
	}
	for n, ok := range map[int]bool{MaxOriginLen: true, MaxOriginLen + 1: false} {
		header := "https://a.example:" + strings.Repeat("0", n-len("https://a.example:80")) + "80"
		if got, allowed := headerOrigin([]byte(header)); allowed != ok || ok && got != "https://a.example:80" {
			t.Errorf("a header of %d bytes is the origin %q, %t; want %t", len(header), got, allowed, ok)
		}
	}
}

// A host has up to 253 characters, and each label up to 63.
func TestHostLengths(t *testing.T) {
	label := strings.Repeat("a", 61) + "."
	long := label + label + label + label // 248 characters
	f := func(host string, ok bool) {
		t.Helper()
		if got := plainHost(host); got != ok {
			t.Errorf("a host of %d characters is plain: %v; want %v", len(host), got, ok)
		}
	}

	f(long+"abcde", true)
	f(long+"abcdef", false)
	f(strings.Repeat("a", 63)+".com", true)
	f(strings.Repeat("a", 64)+".com", false)
}
