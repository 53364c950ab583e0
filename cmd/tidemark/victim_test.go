package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tidemark/bench/process"
	"tidemark/storage/registry"
)

// victim is a node that is ended and started again, always on the same data.
type victim struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	welcome process.Output
	url     string
}

func newVictim(t *testing.T, quota int64) *victim {
	v := &victim{t: t, dir: filepath.Join(t.TempDir(), "data")}
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plan := fmt.Sprintf("[[plans]]\nid = \"paced\"\nname = \"Paced\"\nmonthly-units = %d\n"+
		"requests-per-second = 1000\nburst = 100\n", quota)
	if err := os.WriteFile(v.dir+".toml", []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.kill)
	return v
}

// start starts the node and waits until it serves.
func (v *victim) start() {
	v.t.Helper()
	v.welcome.Reset()
	v.cmd = exec.Command("tidemark", "serve", "--config", v.dir+".toml", "--data", v.dir,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	v.cmd.Env = append(os.Environ(), smallMarket...)

	var logs process.Output
	v.cmd.Stdout, v.cmd.Stderr = &v.welcome, &logs
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}

	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if v.url = addressPattern.FindString(v.welcome.String()); v.url == "" {
			continue
		}
		if status, _, err := request(v.url+"/health", ""); err == nil && status == http.StatusOK {
			return
		}
	}
	v.t.Fatalf("the node does not serve: %s", logs.String())
}

// stop ends the node in order.
func (v *victim) stop() {
	v.t.Helper()
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		v.t.Fatal(err)
	}
	if err := v.cmd.Wait(); err != nil {
		v.t.Fatalf("the node did not stop in order: %v", err)
	}
	v.cmd = nil
}

func (v *victim) kill() {
	if v.cmd != nil {
		v.cmd.Process.Kill()
		v.cmd.Wait()
		v.cmd = nil
	}
}

// ask administers the running node.
func (v *victim) ask(method, path string, body, into any) {
	v.t.Helper()
	answer, err := adminClient(v.dir).do(method, path, body)
	if err == nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// customer makes an account with a key.
func (v *victim) customer(name, plan string) (key string) {
	var account registry.AccountView
	v.ask("POST", "/accounts", map[string]string{"name": name, "plan": plan}, &account)
	return v.issueKey(name)
}

func (v *victim) issueKey(account string) string {
	v.t.Helper()
	var issued registry.IssuedKey
	v.ask("POST", "/keys", registry.KeyRequest{Account: account}, &issued)
	return issued.Key
}
