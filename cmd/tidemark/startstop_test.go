package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/actors/cluster/natstest"
)

// A node that is told to stop while it starts gives up what it waits for, ends what it has
// started, and that is no failure.
func TestStopWhileStarting(t *testing.T) {
	servers := natstest.Start(t, 3, false)
	servers.Stop(1)
	servers.Stop(2)
	n, logs := smallNode(t, "")
	n.Cluster.NATS, n.Cluster.Name, n.insecureCluster = servers.URLs()[:1], "a", true
	stop := make(chan os.Signal, 1)
	time.AfterFunc(time.Second, func() { stop <- syscall.SIGTERM })

	began := time.Now()
	if running, err := n.startUnless(stop); running || err != nil {
		t.Errorf("it runs: %t, %v", running, err)
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < time.Second || took > 5*time.Second {
		t.Errorf("it has stopped after %s; want little more than 1s", took)
	}
	if said := logs.String(); !strings.Contains(said, "told to stop while starting") || n.store != nil {
		t.Errorf("its store is open: %t, and it logs %s", n.store != nil, said)
	}
}

// A node that is told to stop before it has done anything opens no listener; one that cannot
// start says so.
func TestStopBeforeTheStart(t *testing.T) {
	stop := make(chan os.Signal, 1)
	stop <- syscall.SIGTERM
	n, logs := smallNode(t, "")
	if running, err := n.startUnless(stop); running || err != nil || n.api != nil {
		t.Errorf("it runs: %t, serves: %t, %v", running, n.api != nil, err)
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if said := logs.String(); !strings.Contains(said, "told to stop") || strings.Contains(said, "had failed") {
		t.Errorf("it logs %s", said)
	}

	n, _ = smallNode(t, "")
	n.Listen = takenAddress(t)
	if running, err := n.startUnless(stop); running || err == nil {
		t.Errorf("on an address that is taken it runs: %t, %v", running, err)
	}
	n.stop()
}
