package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

func TestPeersGoal(t *testing.T) {
	f := func(want string, verdict report.Verdict, results ...report.Peer) {
		t.Helper()
		run := &report.Run{Peers: &report.Peers{Results: results}}
		if text, v := peersGoal(run, nil); text != want || v != verdict {
			t.Errorf("%q, %s; want %q, %s", text, v, want, verdict)
		}
	}
	fast := report.Peer{Peer: "Redis", Question: "page 1", RatioCPU: 1.5}
	slow := report.Peer{Peer: "SQLite", Question: "any page", RatioCPU: 0.625}
	f("ahead on 1 of 1 by CPU", report.Met, fast, report.Peer{Peer: "Redis", Why: report.Cannot})
	f("ahead on 1 of 2 by CPU, behind SQLite on any page (0.62 x)", report.Missed, fast, slow)
	f("ahead on 1 of 1 by CPU; 1 not measured", report.NotMeasured, fast, report.Peer{Why: "it is not installed"})
	f("ahead on 0 of 0 by CPU; 0 not measured", report.NotMeasured)
	if text, v := peersGoal(new(report.Run), nil); text != "" || v != report.NotMeasured {
		t.Errorf("without peers: %q, %s", text, v)
	}
}

// A file of another corpus is none.
func TestPeersOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.ndjson")
	text := `{"kind":"peers","peers":{"positions":9,"genesis":"g"}}
{"kind":"peer","peer":{"peer":"Redis","question":"page 1","ratioCpu":2}}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	record := &corpus.Record{Spec: corpus.Spec{Genesis: "g"}, Shape: corpus.Shape{ChainShape: corpus.ChainShape{Positions: 9}}}
	if p, err := peersOf(path, record); err != nil || p == nil || len(p.Results) != 1 || p.Results[0].RatioCPU != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	record.Shape.Positions = 10
	if p, err := peersOf(path, record); err != nil || p != nil {
		t.Errorf("of another corpus: %+v, %v", p, err)
	}
	if p, err := peersOf(path+".none", record); err != nil || p != nil {
		t.Errorf("no file: %+v, %v", p, err)
	}
	for _, bad := range []string{"{", `{"kind":"peer","peer":{}}`, `{"kind":"run"}`} {
		if _, err := ReadPeers(strings.NewReader(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
