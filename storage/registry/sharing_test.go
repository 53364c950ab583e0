package registry

import (
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
)

// bulletin is the changes that nodes of one process share.
type bulletin struct {
	last    uint64
	changes map[string]Change
}

func (b *bulletin) Publish(c Change, after uint64) (uint64, error) {
	if after != b.last {
		return 0, ErrOutdated
	}
	b.last++
	c.Number = b.last
	b.changes[c.Name()] = c
	return b.last, nil
}

func (b *bulletin) Read() ([]Change, error) {
	all := slices.Collect(maps.Values(b.changes))
	slices.SortFunc(all, func(x, y Change) int { return int(x.Number) - int(y.Number) })
	return all, nil
}

// A node that has missed changes reads the last one of every record. An account that was
// changed since is behind its own keys then, and behind accounts that are newer. The node
// takes them all, and its next account has a number of its own.
func TestMissedChangesInAnyOrder(t *testing.T) {
	b := &bulletin{changes: map[string]Change{}}
	open := func() *Registry {
		r, _, err := OpenShared(openStore(t, vfs.NewMem()), accounts.DefaultPlans(), testStart, b)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	writer, late := open(), open()

	for _, name := range []string{"old", "new"} {
		if _, err := writer.CreateAccount(name, "free"); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.IssueKey(KeyRequest{Account: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := writer.Suspend("old"); err != nil {
		t.Fatal(err)
	}
	if _, err := late.CreateAccount("next", "free"); err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, v := range late.AccountList() {
		names = append(names, v.Name)
	}
	if want := []string{"old", "new", "next"}; !slices.Equal(names, want) {
		t.Errorf("the late node lists %q; want %q", names, want)
	}
	ids := map[uint64]string{}
	for name, at := range late.accounts {
		if other, taken := ids[at.record.ID]; taken {
			t.Errorf("%s and %s have the number %d", name, other, at.record.ID)
		}
		ids[at.record.ID] = name
	}
	if n := len(late.keys); n != 2 {
		t.Errorf("the late node has %d keys; want 2", n)
	}
}
