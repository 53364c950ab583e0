package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"tidemark/bench/process"
)

// clusterAddress is an address of any process in what `make cluster` says.
var clusterAddress = regexp.MustCompile(`(?:http|nats)://(127\.0\.0\.1:\d+)`)

// cluster types `make cluster`. The rest of the document is about that cluster; then it
// is ended as with Ctrl-C, and nothing of it may be left.
func (g *guide) cluster(at, code string) {
	balancer := spareAddress(g.t)
	var said process.Output
	cmd := exec.Command("bash", "-c", "exec "+code)
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.root, &said, &said
	cmd.Env = append(g.env, "CLUSTER="+filepath.Join(g.dir, "out/cluster"), "CLUSTER_FLAGS=--listen "+balancer)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal interrupts all of it
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}

	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	interrupt := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	g.t.Cleanup(func() { interrupt(); <-ended }) // also of a test that fails before the end
	for end := time.Now().Add(guideTimeout); !strings.Contains(said.String(), "Ctrl-C"); {
		select {
		case <-ended:
			g.t.Fatalf("%s\nends: %s", at, said.String())
		case <-time.After(process.PollEvery):
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s\ndoes not start: %s", at, said.String())
		}
	}

	api, key := g.api, g.key
	g.api, g.key = balancer, keyPattern.FindString(said.String())
	g.leave = func() {
		g.api, g.key, g.leave = api, key, nil
		interrupt()
		<-ended
		g.holdEnded(at, said.String())
	}
}

// holdEnded checks that no process of a cluster is left.
func (g *guide) holdEnded(at, said string) {
	all := clusterAddress.FindAllStringSubmatch(said, -1)
	if want := 1 + 2*3 + 2*3; len(all) < want {
		g.t.Errorf("%s\nnames %d addresses; want %d and more: %s", at, len(all), want, said)
	}
	if strings.Contains(said, "tidemark: ") {
		g.t.Errorf("%s\nends badly: %s", at, said)
	}

	for _, address := range all {
		c, err := net.DialTimeout("tcp", address[1], time.Second)
		if err == nil {
			c.Close()
			g.t.Errorf("%s\nis left at %s", at, address[1])
		}
	}
}
