//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tidemark/bench/cluster"
)

// BenchClusterCmd runs a cluster until it is told to stop.
type BenchClusterCmd struct {
	NATSServer string `help:"The program nats-server." required:"" type:"existingfile" placeholder:"FILE"`
	Nodes      int    `help:"Nodes, 1 to 9." default:"3"`
	Listen     string `help:"Address of the balancer." default:"127.0.0.1:8080" placeholder:"ADDR"`
	Out        string `help:"Directory of all data; what is there is deleted." default:"./cluster" placeholder:"DIR"`
}

// maxClusterNodes is more than one machine has a use for.
const maxClusterNodes = 9

// checkEvery is how often it is checked that all processes still run.
const checkEvery = time.Second

// Run starts the cluster, says where it is, and ends it after SIGINT or SIGTERM.
func (b *BenchClusterCmd) Run() error {
	if b.Nodes < 1 || b.Nodes > maxClusterNodes {
		return fmt.Errorf("cannot start a cluster of %d nodes; at least 1, at most %d", b.Nodes, maxClusterNodes)
	}
	ctx, stop := interruptContext()
	defer stop()

	c, err := cluster.Start(ctx, &cluster.Settings{
		NATSServer: b.NATSServer, Dir: b.Out, Nodes: b.Nodes, Listen: b.Listen, Progress: os.Stderr,
	})
	if err == nil {
		writeCluster(os.Stdout, c)
		watchCluster(ctx, c)
	}
	if ctx.Err() != nil {
		err = nil // it was to end
	}
	fmt.Fprintln(os.Stderr, "stopping")
	return errors.Join(err, c.Stop())
}

// watchCluster says when a process has ended by itself, until ctx ends.
func watchCluster(ctx context.Context, c *cluster.Cluster) {
	said := map[string]bool{}
	for ctx.Err() == nil {
		for _, text := range c.Ended() {
			if !said[text] {
				fmt.Fprintln(os.Stderr, text)
			}
			said[text] = true
		}

		select {
		case <-ctx.Done():
		case <-time.After(checkEvery):
		}
	}
}

// writeCluster says where everything is, and how to ask.
func writeCluster(w io.Writer, c *cluster.Cluster) {
	fmt.Fprintf(w, "tidemark %s serves a simulated market with %d nodes at %s\n", version, len(c.Nodes), c.URL)
	fmt.Fprintf(w, "  dashboard  %s/ui\n  docs       %s/docs\n", c.URL, c.URL)
	for i, n := range c.Nodes {
		fmt.Fprintf(w, "  node %c     http://%s, metrics http://%s/metrics, process %d\n", 'a'+i, n.API, n.Ops, n.Pid())
	}
	for _, s := range c.Servers {
		fmt.Fprintf(w, "  %s     nats://%s, monitoring http://%s\n", s.Name, s.Client, s.Monitoring)
	}
	fmt.Fprintf(w, "  data       %s\n\nAPI key of the account demo, shown this once: %s\n\n", c.Dir, c.Key)
	fmt.Fprintf(w, "  %s\n\nCtrl-C ends all of it.\n", curlOf(c.URL, c.Key))
}

// BenchFollowCmd measures a cluster.
type BenchFollowCmd struct {
	NATSServer string        `help:"The program nats-server." required:"" type:"existingfile" placeholder:"FILE"`
	Corpus     string        `help:"Corpus of one chain." default:"./corpus" placeholder:"DIR"`
	Refresh    time.Duration `help:"Time between refreshes." default:"5s"`
	Refreshes  int           `help:"Refreshes that are measured of every node." default:"36"`
	Rounds     int           `help:"Rounds in which pages take turns." default:"15"`
	Length     time.Duration `help:"Length of one round." default:"500ms"`
	Only       string        `help:"One measurement: ${enum}." enum:"all,beside,follower,pages" default:"all"`
	Profiles   string        `help:"Keep CPU profiles of refreshes in this directory." type:"path" placeholder:"DIR"`
}

// Run measures, and fails when a figure is not reached.
func (b *BenchFollowCmd) Run() error {
	if err := checkOutputs(nil, []string{b.Profiles}); err != nil {
		return err
	}
	ctx, stop := measureContext()
	defer stop()
	return cluster.MeasureFigures(ctx, &cluster.FigureSettings{
		NATSServer: b.NATSServer, Corpus: b.Corpus, Refreshes: b.Refreshes, Refresh: b.Refresh, Rounds: b.Rounds,
		Length: b.Length, Profiles: b.Profiles, Only: b.Only, Out: os.Stdout, Progress: os.Stderr,
	})
}
