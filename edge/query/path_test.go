package query

import (
	"strings"
	"testing"
)

func TestOwnerAddress(t *testing.T) {
	if a, err := Owner([]byte(owner)); err != nil || a.String() != strings.ToLower(owner) {
		t.Errorf("%s: got %v, %v", owner, a, err)
	}
	for _, bad := range []string{"", "0x", owner[:41], owner + "0", "0X" + owner[2:], owner[2:], pool1} {
		want := "is not an address; the format is 0x and 40 hex digits"
		if a, err := Owner([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want %q", bad, a, err, want)
		}
	}
}
