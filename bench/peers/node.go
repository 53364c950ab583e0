package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tidemark/bench/corpus"
)

// plan is what the node's keys are of: limited and metered, and never used up.
const plan = `
[[plans]]
id = "bench"
name = "Bench"
monthly-units = 70000000000000
requests-per-second = 1000000
burst = 1000000
max-api-keys = 1000000
public = false
`

// keys of as many accounts as a tenth; those of the bench suite.
const keyCount = 20_000

// startNode serves data without a page cache: any peer could have one as well.
func startNode(ctx context.Context, on *cores, exe, data, dir string, spec *corpus.Spec, of corpus.Node,
) (*child, error) {
	of.Extra, of.Uncached = plan, true
	engine, err := spec.Engine(of, time.Now())
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "node.toml")
	if err := os.WriteFile(config, []byte(spec.Config(of)), 0o644); err != nil {
		return nil, fmt.Errorf("cannot write the node's configuration: %w", err)
	}
	port, err := sparePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, "bench", "node", "--engine", engine.String(), "--config", config,
		"--data", data, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:"+port)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TIDEMARK_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	c, err := spawn(ctx, on, cmd, filepath.Join(dir, "node.log"))
	if err != nil {
		return nil, err
	}
	for {
		if h, err := healthOf(c.Address); err == nil && h.ready() {
			return c, nil
		}
		if !c.alive() {
			return nil, fmt.Errorf("the node ended: %s", c.lastWords())
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("the node did not get ready: %w", joinStop(err, c))
		}
	}
}

func joinStop(err error, c *child) error {
	if stopErr := c.Stop(); stopErr != nil {
		return fmt.Errorf("%w; %w", err, stopErr)
	}
	return err
}

// pause waits a little between two looks.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

// health is what a node says of itself.
type health struct {
	Chains []struct {
		Status     string
		Generation *uint64
	}
}

func healthOf(address string) (h health, err error) {
	_, body, err := askOnce(address, "/health", "")
	if err == nil {
		err = json.Unmarshal(body, &h)
	}
	return h, err
}

func (h *health) ready() bool {
	for _, c := range h.Chains {
		if c.Status != "ok" || c.Generation == nil {
			return false
		}
	}
	return len(h.Chains) > 0
}

// generations is how often all chains together have published.
func (h *health) generations() (sum uint64) {
	for _, c := range h.Chains {
		if c.Generation != nil {
			sum += *c.Generation
		}
	}
	return sum
}

// refreshEvery is the pause between a chain's refreshes while they are
// measured, and refreshes how many of each chain are.
const (
	refreshEvery = 5 * time.Second
	refreshes    = 4
)

// measureRefresh returns the CPU time in which a node whose market goes on
// refreshes every chain once. Following the chains is included.
func measureRefresh(ctx context.Context, node *child) (time.Duration, error) {
	was, err := healthOf(node.Address)
	if err != nil {
		return 0, fmt.Errorf("cannot look at the node: %w", err)
	}
	chains := uint64(len(was.Chains))
	var first uint64
	var began time.Duration
	for {
		h, err := healthOf(node.Address)
		if err != nil {
			return 0, fmt.Errorf("cannot look at the node: %w", err)
		}
		n := h.generations()
		switch {
		case first == 0 && n > was.generations()+chains: // it has settled
			first, began = n, node.CPU()
		case first != 0 && n >= first+refreshes*chains:
			return time.Duration(float64(node.CPU()-began) / float64(n-first) * float64(chains)), nil
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}
