package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/bench/process"
	tidemark "tidemark/edge/client/go"
)

// Settings of a cluster on this machine. Every field is required.
type Settings struct {
	NATSServer string // path of the program
	Dir        string // of all data; what is there is deleted first
	Nodes      int
	Listen     string // of the balancer
	Progress   io.Writer
}

const (
	// serverCount keeps a cut when one server is lost.
	serverCount = 3
	// startTimeout bounds the start of everything.
	startTimeout = 3 * time.Minute
)

// Cluster is a cluster that runs.
type Cluster struct {
	URL     string // of the balancer
	Key     string
	Servers []*Server
	Nodes   []*process.Node
	Dir     string // absolute

	on    *process.Cores
	front *front
}

// Start starts a cluster: the servers, one node that writes, the others, and the
// balancer. Whatever happens, Stop ends what was started.
func Start(ctx context.Context, s *Settings) (c *Cluster, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c = &Cluster{}
	if c.on, err = process.Split(false); err != nil {
		return c, err
	}
	listener, err := net.Listen("tcp", s.Listen) // first: what runs there may use the directory
	if err != nil {
		return c, fmt.Errorf("cannot listen: %w", err)
	}

	if c.Dir, err = makeEmpty(s.Dir); err == nil {
		err = c.startProcesses(ctx, s)
	}
	if err != nil {
		return c, errors.Join(err, listener.Close())
	}
	c.front, c.URL = newFront(listener, c.Nodes), "http://"+listener.Addr().String()
	c.Key, err = issueKey(ctx, filepath.Join(c.Dir, nodeName(0)))
	return c, err
}

// makeEmpty makes an empty directory and returns its absolute path.
func makeEmpty(dir string) (path string, err error) {
	if path, err = filepath.Abs(dir); err == nil {
		err = errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o755))
	}
	if err != nil {
		return "", fmt.Errorf("cannot make an empty directory for the cluster: %w", err)
	}
	return path, nil
}

func (c *Cluster) startProcesses(ctx context.Context, s *Settings) (err error) {
	if c.Servers, err = NewServers(s.NATSServer, c.Dir, serverCount, c.on); err != nil {
		return err
	}
	fmt.Fprintln(s.Progress, "starting", serverCount, "NATS servers")
	if err := StartAll(ctx, c.Servers); err != nil {
		return err
	}

	// The first node begins the data of the cluster, so it has to be there before others.
	fmt.Fprintln(s.Progress, "starting node", nodeName(0))
	if err := c.startNode(ctx); err != nil {
		return err
	}
	if err := awaitHealth(ctx, c.Nodes[0], writes); err != nil {
		return err
	}
	for len(c.Nodes) < s.Nodes {
		fmt.Fprintln(s.Progress, "starting node", nodeName(len(c.Nodes)))
		if err := c.startNode(ctx); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := awaitHealth(ctx, n, process.Serves); err != nil {
			return err
		}
	}
	return nil
}

// nodeName is a, b, c, …
func nodeName(i int) string { return string(rune('a' + i)) }

// Membership is the configuration by which a node joins servers.
func Membership(name string, servers, monitoring []string) string {
	quoted := func(all []string) string { return `"` + strings.Join(all, `", "`) + `"` }
	return fmt.Sprintf("[cluster]\nnats = [%s]\nmonitoring = [%s]\nname = %q\n",
		quoted(servers), quoted(monitoring), name)
}

func (c *Cluster) startNode(ctx context.Context) error {
	name := nodeName(len(c.Nodes))
	dir := filepath.Join(c.Dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the directory of node %s: %w", name, err)
	}
	config := Membership(name, URLs(c.Servers), MonitoringURLs(c.Servers))
	n, err := process.StartNode(ctx, c.on, []string{"serve"}, dir, config, dir)
	if err != nil {
		return err
	}

	c.Nodes = append(c.Nodes, n)
	return nil
}

// awaitHealth waits until a node's health is as it should be.
func awaitHealth(ctx context.Context, n *process.Node, enough func(*tidemark.HealthChain) bool) error {
	return n.Await(ctx, process.PollEvery, func() error {
		h, err := n.Health()
		missing := func(c tidemark.HealthChain) bool { return !enough(&c) }
		if err == nil && (len(h.Chains) == 0 || slices.ContainsFunc(h.Chains, missing)) {
			err = fmt.Errorf("node at %s is not as far yet", n.API)
		}
		return err
	})
}

func writes(c *tidemark.HealthChain) bool { return process.Serves(c) && c.Role == "writer" }

var keyPattern = regexp.MustCompile(`tm_srv_[0-9A-Za-z]+`)

// issueKey has a node issue a key of its first account. It is one of all nodes.
func issueKey(ctx context.Context, data string) (key string, err error) {
	self := process.Self("keys", "issue", "--account", "demo", "--data", data)
	cmd := exec.CommandContext(ctx, self.Path, self.Args[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot issue a key: %w: %s", err, process.LastLine(out))
	}
	return keyPattern.FindString(string(out)), nil
}

// Ended describes what has ended by itself, and how to start a node again.
func (c *Cluster) Ended() (all []string) {
	for i, n := range c.Nodes {
		if !n.Alive() {
			dir := filepath.Join(c.Dir, nodeName(i))
			all = append(all, fmt.Sprintf("node %s ended: %s; to start it again:\n  %s serve --config %s --data %s "+
				"--listen %s --ops-listen %s", nodeName(i), n.LastWords(), os.Args[0], filepath.Join(dir, "node.toml"),
				dir, n.API, n.Ops))
		}
	}

	for _, s := range c.Servers {
		if !s.child.Alive() {
			all = append(all, fmt.Sprintf("%s ended: %s; to start it again:\n  %s -c %s", s.Name, s.child.LastWords(),
				s.binary, s.configPath()))
		}
	}
	return all
}

// Stop ends everything in order: the balancer, the nodes, the servers.
func (c *Cluster) Stop() (errs error) {
	if c.front != nil {
		errs = c.front.stop()
	}

	for _, n := range c.Nodes {
		errs = errors.Join(errs, n.Stop())
	}
	return errors.Join(errs, StopAll(c.Servers))
}
