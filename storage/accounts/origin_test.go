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
}

func TestRefusedOrigin(t *testing.T) {
	f := func(in string) {
		t.Helper()
		if got, err := CanonicalOrigin(in); err == nil {
			t.Errorf("CanonicalOrigin(%q) = %q; want a refusal", in, got)
		}
	}

	f("")
	f("null ")
	f("https://")
	f("https://app.example.com/")
	f("https://app.example.com/path")
	f("app.example.com/")
	f("https://app.example.com?q=1")
	f("https://app.example.com#top")
	f("https://user@app.example.com")
	f("https://user:pass@app.example.com")
	f("https://*.example.com")
	f("*")
	f("https://app.example.com:0")
	f("https://app.example.com:65536")
	f("https://app.example.com:-1")
	f("https://app.example.com:+80")
	f("https://app.example.com:")
	f("https://app.example.com:http")
	f("ftp://app.example.com")
	f("file://x")
	f("chrome-extension://abcdef")
	f("javascript:alert(1)")
	f("https://app..example.com")
	f("https://-app.example.com")
	f("https://app example.com")
	f("https://[::1")
	f("https://[::1]x")
	f("https://[1.2.3.4]")
	f("https://[fe80::1%25eth0]")
	f("https://xn--\xff.example")
	f("https://a.example\\@b.example")
}

func TestAllows(t *testing.T) {
	k := &Key{Kind: Browser, Origins: []string{"https://app.example.com", "http://localhost:3000"}}

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
