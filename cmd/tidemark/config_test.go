package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/archive"
	"tidemark/storage/accounts"
)

func TestSettingName(t *testing.T) {
	f := func(field, want string) {
		t.Helper()
		if got := settingName(field); got != want {
			t.Errorf("settingName(%s) = %s; want %s", field, got, want)
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
stables = ["0x0000000000000000000000000000000000000001", "0x0000000000000000000000000000000000000002"]
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
	f("from", l.originOf("limits.total-cap"), "environment TIDEMARK_LIMITS_TOTAL_CAP")
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
	f("own is public", l.Plans[5].Public, true)
	f("own max-api-keys", int(l.Plans[5].MaxAPIKeys), 1)
	f("days", l.originOf("sim.days"), "default")
	if from := l.originOf("limits.freshness"); !strings.HasSuffix(from, "tidemark.toml:5") {
		t.Errorf("limits.freshness is from %s; want line 5", from)
	}
}

// A shown configuration has the endpoints of its chains, and may listen on a socket whose path has
// colons.
func TestShownEndpoints(t *testing.T) {
	l, err := loadText(t, `listen = "unix:/run/a:b:c.sock"
[[chains]]
id = 1
[[chains.endpoints]]
url = "http://127.0.0.1:1"
[[chains.endpoints]]
url = "http://127.0.0.1:2"
`)
	if err != nil {
		t.Fatal(err)
	}

	var out strings.Builder
	l.printConfig(&out)
	shown := regexp.MustCompile(" +# .*").ReplaceAllString(out.String(), "")
	for _, want := range []string{
		"listen = \"unix:/run/a:b:c.sock\"", "\n[[chains.endpoints]]\nname = \"\"\nurl = \"http://127.0.0.1:1\"\n",
		"\n[[chains.endpoints]]\nname = \"\"\nurl = \"http://127.0.0.1:2\"\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the shown configuration has no %q", want)
		}
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

	f("data = \"\"", `tidemark.toml:1: data is ""; allowed is a directory such as ./data`)
	f("[prices]\nmarket-usd = nan", "tidemark.toml:2: prices.market-usd is NaN; allowed is a number from 0 on")
	f("[prices]\npeg = -1", "tidemark.toml:2: prices.peg is -1; allowed is a number from 0 on")
	f("[[chains]]\nid = 1\n[[chains.endpoints]]\nrequests-per-second = -0.5",
		"tidemark.toml:4: chains[0].endpoints[0].requests-per-second is -0.5; allowed is a number from 0 on")
	f("listen = \"127.0.0.1:81\"\nops-listen = \"127.0.0.1:81\"",
		`tidemark.toml:2: ops-listen is "127.0.0.1:81", as listen is; give each an address of its own`)
	f("listen = \"127.0.0.1:8081\"", `tidemark.toml:1: ops-listen is "127.0.0.1:8081", as listen is`)
	f("listen = 5", "tidemark.toml:1: listen is 5; allowed is text")
	f("\nlistn = \"x\"", "tidemark.toml:2: unknown key listn; known are data, listen")
	f("\n\"limits.pin\" = \"5s\"", "tidemark.toml:2: unknown key \"limits.pin\"; known are data, listen")
	f("[limits]\n\"pin.x\" = 5", "tidemark.toml:2: unknown key limits.\"pin.x\"; known are freshness")
	f("[limits]\nfresh = \"1s\"", "tidemark.toml:2: unknown key limits.fresh; known are freshness, total-cap")
	f("[limits]\nfreshness = \"soon\"", `tidemark.toml:2: limits.freshness is "soon"; allowed is a duration`)
	f("[limits]\nfreshness = \"-1s\"", `tidemark.toml:2: limits.freshness is "-1s"; allowed is a duration`)
	f("[limits]\ntotal-cap = -1", "tidemark.toml:2: limits.total-cap is -1; allowed is a whole number")

	// A list or table where a text belongs may hold a provider's key.
	const hidden = " is a list or table with an address; allowed is "
	f("[[chains]]\nid = 1\n[[chains.endpoints]]\nurl = [\"https://rpc.example/s3cret\"]",
		"tidemark.toml:4: chains[0].endpoints[0].url"+hidden)
	f("[[chains]]\nid = 1\nrpc = {url = \"https://rpc.example/s3cret\"}", "tidemark.toml:3: chains[0].rpc"+hidden)
	f("[[chains]]\nid = 1\nrpc = [[\"https://rpc.example/s3cret\"]]", "tidemark.toml:3: chains[0].rpc[0]"+hidden)
	f("[prices]\nurl = [\"https://prices.example/s3cret\"]", "tidemark.toml:2: prices.url"+hidden)
	f("[limits]\ntotal-cap = 0", "limits.total-cap is 0; allowed is 1 to 10000000")
	f("feed = \"tape\"", `feed is "tape"; allowed are sim, rpc`)
	f("feed = \"rpc\"", "chain 1 is enabled and has no node to read from")
	f("a = [", "tidemark.toml:1:")
	f("drain = \"0s\"\ndrain = \"1s\"", "tidemark.toml:2: drain is given twice")
	f("[limits]\npins = 3\n[limits]\nqueue = \"1s\"", "tidemark.toml:3: limits is given twice")
	f("[limits]\npins = 3\npins = 4", "tidemark.toml:3: limits.pins is given twice")
	f("\xff\xfe", "tidemark.toml is not a text in UTF-8")

	// Numbers that TOML cannot hold, and what is no number at all, name their key too.
	const huge = "99999999999999999999"
	f("[limits]\ntotal-cap = "+huge, "tidemark.toml:2: limits.total-cap: "+huge+" is out of range for int64; "+
		"allowed is a whole number from 1 to 10000000")
	f("archive-max-bytes = -"+huge, "tidemark.toml:1: archive-max-bytes: -"+huge)
	f("[prices]\npeg = 1e999", "tidemark.toml:2: prices.peg: 1e999 is out of range for float64; "+
		"allowed is a number from 0 on")
	f("\nlimits = { total-cap = "+huge+" }", "tidemark.toml:2: limits.total-cap: "+huge)
	f("[[chains]]\nid = 1\n[[chains.endpoints]]\nrequests-per-second = "+huge,
		"tidemark.toml:4: chains.endpoints.requests-per-second: "+huge)
	f("[[chains]]\nid = 1\nmax-log-range = 2_", `tidemark.toml:3: chains.max-log-range: Invalid integer "2_": `)
	f("[[plans]]\nid = \"free\"\nburst = "+huge, "tidemark.toml:3: plans.burst: "+huge+
		" is out of range for int64; allowed is a whole number from 0 to 1000000")
	f("[[plans]]\nid = \"free\"\nmax-api-keys = -1",
		"tidemark.toml:3: plans[0].max-api-keys is -1; allowed is a whole number from 1 on")
	f("[limits]\ntotal-cap = 7 8", "tidemark.toml:2: expected a top-level item to end with a newline")
	f("[[chains]]\nslug = \"x\"", "tidemark.toml:1: an entry of [[chains]] has no id")
	others := "[[chains]]\nid = 42161\nenabled = false\n[[chains]]\nid = 43114\nenabled = false\n"
	f(others+"[[chains]]\nid = 1\nenabled = false",
		"no chain is enabled; set enabled = true for one of [[chains]]")
	f("[[chains]]\nid = 5", "chain 5 is not built in and has no slug")
	f("[[chains]]\nid = 1\nstables = [\"0x12\"]", "tidemark.toml:3: chains[0].stables[0] is \"0x12\"")
	f("[[chains]]\nid = \"x\"", "tidemark.toml:2: chains[0].id is \"x\"; allowed is an EVM chain id from 1 on")
	f("[[chains]]\nid = 1\ncolour = \"x\"", "tidemark.toml:3: unknown key chains[0].colour; known are id, enabled")
	f("\nlimits = { total-cap = -1 }", "tidemark.toml:2: limits.total-cap is -1")
	f("\nchains = [{ id = 1, colour = \"x\" }]", "tidemark.toml:2: unknown key chains[0].colour")
	f("[[chains]]\nid = 1\nstables = []", "tidemark.toml:2: chain 1: cannot simulate 0 stable tokens")
	f("[[chains]]\nid = 1\nstables = [5]", "tidemark.toml:3: chains[0].stables[0] is 5; allowed is")
	f("[[chains]]\nid = 1\nendpoints = 5", "tidemark.toml:3: chains[0].endpoints is not an array of tables")
	f("\n\nlimits . 'total-cap' = 0", "tidemark.toml:3: limits.total-cap is 0")
	f("\n\n\"l\\u0069mits\".total-cap = 0", "tidemark.toml:1: limits.total-cap is 0") // where, it cannot tell
	f("\nlimits = 1", "tidemark.toml:2: limits is not a table; its settings stand below a line [limits]")
	f("[[limits]]\ntotal-cap = 1", "tidemark.toml:1: limits is not a table")
	f("\n[limits.deep]\nx = 1", "tidemark.toml:2: unknown key limits.deep")
	f("[[plans]]\nid = \"free\"\nburst = 0", "plan free: burst is 0")
	f("", `environment TIDEMARK_SIM_DAYS: sim.days is "many"; allowed is a whole number`, "TIDEMARK_SIM_DAYS=many")
	f("[prices]\nfile = \"a\"\nurl = \"b\"", "are both set")
	for _, text := range []string{"prices.example", "ftp://prices.example", "http:///usd.json", "http://[::1"} {
		f("[prices]\nurl = \""+text+"\"", "tidemark.toml:2: prices.url is no http or https URL; allowed is one such as")
	}
	f("[tls]\ncert = \"a\"", "tidemark.toml:2: tls.cert is set and tls.key is not; set both or none")
	f("[tls]\nkey = \"a\"", "tidemark.toml:2: tls.key is set and tls.cert is not")
	f("[log]\nlevel = \"loud\"", `log.level is "loud"; allowed are debug, info, warn, error`)
	f("listen = \"127.0.0.1:65536\"", `listen is "127.0.0.1:65536"; allowed is HOST:PORT`)
	f("ops-listen = \"127.0.0.1:nothing\"", `ops-listen is "127.0.0.1:nothing"; allowed is HOST:PORT`)
	f("listen = \"unix:\"", `listen is "unix:"; allowed is HOST:PORT such as 127.0.0.1:8080, or unix:PATH`)
	f("[refresh]\nevery = \"1ms\"", "refresh.every is 1ms; allowed is 10ms or more")
}

// A bare number is no duration: nobody means nanoseconds.
func TestDurationNeedsUnit(t *testing.T) {
	for _, name := range []string{"refresh.every", "limits.freshness", "metering.flush", "log.slow", "drain"} {
		table, key, found := strings.Cut(name, ".")
		text, line := "["+table+"]\n"+key, 2
		if !found {
			text, line = name, 1
		}
		where := fmt.Sprintf("tidemark.toml:%d: ", line)
		checkRefused(t, text+" = 45", where+name+" is 45; allowed is a duration such as")
		checkRefused(t, text+` = "45"`, where+name+` is "45"; allowed is a duration such as`)
	}
}

// Every bound of a setting holds on both sides, by the file and by the
// environment.
func TestConfigBounds(t *testing.T) {
	variable := func(name string, value any) string {
		return setting{name: name}.variable() + "=" + fmt.Sprint(value)
	}
	accepted := func(name string, value any) {
		t.Helper()
		if _, err := loadText(t, "", variable(name, value)); err != nil {
			t.Errorf("%s = %v is refused: %v", name, value, err)
		}
	}

	for _, b := range bounds {
		checkRefused(t, "", fmt.Sprintf("environment %s: %s is %d; allowed is %d to %d",
			setting{name: b.name}.variable(), b.name, b.most+1, b.least, b.most), variable(b.name, b.most+1))
		if b.least > 0 {
			checkRefused(t, "", fmt.Sprintf("%s is %d; allowed is", b.name, b.least-1), variable(b.name, b.least-1))
		}
		if b.name == "sim.pools" || b.name == "sim.positions" {
			continue // one bounds the other
		}
		accepted(b.name, b.most)
		accepted(b.name, b.least)
	}

	for _, d := range durations {
		accepted(d.name, d.least)
		if d.least > 0 {
			checkRefused(t, "", fmt.Sprintf("%s is %s; allowed is", d.name, d.least-1), variable(d.name, d.least-1))
		}
		if d.most < 24*time.Hour {
			accepted(d.name, d.most)
			checkRefused(t, "", fmt.Sprintf("%s is %s; allowed is", d.name, d.most+1), variable(d.name, d.most+1))
		}
	}
}

// Segments of the archive are neither small nor huge, and a bound of the archive has room
// for two.
func TestArchiveBounds(t *testing.T) {
	f := func(segment, most uint64, problem string) {
		t.Helper()
		environ := []string{
			fmt.Sprint("TIDEMARK_ARCHIVE_SEGMENT_BYTES=", segment), fmt.Sprint("TIDEMARK_ARCHIVE_MAX_BYTES=", most),
		}
		if problem != "" {
			checkRefused(t, "", problem, environ...)
		} else if _, err := loadText(t, "", environ...); err != nil {
			t.Errorf("segments of %d bytes, at most %d: %v", segment, most, err)
		}
	}

	f(archive.MinSegmentBytes, 0, "")
	f(archive.MinSegmentBytes, 2*archive.MinSegmentBytes, "")
	f(4<<30, 0, "")
	f(archive.MinSegmentBytes-1, 0, "archive-segment-bytes is")
	f(4<<30+1, 0, "archive-segment-bytes is 4294967297; allowed is")
	f(archive.MinSegmentBytes, 2*archive.MinSegmentBytes-1, "archive-max-bytes is")
	f(archive.MinSegmentBytes, 1, "archive-max-bytes is 1; allowed is 0, or")
}

// A chain has an archive where one is wanted and the market is not simulated.
func TestOpenedArchives(t *testing.T) {
	for _, feed := range []string{"sim", "rpc"} {
		for _, wanted := range []bool{false, true} {
			l := &loaded{Config: defaultConfig()}
			l.Data, l.Feed, l.Archive = t.TempDir(), feed, wanted

			var log strings.Builder
			a, err := l.openArchive(&ChainConfig{ID: 1}, nil, metrics.NewSet(), slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(log.String(), `msg="the archive is empty" chain=1`); told != (a != nil) {
				t.Errorf("feed %s, archive = %v: the log has %q", feed, wanted, log.String())
			}
			if want := wanted && feed == "rpc"; (a != nil) != want {
				t.Errorf("feed %s, archive = %v: there is one: %v; want %v", feed, wanted, a != nil, want)
			}
			if a != nil {
				_ = a.Close()
			}
		}
	}
}

// The bounds themselves, as they are documented.
func TestDocumentedBounds(t *testing.T) {
	f := func(name string, least, most int64) {
		t.Helper()
		for _, b := range bounds {
			if b.name == name && b.least == least && b.most == most {
				return
			}
		}
		t.Errorf("%s is not bounded by %d and %d", name, least, most)
	}

	f("limits.total-cap", 1, 10_000_000)
	f("limits.selections", 1, 100_000)
	f("limits.pins", 1, 64)
	f("limits.connections", 64, 1_000_000)
	f("limits.unsent-bytes", 16_384, 67_108_864)
	f("sim.days", 1, 3650)
	f("sim.pools", 5, 1_000_000)
	f("sim.positions", 15, 100_000_000)
}

// A size of the simulated market that is out of its bounds is one mistake, with one limit,
// and not one of each chain too.
func TestConfigTellsOneMistakeOnce(t *testing.T) {
	f := func(name string, value int, want string) {
		t.Helper()
		_, err := loadText(t, fmt.Sprintf("[sim]\n%s = %d", name, value))
		want = fmt.Sprintf("tidemark.toml:2: sim.%s is %d; allowed is %s", name, value, want)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "mistakes") {
			t.Errorf("it says %v; want %s", err, want)
		}
	}

	f("days", 0, "1 to 3650")
	f("days", 3651, "1 to 3650")
	f("pools", 4, "5 to 1000000")
	f("positions", 14, "15 to 100000000")
}

// A market does not begin before the times of blocks do.
func TestGenesisBounds(t *testing.T) {
	checkRefused(t, "[sim]\ngenesis = 1969-12-31T23:00:00Z",
		`sim.genesis is 1969-12-31T23:00:00Z; allowed is 1970-01-01T00:00:00Z or later, or ""`)
	if _, err := loadText(t, "[sim]\ngenesis = 1970-01-01T00:00:00Z"); err != nil {
		t.Error(err)
	}

	// Without a time zone it would be another time on another machine.
	const allowed = `T00:00:00 without a time zone; allowed is a time such as 2026-01-02T15:00:00Z, or ""`
	checkRefused(t, "[sim]\ngenesis = 2026-01-01T00:00:00", "tidemark.toml:2: sim.genesis is 2026-01-01"+allowed)
	checkRefused(t, "[sim]\ngenesis = 2026-01-01", "tidemark.toml:2: sim.genesis is 2026-01-01"+allowed)
	if l, err := loadText(t, "[sim]\ngenesis = 2026-01-01T02:00:00+02:00"); err != nil || l.Sim.Genesis.Hour() != 0 {
		t.Error(err)
	}
}

// All mistakes of a plan are told at once.
func TestMistakesOfAPlan(t *testing.T) {
	_, err := loadText(t, "[[plans]]\nid = \"free\"\nmonthly-units = 99999999999999999\nmax-api-keys = 0\nburst = 0\n"+
		"requests-per-second = 5")
	for _, want := range []string{
		"tidemark.toml:3: plan free: monthly-units is 99999999999999999", "tidemark.toml:4: plan free: max-api-keys is 0",
		"tidemark.toml:5: plan free: burst is 0",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v; want %q among it", err, want)
		}
	}
}

