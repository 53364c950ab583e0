package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDashed(t *testing.T) {
	f := func(field, want string) {
		t.Helper()
		if got := dashed(field); got != want {
			t.Errorf("dashed(%s) = %s; want %s", field, got, want)
		}
	}

	f("Data", "data")
	f("TotalCap", "total-cap")
	f("MaxAPIKeys", "max-api-keys")
	f("ExplorerURL", "explorer-url")
	f("RPC", "rpc")
	f("ID", "id")
	f("OpsListen", "ops-listen")
}

func loadText(t *testing.T, text string, environ ...string) (*loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tidemark.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(path, environ, map[string]string{})
}

func TestConfigLayers(t *testing.T) {
	l, err := loadText(t, `
listen = "127.0.0.1:9000"
ops-listen = "127.0.0.1:9001"
[limits]
freshness = "30s"
total-cap = 7
count-wait = 0
[sim]
genesis = 2026-01-02T03:00:00Z
[prices]
market-usd = 500
hook-allow = ["0x00000000000000000000000000000000000000aa"]
[[chains]]
id = 1
rpc = ["http://127.0.0.1:1"]
[[chains]]
id = 43114
enabled = false
[[chains]]
id = 31337
slug = "dev"
pool-manager = "0x00000000000000000000000000000000000000aa"
position-manager = "0x00000000000000000000000000000000000000ab"
[[plans]]
id = "free"
monthly-units = 9
[[plans]]
id = "own"
name = "Own"
`, "TIDEMARK_LIMITS_TOTAL_CAP=8", "TIDEMARK_REFRESH_EVERY=1s", "PATH=/bin")

	if err != nil {
		t.Fatal(err)
	}

	f := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v; want %v", what, got, want)
		}
	}

	f("listen", l.Listen, "127.0.0.1:9000")
	f("freshness", l.Limits.Freshness, 30*time.Second)
	f("count-wait", l.Limits.CountWait, time.Duration(0))
	f("total-cap", l.Limits.TotalCap, 8)
	f("from", l.from("limits.total-cap"), "environment TIDEMARK_LIMITS_TOTAL_CAP")
	f("every", l.Refresh.Every, time.Second)
	f("market-usd", l.Prices.MarketUsd, 500.0)
	f("genesis", l.Sim.Genesis.Unix(), int64(1767322800))
	f("chains", len(l.Chains), 4)
	f("chain 1 slug", l.Chains[0].Slug, "ethereum")
	f("chain 1 rpc", l.Chains[0].RPC[0], "http://127.0.0.1:1")
	f("chain 43114", l.Chains[2].Enabled, false)
	f("chain 31337", l.Chains[3].MaxLogRange, uint64(2000))
	f("plans", len(l.Plans), 6)
	f("free", l.Plans[0].MonthlyUnits, int64(9))
	f("free name", l.Plans[0].Name, "Free")
	f("days", l.from("sim.days"), "default")
	if from := l.from("limits.freshness"); !strings.HasSuffix(from, "tidemark.toml:5") {
		t.Errorf("limits.freshness is from %s; want line 5", from)
	}
}

// checkRefused loads a file that must be refused with a message.
func checkRefused(t *testing.T, text, want string, environ ...string) {
	t.Helper()
	_, err := loadText(t, text, environ...)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\nwas answered %v; want %q", text, err, want)
	}
}

func TestConfigRefuses(t *testing.T) {
	f := func(text, want string, environ ...string) {
		t.Helper()
		checkRefused(t, text, want, environ...)
	}

	f("listen = 5", "tidemark.toml:1: listen is 5; allowed is text")
	f("\nlistn = \"x\"", "tidemark.toml:2: unknown key listn; known are data, listen")
	f("[limits]\nfresh = \"1s\"", "tidemark.toml:2: unknown key limits.fresh; known are freshness, total-cap")
	f("[limits]\nfreshness = \"soon\"", `tidemark.toml:2: limits.freshness is "soon"; allowed is a duration`)
	f("[limits]\ntotal-cap = -1", "tidemark.toml:2: limits.total-cap is -1; allowed is a whole number")
	f("[limits]\ntotal-cap = 0", "limits.total-cap is 0; allowed is 1 to 10000000")
	f("feed = \"tape\"", `feed is "tape"; allowed are sim, rpc`)
	f("feed = \"rpc\"", "chain 1 is enabled and has no node to read from")
	f("a = [", "tidemark.toml:1:")
	f("[[chains]]\nslug = \"x\"", "tidemark.toml:1: an entry of [[chains]] has no id")
	f("[[chains]]\nid = 5", "chain 5 is not built in and has no slug")
	f("[[chains]]\nid = 1\nstables = [\"0x12\"]", "tidemark.toml:3: chains[0].stables[0] is \"0x12\"")
	f("[[chains]]\nid = 1\ncolour = \"x\"", "tidemark.toml:3: unknown key chains[0].colour; known are id, enabled")
	f("\nlimits = { total-cap = -1 }", "tidemark.toml:2: limits.total-cap is -1")
	f("\nchains = [{ id = 1, colour = \"x\" }]", "tidemark.toml:2: unknown key chains[0].colour")
	f("[[plans]]\nid = \"free\"\nburst = 0", "plan free: burst is 0")
	f("", `environment TIDEMARK_SIM_DAYS: sim.days is "many"; allowed is a whole number`, "TIDEMARK_SIM_DAYS=many")
	f("[prices]\nfile = \"a\"\nurl = \"b\"", "are both set")
	f("[tls]\ncert = \"a\"", "only one is set; set both or none")
	f("[log]\nlevel = \"loud\"", `log.level is "loud"; allowed are debug, info, warn, error`)
	f("listen = \"unix:\"", `listen is "unix:"; allowed is HOST:PORT such as 127.0.0.1:8080, or unix:PATH`)
	f("[refresh]\nevery = \"1ms\"", "refresh.every is 1ms; allowed is 10ms or more")
}

func TestConfigForeignVariable(t *testing.T) {
	l, err := loadText(t, "", "TIDEMARK_LIMIT=1", "TIDEMARK_DATA=x")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.ignored) != 1 || l.ignored[0] != "TIDEMARK_LIMIT" || l.Data != "x" {
		t.Errorf("ignored are %v, data is %s", l.ignored, l.Data)
	}
}

func TestConfigPrintIsConfig(t *testing.T) {
	l, err := loadText(t, "[limits]\ntotal-cap = 7\n"+strings.Replace(twoEndpoints, `feed = "rpc"`, "", 1))
	if err != nil {
		t.Fatal(err)
	}

	var printed strings.Builder
	l.print(&printed)
	again, err := loadText(t, printed.String())
	if err != nil {
		t.Fatalf("%s in\n%s", err, printed.String())
	}

	var twice strings.Builder
	again.print(&twice)
	strip := func(s string) string {
		var lines []string
		for line := range strings.Lines(s) {
			before, _, _ := strings.Cut(line, " # ")
			lines = append(lines, strings.TrimSpace(before))
		}
		return strings.Join(lines, "\n")
	}

	if strip(printed.String()) != strip(twice.String()) {
		t.Errorf("printed\n%s\nis read as\n%s", printed.String(), twice.String())
	}
}
