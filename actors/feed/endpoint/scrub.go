package endpoint

import (
	"fmt"
	"net/url"
	"strings"
)

// leastSecret is the shortest part of a URL that is taken out of texts: shorter
// ones are words such as v2 that stand anywhere.
const leastSecret = 4

// scrub takes out of texts every part of a URL that could name a provider or be a key.
type scrub struct {
	*strings.Replacer
	longest int // of these parts, in bytes
}

func newScrub(u *url.URL) scrub {
	parts := []string{u.String(), u.Host, u.Hostname(), u.User.String()}
	parts = append(parts, strings.Split(u.EscapedPath(), "/")...)
	parts = append(parts, strings.Split(u.Path, "/")...)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}

	var pairs []string
	longest := 0
	for _, p := range parts {
		if len(p) >= leastSecret {
			pairs, longest = append(pairs, p, "…"), max(longest, len(p))
		}
	}
	return scrub{strings.NewReplacer(pairs...), longest}
}

const (
	// maxText is how much of a provider's message is kept.
	maxText = 300
	// maxRead is how much of one is looked at: to take 60 MB apart takes ten times the
	// memory.
	maxRead = 16 << 10
)

// oneLine returns a text from outside without the URL's parts, cut, on one line.
func (s scrub) oneLine(text string) string {
	clean := s.Replace(text[:min(len(text), maxRead)])
	if len(text) > maxRead { // the beginning of a key may be left at the end
		clean = clean[:max(len(clean)-s.longest, 0)]
	}
	return fmt.Sprintf("%.*s", maxText, strings.Join(strings.Fields(clean), " "))
}