// TestPlanBounds holds what the guide and the messages allow of a plan to what is checked.
func TestPlanBounds(t *testing.T) {
	for _, b := range planBounds {
		f := func(value int64, allowed bool) {
			t.Helper()
			p := accounts.Plan{ID: "own", RequestsPerSecond: 1, Burst: 1, MaxAPIKeys: 1}
			for _, s := range settingsOf("plans.", reflect.ValueOf(&p).Elem()) {
				if s.name == b.name {
					s.value.SetInt(value)
				}
			}
			if wrong := p.Mistakes(); (len(wrong) == 0) != allowed {
				t.Errorf("%s = %d: %v; want it allowed: %t", b.name, value, wrong, allowed)
			}
		}

		least := b.least
		if b.name == "plans.burst" {
			least = 1 // with requests-per-second
		}
		f(least, true)
		f(least-1, false)
		f(b.most, true)
		if b.most < math.MaxInt64 {
			f(b.most+1, false)
		}
	}
}

// A value of the wrong type is told the setting's own range.
func TestAllowedIsOwnRange(t *testing.T) {
	f := func(table, key, want string) {
		t.Helper()
		checkRefused(t, fmt.Sprintf("[%s]\n%s = []", table, key), "is []; allowed "+want)
	}

	f("limits", "total-cap", "is a whole number from 1 to 10000000")
	f("limits", "export-rows", "is a whole number from 1 to 10000000")
	f("sim", "actions", "is a whole number from 0 on")
	f("refresh", "every", `is a duration such as "45s", 10ms or more`)
	f("log", "level", "are debug, info, warn, error")
	f("log", "slow", `is a duration such as "45s", "2m" or "0s"`)
}

