package disktest

import (
	"os"
	"testing"
)

// Share returns how many rounds a test of crashes, damage or failing disks runs: few of
// them in `make test`, more in `make torture-quick`, all in `make torture`.
func Share(few, quick, full int) int {
	switch os.Getenv("TIDEMARK_TORTURE") {
	case "full":
		return full
	case "quick":
		return quick
	}
	return few
}

// Figure prints a line of `make torture`.
func Figure(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf("figure: "+format, args...)
}
