package corpus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/storage/accounts"
)

func TestSpec(t *testing.T) {
	s := Spec{Positions: 23_000, Chains: 3, Seed: 7, Genesis: "2026-01-01T00:00:00Z"}
	if err := s.SetDefaults(); err != nil {
		t.Fatal(err)
	}
	got := s.Config(Node{Market: Brisk, Refresh: 5 * time.Second})
	for _, want := range []string{
		"positions = 10000\n", "pools = 500\n", "actions = 40000\n", "days = 400\n", "frozen = false\n",
		"every = \"5s\"", "genesis = 2026-01-01T00:00:00Z\n", "id = \"bench-limited\"\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the configuration has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "enabled = false") {
		t.Errorf("a chain is off:\n%s", got)
	}

	one := Spec{Positions: 5000, Chains: 1}
	if err := one.SetDefaults(); err != nil || strings.Count(one.Config(Node{}), "enabled = false") != 2 {
		t.Errorf("one chain is %v:\n%s", err, one.Config(Node{}))
	}

	for _, bad := range []Spec{
		{Positions: 5000, Chains: 4}, {Positions: 5000}, {Positions: 2999, Chains: 3},
	} {
		if err := bad.SetDefaults(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestRecord(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, ErrNone) {
		t.Errorf("an empty directory is %v", err)
	}

	r := &Record{Spec: Spec{Positions: 5000, Chains: 1}, Events: 9}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	if back, err := Read(dir); err != nil || back.Events != 9 || back.Spec != r.Spec {
		t.Errorf("read again it is %+v, %v", back, err)
	}

	if err := os.WriteFile(filepath.Join(dir, recordName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("a damaged record is %v", err)
	}
}

// Keys are well-formed, all different, and nothing is billed to them yet.
func TestAddKeys(t *testing.T) {
	dir := t.TempDir()
	issued, err := AddKeys(dir, []Grant{{"scale", 3, 2500}, {"free", 2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	if len(issued) != 2 || len(issued[0]) != 2500 || len(issued[1]) != 4 {
		t.Fatalf("issued %d grants", len(issued))
	}

	seen := map[string]bool{}
	for _, keys := range issued {
		for _, k := range keys {
			if kind, ok := accounts.ParseKey([]byte(k)); !ok || kind != accounts.Server || seen[k] {
				t.Fatalf("key %q is malformed, or issued twice", k)
			}
			seen[k] = true
		}
	}
	if units, err := Billed(dir, time.Now()); err != nil || units != 0 {
		t.Errorf("%d units are billed: %v", units, err)
	}
}
