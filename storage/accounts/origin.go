package accounts

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxOrigins and MaxOriginLen bound the origins of a browser key. The list is
// searched on every request of the key, and a host name has at most 253 bytes.
const (
	MaxOrigins   = 50
	MaxOriginLen = 300
)

// CanonicalOrigin returns an origin in the form in which it is stored and compared:
// scheme://host[:port], lower case, punycode, without the scheme's default port. A
// host without a scheme is taken as https. Other parts of a URL are refused.
func CanonicalOrigin(s string) (string, error) {
	if strings.Contains(s, "://") {
		return canonicalOrigin(s)
	}

	why := ""
	switch {
	case s == "":
		why = "it is empty"
	case strings.EqualFold(s, "null"):
		why = "null is what browsers send for pages without an origin, and is never allowed"
	case strings.HasPrefix(s, "//"):
		why = "it has no scheme"
	}
	if why != "" {
		return "", badOrigin(s, why)
	}

	o, err := canonicalOrigin("https://" + s)
	var bad *originError
	if errors.As(err, &bad) {
		bad.origin = s // what was typed
	}
	return o, err
}

// originError is the error for what cannot be an origin.
type originError struct{ origin, why string }

func badOrigin(origin, why string) error { return &originError{origin, why} }

// Error says what is wrong and how an origin is written.
func (e *originError) Error() string {
	return fmt.Sprintf("bad origin %q: %s; write scheme://host[:port]", e.origin, e.why)
}

// headerOrigin canonicalises an Origin header. It returns false for null and for
// what no browser sends. It is rarely called: browsers send the canonical form.
func headerOrigin(h []byte) (string, bool) {
	if len(h) == 0 || len(h) > MaxOriginLen {
		return "", false
	}
	o, err := canonicalOrigin(string(h))
	return o, err == nil
}

func canonicalOrigin(s string) (string, error) {
	refuse := func(why string) (string, error) { return "", badOrigin(s, why) }
	if len(s) > MaxOriginLen {
		return refuse(fmt.Sprintf("longer than %d bytes", MaxOriginLen))
	}
	if !utf8.ValidString(s) {
		return refuse("it is not UTF-8")
	}

	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	switch {
	case !ok || scheme != "http" && scheme != "https":
		return refuse("the scheme is http or https")
	case strings.ContainsAny(rest, "/\\"):
		return refuse("it has a path")
	case strings.Contains(rest, "?"):
		return refuse("it has a query")
	case strings.Contains(rest, "#"):
		return refuse("it has a fragment")
	case strings.Contains(rest, "@"):
		return refuse("it has user info")
	case strings.Contains(rest, "*"):
		return refuse("wildcards are not allowed")
	}

	host, port, err := splitPort(rest)
	if err != nil {
		return refuse(err.Error())
	}
	if host, err = canonicalHost(host); err != nil {
		return refuse(err.Error())
	}
	// Some names change again when they are canonicalised twice. No browser sends
	// them.
	if again, err := canonicalHost(host); err != nil || again != host {
		return refuse(fmt.Sprintf("host %q is not a host name", host))
	}

	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return scheme + "://" + host, nil
	}
	return scheme + "://" + host + ":" + port, nil
}

// splitPort splits host[:port] and checks the port, which may be missing.
func splitPort(s string) (host, port string, err error) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 || strings.HasSuffix(s, "]") {
		return s, "", nil
	}
	host, port = s[:at], s[at+1:]
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "", fmt.Errorf("port %q is not 1 to 65535", port)
	}
	return host, strconv.FormatUint(n, 10), nil
}

func canonicalHost(host string) (string, error) {
	if in, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(in, "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(in, "]") {
			return "", fmt.Errorf("host %q is not an IPv6 address", host)
		}
		return "[" + addr.String() + "]", nil
	}

	if plainHost(host) {
		host = strings.ToLower(host)
		if addr, err := netip.ParseAddr(host); endsInNumber(host) && (err != nil || !addr.Is4()) {
			return "", fmt.Errorf("host %q ends in a number and is not an IPv4 address", host)
		}
		return host, nil
	}

	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil || !plainHost(ascii) && !strings.Contains(ascii, "xn--") {
		return "", fmt.Errorf("host %q is not a host name", host)
	}
	return ascii, nil
}

// endsInNumber reports whether browsers take a host for an IPv4 address, also for one that they
// write differently, as 127.1 or 0x7f.1.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// plainHost reports whether a host consists of ASCII labels without punycode.
func plainHost(host string) bool {
	if len(host) > 253 {
		return false
	}

	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.EqualFold(label[:min(4, len(label))], "xn--") {
			return false
		}

		for i := range len(label) {
			c := label[i]
			edge := i == 0 || i == len(label)-1
			letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
			if !letter && (edge || c != '-' && c != '_') {
				return false
			}
		}
	}
	return true
}
