package main

import (
	"net"
	"strings"
	"testing"
)

// A text with characters that mean something to a shell is quoted.
func TestShellWord(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := shellWord(text); got != want {
			t.Errorf("%q is %s; want %s", text, got, want)
		}
	}
	f("/srv/tidemark-1/data", "/srv/tidemark-1/data")
	f("my data", "'my data'")
	f("", "''")
	f("$HOME/it's", `'$HOME/it'\''s'`)
}

// Commands that errors advise can be pasted, whatever the directories are called.
func TestAdvisedCommands(t *testing.T) {
	data := "/srv/my data"
	f := func(advice, command string) {
		t.Helper()
		if !strings.Contains(advice, command) {
			t.Errorf("the advice is %q; it should have %s", advice, command)
		}
	}

	f(errUnasked(data, &net.OpError{Op: "dial"}).Error(), "tidemark serve --data '/srv/my data'")
	f(restoreAdvice(data), "`tidemark restore BACKUP --data '/srv/my data'`")
}
