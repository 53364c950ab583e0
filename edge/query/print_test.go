package query

import (
	"strings"
	"testing"
)

// Of a canonical text only unreserved characters stand as they are.
func TestAppendEscaped(t *testing.T) {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
	if got := string(appendEscaped([]byte("x="), plain)); got != "x="+plain {
		t.Errorf("got %s", got)
	}
	f := func(text, want string) {
		t.Helper()
		if got := string(appendEscaped(nil, text)); got != want {
			t.Errorf("%q is written %s; want %s", text, got, want)
		}
	}

	f("a b", "a%20b")
	f("@[`{/:", "%40%5B%60%7B%2F%3A")
	f("é\x00\xff", "%C3%A9%00%FF")
}

// A query whose parameters are not read is still well formed, each name and value of it.
func TestWellFormed(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		err := WellFormed([]byte(raw))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v; want %q", raw, err, want)
		}
	}

	f("", "")
	f("a", "")
	f("a=1&b=%20&&c", "")
	f("%zz=1", "parameter name: ")
	f("a=1&%4=2", "parameter name: ")
	f("a=%zz", `parameter "a": `)
	f("a=1&b=2&c=%", `parameter "c": `)
}
