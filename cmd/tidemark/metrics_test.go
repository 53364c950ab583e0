package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors/cluster/natstest"
	"tidemark/bench/process"
	"tidemark/edge/telemetry"
)

// exposed is a family as a node exposes it.
type exposed struct {
	kind, help string
	labels     []string
}

var samplePattern = regexp.MustCompile(`^(tidemark_\w+?)(_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`)

// scrape reads the families of an exposition.
func scrape(t *testing.T, text string) map[string]*exposed {
	t.Helper()
	families := map[string]*exposed{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "# HELP tidemark_"); ok {
			name, help, _ := strings.Cut(rest, " ")
			families["tidemark_"+name] = &exposed{help: help}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE tidemark_"); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if families["tidemark_"+name] == nil {
				t.Fatalf("%q has no HELP", line)
			}
			families["tidemark_"+name].kind = kind
			continue
		}

		m := samplePattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		family := families[m[1]]
		if family == nil {
			family = families[m[1]+m[2]]
		}
		if family == nil {
			t.Fatalf("%q has no TYPE", line)
		}
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[3], -1) {
			if l[1] != "le" && !slices.Contains(family.labels, l[1]) {
				family.labels = append(family.labels, l[1])
			}
		}
	}
	return families
}

// What nodes expose is what the list says: a node of a simulated market that was
// asked, and one of a cluster that reads chains from a node which does not answer.
func TestMetricsAreListed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes")
	}
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	servers := natstest.Start(t, 1, false)
	config := fmt.Sprintf("feed = \"rpc\"\n[cluster]\nnats = [%q]\nname = \"reader\"\n", servers.URLs()[0])
	for _, id := range []int{1, 42161, 43114} {
		config += fmt.Sprintf("[[chains]]\nid = %d\nrpc = [\"http://%s\"]\n", id, dead.Addr())
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tidemark.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	reader := exec.Command("tidemark", "serve", "--insecure-cluster", "--config", path, "--data", filepath.Join(dir, "data"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	var logs process.Output
	reader.Stderr = &logs
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		reader.Process.Kill()
		reader.Wait()
	})

	asked := startInstance(t)
	for _, path := range []string{"/v1/positions?limit=1", "/health"} {
		if status, _, err := request(asked.url+path, asked.key); err != nil || status != 200 {
			t.Fatalf("%s: %d, %v", path, status, err)
		}
	}
	asked.await("a failure of the feed", func() bool { return strings.Contains(logs.String(), "a node failed") })
	ops := addressPattern.FindAllString(logs.String(), 2)[1]

	families := map[string]*exposed{}
	for _, address := range []string{asked.ops, ops} {
		_, text, err := request(address+"/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		for name, family := range scrape(t, text) {
			families[name] = family
		}
	}
	compareMetrics(t, families)
}

// compareMetrics compares what was scraped with the list.
func compareMetrics(t *testing.T, families map[string]*exposed) {
	t.Helper()
	for _, m := range telemetry.Metrics {
		got := families[m.Name]
		if got == nil {
			t.Errorf("%s is listed, and no node exposes it", m.Name)
			continue
		}
		delete(families, m.Name)

		want := strings.Fields(m.Labels)
		slices.Sort(want)
		slices.Sort(got.labels)
		if got.kind != m.Type || got.help != m.Help || !slices.Equal(got.labels, want) {
			t.Errorf("%s is a %s with the labels %v, %q; listed are %s, %v, %q",
				m.Name, got.kind, got.labels, got.help, m.Type, want, m.Help)
		}
	}
	for name := range families {
		t.Errorf("%s is exposed and not listed", name)
	}
}

// A chain that is behind says so in its gauges, and one that nobody knows says
// nothing.
func TestChainGauges(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	n := startInstance(t)
	value := func(name string) string {
		t.Helper()
		_, text, err := request(n.ops+"/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				return strings.TrimSpace(rest)
			}
		}
		t.Fatalf("no %s", name)
		return ""
	}

	if got := value(`tidemark_chain_lag_blocks{chain="1"}`); got == "NaN" {
		t.Error("the lag of a served chain is not known")
	}
	if first := value(`tidemark_chain_generation{chain="1"}`); first == "0" {
		t.Error("a served chain has no generation")
	}
	var age float64
	fmt.Sscan(value(`tidemark_chain_generation_age_seconds{chain="1"}`), &age)
	if age < 0 || age > time.Minute.Seconds() {
		t.Errorf("the data of a live chain is %v s old", age)
	}
	if got := value(`tidemark_edge_units_charged_total{route="positions"}`); got != "0" {
		t.Errorf("%s units are charged before a request", got)
	}
	if status, _, err := request(n.url+"/v1/positions?limit=1", n.key); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	if got := value(`tidemark_edge_units_charged_total{route="positions"}`); got != "1" {
		t.Errorf("%s units are charged for a page of positions; want 1", got)
	}
	if got := value(`tidemark_edge_request_seconds_count{route="positions",status="200"}`); got != "1" {
		t.Errorf("%s requests are counted; want 1", got)
	}
}
