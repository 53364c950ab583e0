package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/bench/process"
	tidemark "tidemark/edge/client/go"
)

// sickNode is a node of ours whose health is always the same.
func sickNode(t *testing.T, health string) *process.Node {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, health)
	}))
	t.Cleanup(server.Close)

	cores, err := process.Split(false)
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(cores, exec.Command("sleep", "60"), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop() })
	return &process.Node{Child: child, API: server.Listener.Addr().String()}
}

// A node that takes no writes is not waited for, whether it is to catch up or to
// answer; of one that has time left, the health is told as JSON.
func TestWaitForWrites(t *testing.T) {
	const rest = `"chains":[{"chainId":1,"status":"syncing","lastIndexedBlock":7}]}`
	f := func(disk, want string) {
		t.Helper()
		n := sickNode(t, `{"disk":{"status":"`+disk+`","freeBytes":406847488},`+rest)
		never := errors.New("not yet")

		for name, wait := range map[string]func(context.Context) error{
			"until ready": func(ctx context.Context) error { return waitUntil(ctx, n, ready) },
			"for an answer": func(ctx context.Context) error {
				return await(ctx, n, process.PollEvery, func() error { return never })
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := wait(ctx)
			cancel()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("disk %s, %s: %v; want %q", disk, name, err, want)
			}
		}
	}

	const readOnly = "the node stopped taking writes: 388 MB are free on its disk, it needs 640"
	f("readonly", readOnly)
	f("full", readOnly)
	f("slow", `"lastIndexedBlock":7`)
}

// A chain that stays at a block ends the wait after a minute, if it has not caught up.
func TestStall(t *testing.T) {
	began, reason := time.Unix(1_700_000_000, 0), "catching up with the chain head"
	seen := progressSeen{}
	f := func(second, block int64, status, want string) {
		t.Helper()
		generation := int64(3)
		h := tidemark.Health{Chains: []tidemark.HealthChain{
			{ChainID: 1, Status: status, Generation: &generation, LastIndexedBlock: &block, Reason: &reason},
			{ChainID: 2, Status: "ok", Generation: &generation, LastIndexedBlock: &generation},
		}}
		if err := seen.check(&h, began.Add(time.Duration(second)*time.Second)); fmt.Sprint(err) != want {
			t.Errorf("second %d: %v; want %s", second, err, want)
		}
	}

	f(0, 5, "syncing", "<nil>")
	f(59, 6, "syncing", "<nil>")
	f(118, 6, "syncing", "<nil>")
	f(119, 6, "syncing", "chain 1 has stayed at block 6 for 1m0s: catching up with the chain head")
	f(200, 6, "ok", "<nil>")
	f(259, 6, "lagging", "<nil>")
	f(260, 6, "lagging", "chain 1 has stayed at block 6 for 1m0s: catching up with the chain head")

	h := tidemark.Health{Chains: []tidemark.HealthChain{{ChainID: 7, Status: "down"}}}
	err := errors.Join(seen.check(&h, began), seen.check(&h, began.Add(stallTime)))
	if want := "chain 7 has stayed at no block for 1m0s: no reason is given"; fmt.Sprint(err) != want {
		t.Errorf("%v; want %s", err, want)
	}
}