// Defaults, the file, the environment, flags: each wins over those before it.
func TestConfigOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tidemark.toml")
	if err := os.WriteFile(path, []byte("data = \"file\"\nlisten = \"127.0.0.1:1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(environ, flag, want, from string) {
		t.Helper()
		l, err := loadConfig(path, []string{"TIDEMARK_DATA=" + environ}, map[string]string{"data": flag})
		if err != nil || l.Data != want || l.originOf("data") != from {
			t.Errorf("environment %q, flag %q: data is %s from %s, %v; want %s from %s",
				environ, flag, l.Data, l.originOf("data"), err, want, from)
		}
	}

	f("", "", "file", "file "+path+":1")
	f("environ", "", "environ", "environment TIDEMARK_DATA")
	f("", "flag", "flag", "flag --data")
	f("environ", "flag", "flag", "flag --data")
}

// Every mistake is told at once, with its place and what is allowed.
func TestConfigTellsEveryMistake(t *testing.T) {
	_, err := loadText(t, `listen = "nowhere"
[limits]
freshnes = "1s"
total-cap = 0
[sim]
pools = 1
[[chains]]
id = 1
max-log-range = 0
[[chains]]
id = 1
[[plans]]
id = "free"
max-api-keys = 0
`, "TIDEMARK_SIM_DAYS=many")
	if err == nil {
		t.Fatal("it is accepted")
	}

	said := err.Error()
	for _, want := range []string{
		"8 mistakes in the configuration:",
		`tidemark.toml:1: listen is "nowhere"; allowed is HOST:PORT`,
		"tidemark.toml:3: unknown key limits.freshnes; known are freshness, ",
		"tidemark.toml:4: limits.total-cap is 0; allowed is 1 to 10000000",
		"tidemark.toml:6: sim.pools is 1; allowed is 5 to 1000000",
		"tidemark.toml:9: chain 1: max-log-range is 0; allowed is 1 or more",
		"tidemark.toml:10: the id 1 is that of the entry in line 7 too",
		"tidemark.toml:14: plan free: max-api-keys is 0; it is at least 1",
		`environment TIDEMARK_SIM_DAYS: sim.days is "many"; allowed is a whole number from 1 to 3650`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it says\n%s\nwant %q", said, want)
		}
	}
}

