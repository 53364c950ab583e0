package telemetry

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMetricsAreInOrder(t *testing.T) {
	if !slices.IsSortedFunc(Metrics, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the list is not sorted by name")
	}

	for _, m := range Metrics {
		if !slices.Contains([]string{"counter", "gauge", "histogram"}, m.Type) || m.Help == "" {
			t.Errorf("%s is a %s; %s", m.Name, m.Type, m.Help)
		}
		if total := strings.HasSuffix(m.Name, "_total"); total != (m.Type == "counter") {
			t.Errorf("%s is a %s: counters alone end in _total", m.Name, m.Type)
		}
		if _, ok := find(m.Name); !ok {
			t.Errorf("%s is not found", m.Name)
		}
	}
}

func TestAppendHelp(t *testing.T) {
	exposition := "# HELP tidemark_disk_free_bytes\n# TYPE tidemark_disk_free_bytes gauge\n" +
		"tidemark_disk_free_bytes 5\n# HELP other\nother 1\n"
	want := "kept # HELP tidemark_disk_free_bytes Free space where the data is.\n" +
		"# TYPE tidemark_disk_free_bytes gauge\ntidemark_disk_free_bytes 5\n# HELP other\nother 1\n"
	if got := string(AppendHelp([]byte("kept "), []byte(exposition))); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

var seriesPattern = regexp.MustCompile(`(tidemark_[a-z_]+)(?:\{([^}]*)\})?`)

var labelPattern = regexp.MustCompile(`([a-z]+)\s*(?:=~|!~|!=|=)`)

// checkExpression reports series and labels that no node has.
func checkExpression(t *testing.T, where, text string) (used []string) {
	t.Helper()
	for _, m := range seriesPattern.FindAllStringSubmatch(text, -1) {
		name, suffix := m[1], ""
		for _, s := range []string{"_bucket", "_count", "_sum"} {
			if base, ok := strings.CutSuffix(name, s); ok {
				name, suffix = base, s
			}
		}

		metric, ok := find(name)
		if !ok || (suffix != "") != (metric.Type == "histogram") {
			t.Errorf("%s has %s%s, which no node exposes", where, name, suffix)
			continue
		}
		used = append(used, name)
		for _, l := range labelPattern.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(strings.Fields(metric.Labels+" instance job le"), l[1]) {
				t.Errorf("%s asks %s for the label %s; it has %s", where, name, l[1], metric.Labels)
			}
		}
	}
	return used
}

// What the dashboard draws and what the rules compare is there.
func TestDashboardAndRules(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}

	var drawn []string
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %s draws nothing", p.Title)
		}
		for _, target := range p.Targets {
			drawn = append(drawn, checkExpression(t, "the panel "+p.Title, target.Expr)...)
		}
	}
	for _, name := range []string{ // what an operator looks for first
		"tidemark_edge_request_seconds", "tidemark_chain_lag_blocks", "tidemark_chain_lag_seconds",
		"tidemark_chain_generation_age_seconds", "tidemark_chain_refresh_seconds", "tidemark_chain_commit_seconds",
		"tidemark_store_log_bytes_total", "tidemark_disk_free_bytes", "tidemark_edge_units_charged_total",
		"tidemark_edge_page_cache_total", "tidemark_edge_selections", "tidemark_feed_requests_total",
		"tidemark_feed_errors_total", "tidemark_build_info",
	} {
		if !slices.Contains(drawn, name) {
			t.Errorf("the dashboard does not draw %s", name)
		}
	}

	for _, file := range []string{"rules.yml", "rules.test.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(checkExpression(t, file, string(text))) == 0 {
			t.Errorf("%s names no metric", file)
		}
	}
}

// Every rule is raised by a test of promtool's.
func TestEveryRuleIsTested(t *testing.T) {
	rules, err := os.ReadFile("rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("rules.test.yml")
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(tests), `alertname="`+m[1]+`"`) {
			t.Errorf("no test raises %s", m[1])
		}
	}
}
