package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tidemark/rankings"
)

// waitHead waits until every chain serves its head, which must stand still.
func waitHead(ts *testscript.TestScript) {
	var said string
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, body, err := request(ts.Getenv("URL")+"/health", "")
		ts.Check(err)
		said = body
		var health struct {
			Chains []struct {
				DataAsOf                  *string
				AsOfBlock, ChainHeadBlock *uint64
			}
		}

		ts.Check(json.Unmarshal([]byte(body), &health))
		behind := 0
		for _, c := range health.Chains {
			if c.DataAsOf == nil || c.AsOfBlock == nil || *c.AsOfBlock != *c.ChainHeadBlock {
				behind++
			}
		}

		if behind == 0 {
			return
		}
	}
	ts.Fatalf("not at the head after %s: %s", startTimeout, said)
}

// writePages writes the first two pages of everything under every sort into a file,
// and the first of what the default filters leave.
func writePages(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: pages FILE")
	}
	waitHead(ts)
	var paths []string
	every := func(list, all string, sorts []string) {
		for _, sort := range sorts {
			asked := fmt.Sprintf("/v1/%s?sort=%s", list, sort)
			paths = append(paths, asked, asked+all+"&limit=100", asked+all+"&limit=100&page=2")
		}
	}

	every("positions", "&status=all&minPoolTvl=0&includeRisky=true", rankings.PositionSorts)
	every("pools", "&includeRisky=true", rankings.PoolSorts)
	var out strings.Builder
	for _, path := range paths {
		status, body, err := request(ts.Getenv("URL")+path, ts.Getenv("KEY"))
		ts.Check(err)
		fmt.Fprintf(&out, "%s: %d\n%s\n", path, status, body)
	}

	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o644))
}