// What made serve fail and was good to config check: the feeds are made by both.
func TestConfigMakesFeeds(t *testing.T) {
	others := "[[chains]]\nid = 42161\nenabled = false\n[[chains]]\nid = 43114\nenabled = false\n"
	f := func(text, want string) {
		t.Helper()
		checkRefused(t, text, want)
	}

	f("feed = \"rpc\"\n"+others+"[[chains]]\nid = 1\nrpc = [\"127.0.0.1:8545\"]",
		"tidemark.toml:10: chain 1: address 1 of rpc is not an http, https, ws or wss URL; "+
			"allowed is a URL with its scheme such as http://127.0.0.1:8545")
	f("feed = \"rpc\"\n"+others+"[[chains]]\nid = 1\nrpc = [\"ws://127.0.0.1:8545\"]",
		"tidemark.toml:10: cannot make the feed of chain 1: chain 1 has ws and wss addresses only")
	f("[sim]\npools = 9", "tidemark.toml:2: chain 43114 with sim.pools = 9, ")
	f("[sim]\npositions = 100", "tidemark.toml:2: chain 1 with sim.pools = 80, sim.positions = 100")
	f("[sim]\nactions = 9", "cannot simulate 3000 positions with 9 actions; at least 12000")
	f("[tls]\ncert = \"no\"\nkey = \"no\"", "tidemark.toml:2: cannot use tls.cert no with tls.key no: open no")
}

