package main

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/edge/consistency"
	"tidemark/edge/telemetry"
	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

const settingsGuide = "../../edge/docs/settings.md"

// TestSettingsGuide holds the tables of the guide to settings and metrics: they
// are made of the configuration's own schema and of the list of metrics. With
// -update it writes them.
func TestSettingsGuide(t *testing.T) {
	raw, err := os.ReadFile(settingsGuide)
	if err != nil {
		t.Fatal(err)
	}
	guide := string(raw)

	l := &loaded{Config: defaultConfig(), origin: map[string]string{}}
	for _, table := range []struct{ head, body string }{
		{"| setting | default | allowed | changes on | meaning |", settingRows(t, l.settings())},
		{"`[[chains]]` tables", keyRows(t, "chains.", reflect.ValueOf(&ChainConfig{}).Elem())},
		{"Instead of `rpc`", keyRows(t, "chains.endpoints.", reflect.ValueOf(&EndpointConfig{}).Elem())},
		{"`[[plans]]` tables", keyRows(t, "plans.", reflect.ValueOf(&accounts.Plan{}).Elem())},
		{"| metric | type | labels | meaning |", metricRows()},
		{"| data | format | reads from |", fmt.Sprintf("| market data | %d | %d |\n| accounts | %d | %d |\n",
			storage.Format, storage.OldestFormat, accountstore.Format, accountstore.OldestFormat)},
	} {
		guide = replaceRows(t, guide, table.head, table.body)
	}

	if *updateMarkets {
		if err := os.WriteFile(settingsGuide, []byte(guide), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if guide != string(raw) && !*updateMarkets {
		t.Errorf("%s does not say what is; run go test -run TestSettingsGuide ./cmd/tidemark -update", settingsGuide)
	}
	for code, name := range map[int]string{0: "| done |", exitFailed: "| failed", exitUsage: "| the command line"} {
		if !strings.Contains(guide, fmt.Sprintf("| %d %s", code, name)) {
			t.Errorf("exit code %d is not in the guide", code)
		}
	}
	if unfinished := (&consistency.Unfinished{}).ExitCode(); exitUnfinished != exitUsage || unfinished != exitUsage ||
		!strings.Contains(guide, "`verify` or `check --url` could not be finished") {
		t.Errorf("exit codes %d of verify and %d of check are not in the guide", exitUnfinished, unfinished)
	}
}

// replaceRows puts rows under the head of the first table from a text on.
func replaceRows(t *testing.T, guide, from, rows string) string {
	t.Helper()
	start := strings.Index(guide, from)
	rule := strings.Index(guide[max(start, 0):], "\n|---")
	if start < 0 || rule < 0 {
		t.Fatalf("no table at %q", from)
	}

	at := start + rule + 1
	at += strings.IndexByte(guide[at:], '\n') + 1
	end := at
	for strings.HasPrefix(guide[end:], "|") {
		end += strings.IndexByte(guide[end:], '\n') + 1
	}
	return guide[:at] + rows + guide[end:]
}

func settingRows(t *testing.T, settings []setting) string {
	var rows strings.Builder
	for _, s := range settings {
		change := "restart"
		if slices.Contains(changeable, s.name) {
			change = "reload"
		}
		fmt.Fprintf(&rows, "| `%s` | `%s` | %s | %s | %s |\n", s.name, s.text(), allowedOf(s), change, aboutOf(t, s))
	}
	return rows.String()
}

func keyRows(t *testing.T, prefix string, table reflect.Value) string {
	var rows strings.Builder
	for _, s := range settingsOf(prefix, table) {
		key := strings.TrimPrefix(s.name, prefix)
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", key, allowedOf(s), aboutOf(t, s))
	}
	return rows.String()
}

func metricRows() string {
	var rows strings.Builder
	for _, m := range telemetry.Metrics {
		labels := cmp.Or(strings.Join(strings.Fields(m.Labels), ", "), "none")
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, m.Help)
	}
	return rows.String()
}

func aboutOf(t *testing.T, s setting) string {
	t.Helper()
	if s.about == "" {
		t.Errorf("%s says nothing about itself", s.name)
	}
	return s.about
}

// allowedOf is what check and set allow of a setting.
func allowedOf(s setting) string {
	for _, w := range words {
		if w.name == s.name {
			return "`" + strings.Join(w.allowed, "`, `") + "`"
		}
	}
	if b, bounded := boundOf(s.name); bounded {
		return b.String()
	}
	for _, d := range durations {
		if d.name == s.name {
			return d.String()
		}
	}

	_, allowed, _ := strings.Cut(s.allowed(), " ") // allowed is, allowed are
	_, allowed, _ = strings.Cut(allowed, " ")
	return allowed
}
