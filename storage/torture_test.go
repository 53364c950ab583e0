package storage

import (
	"os"
	"testing"
)

// tortureEnv makes the tests of crashes, damage and failing disks run as many rounds
// as `make torture` wants instead of a bounded share.
const tortureEnv = "TIDEMARK_TORTURE"

// share returns the first number, or the second one in `make torture`.
func share(few, all int) int {
	if os.Getenv(tortureEnv) != "" {
		return all
	}
	return few
}

// figure prints a line of `make torture`.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf("figure: "+format, args...)
}