func TestStrayVariable(t *testing.T) {
	l, err := loadText(t, "")
	if err != nil {
		t.Fatal(err)
	}
	f := func(variable, want string) {
		t.Helper()
		if said := l.strayVariable(variable); !strings.Contains(said, want) {
			t.Errorf("%s: %s; want %q", variable, said, want)
		}
	}

	f("TIDEMARK_LISTN", "environment TIDEMARK_LISTN is not a setting and has no effect; did you mean TIDEMARK_LISTEN?")
	f("TIDEMARK_LIMITS_TOTALCAP", "did you mean TIDEMARK_LIMITS_TOTAL_CAP?")
	f("TIDEMARK_CONFIG", "`tidemark config print` lists the settings")
	f("TIDEMARK_PORT_8080_TCP_ADDR", "`tidemark config print` lists the settings")
}

func TestConfigForeignVariable(t *testing.T) {
	l, err := loadText(t, "", "TIDEMARK_LIMIT=1", "TIDEMARK_DATA=x", "TIDEMARK_BENCH_KEY=y")
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
	l.printConfig(&printed)
	for _, part := range []string{"\n\n[limits]\nfreshness = ", "\ntotal-cap = 7 ", "\n\n[[chains]]\nid = 1 "} {
		if !strings.Contains(printed.String(), part) {
			t.Errorf("printed\n%s\nwant %q", printed.String(), part)
		}
	}
	again, err := loadText(t, printed.String())
	if err != nil {
		t.Fatalf("%s in\n%s", err, printed.String())
	}

	var twice strings.Builder
	again.printConfig(&twice)
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

// Of every text that a setting can have, what is printed is TOML 1.0, and read as the same.
func TestPrintedText(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := quoteText(text); got != want {
			t.Errorf("%q is printed as %s; want %s", text, got, want)
		}
		var read struct{ Text string }
		if _, err := toml.Decode("text = "+want, &read); err != nil || read.Text != text {
			t.Errorf("%s is read as %q, %v; want %q", want, read.Text, err, text)
		}
	}

	f("", `""`)
	f(`a "b" \c`, `"a \"b\" \\c"`)
	f("\x01\a\v\x7f\n", `"\u0001\u0007\u000b\u007f\u000a"`)
	f("é…\u200b\U000e0001😀", `"é…\u200b\U000e0001😀"`)
}

