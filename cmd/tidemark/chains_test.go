package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	f := func(answer string, want bool) {
		t.Helper()
		var asked bytes.Buffer
		if got := confirm(strings.NewReader(answer), &asked, "sure? "); got != want || asked.String() != "sure? " {
			t.Errorf("%q is %v after %q; want %v", answer, got, asked.String(), want)
		}
	}

	f("y\n", true)
	f("Yes\n", true)
	f("n\n", false)
	f("\n", false)
	f("", false)
}

// On a terminal a chain is dropped only after a yes; the question goes to the output.
func TestResyncQuestion(t *testing.T) {
	ours, theirs := terminal(t)
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()

	f := func(answer, want string) {
		t.Helper()
		if _, err := ours.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		c := &ChainsResyncCmd{ID: 10}
		c.Data = t.TempDir() // no node runs on it
		os.Stdin, os.Stdout = theirs, out
		err := c.Run()
		os.Stdin, os.Stdout = stdin, stdout
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is answered %v; want %s", answer, err, want)
		}
	}
	f("n", "nothing was changed")
	f("y", "cannot reach a node")

	said, err := os.ReadFile(out.Name())
	if got := strings.Count(string(said), "Drop everything kept of chain 10 and index it"); err != nil || got != 2 {
		t.Errorf("it asks %q, %v", said, err)
	}
}