// TestOriginsInTables checks that chains and plans say what each of their keys comes from.
func TestOriginsInTables(t *testing.T) {
	l, err := loadText(t, `[[chains]]
id = 1
start-block = 7
[[chains.endpoints]]
name = "own"
url = "http://127.0.0.1:8545"
roles = ["backfill", "live"]
[[plans]]
id = "free"
burst = 99`)
	if err != nil {
		t.Fatal(err)
	}

	var printed strings.Builder
	l.printConfig(&printed)
	for _, line := range []string{
		`id = 1 +# file \S+:2`, `start-block = 7 +# file \S+:3`, `slug = "\S+" +# default`,
		`url = "http://127.0.0.1:8545" +# file \S+:6`, `timeout = "\S+" +# default`, `burst = 99 +# file \S+:10`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(printed.String()) {
			t.Errorf("printed\n%s\nwant the line %s", &printed, line)
		}
	}

	tree := l.tree()
	chains, plans := tree["chains"].([]map[string]any), tree["plans"].([]map[string]any)
	from := func(table map[string]any, key string) string { return table["from"].(map[string]string)[key] }
	for _, got := range []struct{ from, want string }{
		{from(chains[0], "start-block"), ":3"}, {from(chains[0], "slug"), "default"}, {from(chains[1], "id"), "default"},
		{from(chains[0]["endpoints"].([]map[string]any)[0], "url"), ":6"}, {from(plans[0], "id"), ":9"},
	} {
		if !strings.HasSuffix(got.from, got.want) {
			t.Errorf("a key comes from %q; want %q", got.from, got.want)
		}
	}
}
