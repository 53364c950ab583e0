package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// maxVarz bounds what a server tells of itself.
const maxVarz = 1 << 20

// checkSafety refuses streams that may lose a cut with one server: fewer than three
// copies, copies in memory, and servers that do not sync what they acknowledge.
func (c *Cluster) checkSafety(ctx context.Context) error {
	servers, err := c.checkStream(ctx, streamName)
	if err != nil {
		return err
	}
	for _, bucket := range []string{"KV_" + leadsBucket, "KV_" + nodesBucket, snapshotsStream} {
		if _, err := c.checkStream(ctx, bucket); err != nil {
			return err
		}
	}

	said, err := c.askServers(ctx)
	if err != nil {
		return err
	}
	for _, s := range servers {
		said.down[s.Name] = !s.Current
	}
	c.said.Store(said)
	return c.checkSynced(streamName, servers)
}

// serversSaid is what the monitoring of the servers says.
type serversSaid struct {
	synced map[string]bool // servers that sync what they acknowledge
	silent error           // of an address that does not answer; nil: all do
	// down are servers that do not answer the others. The copies of several streams are
	// missed at moments that are seconds apart: this is known by the first of them.
	down map[string]bool
}

// askServers asks all servers whether they sync.
func (c *Cluster) askServers(ctx context.Context) (*serversSaid, error) {
	said := &serversSaid{synced: make(map[string]bool), down: make(map[string]bool)}
	for _, address := range c.cfg.Monitoring {
		name, syncs, err := askServer(ctx, address)
		if err != nil {
			said.silent = fmt.Errorf("cannot ask a NATS server whether it syncs: %w", err)
			continue
		}

		if !syncs {
			return nil, fmt.Errorf("the NATS server %s at %s does not sync what it acknowledges; set "+
				"jetstream { sync_interval: always } there, or start with --insecure-cluster",
				name, describeAddresses(address))
		}
		said.synced[name] = true
	}
	return said, nil
}

// checkSynced refuses a stream with a copy on a server that did not say that it syncs. The
// copy of a server that is down acknowledges nothing: that one is asked when it is back.
func (c *Cluster) checkSynced(stream string, servers []*jetstream.PeerInfo) error {
	said := c.said.Load()

	for _, s := range servers {
		switch {
		case said.synced[s.Name], said.silent != nil && (said.down[s.Name] || !s.Current):
		case said.silent != nil:
			return &Unreached{said.silent}
		default:
			return fmt.Errorf("the NATS server %s has a copy of stream %s and was not asked whether it "+
				"syncs; name its monitoring address in cluster.monitoring, or start with --insecure-cluster",
				s.Name, stream)
		}
	}
	return nil
}

// AskLater asks servers that were down when this node joined, once they are back. refused
// is called if one of them may lose a cut.
func (c *Cluster) AskLater(refused func(error)) {
	c.work.Go(func() { c.askLater(refused) })
}

func (c *Cluster) askLater(refused func(error)) {
	said := c.said.Load()
	if said == nil || said.silent == nil {
		return
	}
	c.cfg.Log.Warn("a NATS server does not answer; it is asked again until it says whether it syncs",
		"error", said.silent)

	var unreached *Unreached
	for c.said.Load().silent != nil {
		Pause(c.ctx, latePause)
		ctx, cancel := context.WithTimeout(c.ctx, openTimeout)
		err := c.checkSafety(ctx)
		cancel()
		if c.ctx.Err() != nil {
			return
		}
		if err != nil && !errors.As(err, &unreached) {
			refused(err)
			return
		}
	}
}

// checkStream checks how a stream is kept and returns the servers that keep it.
func (c *Cluster) checkStream(ctx context.Context, name string) (servers []*jetstream.PeerInfo, err error) {
	var info *jetstream.StreamInfo
	err = c.whileStarting(ctx, "read how stream "+name+" is kept", func(ctx context.Context) error {
		s, err := c.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		info = s.CachedInfo()
		if !hasLeader(info) {
			return errors.New("it has no leader")
		}
		return nil
	})

	switch {
	case err != nil:
		return nil, err
	case info.Config.Storage != jetstream.FileStorage:
		return nil, fmt.Errorf("stream %s is kept in memory; want files, or --insecure-cluster", name)
	case info.Config.Replicas < replicas:
		return nil, fmt.Errorf("stream %s is kept on %d servers; want %d, or --insecure-cluster",
			name, info.Config.Replicas, replicas)
	case info.Cluster == nil:
		return nil, fmt.Errorf("the server does not say who keeps stream %s", name)
	}

	leader := &jetstream.PeerInfo{Name: info.Cluster.Leader, Current: true}
	servers = append(info.Cluster.Replicas, leader)
	slices.SortFunc(servers, func(a, b *jetstream.PeerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return servers, nil
}

// askServer asks the monitoring of a server for its name and whether it syncs always.
func askServer(ctx context.Context, address string) (name string, syncs bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "GET", strings.TrimSuffix(address, "/")+"/varz", nil)
	if err != nil {
		return "", false, err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", false, err
	}
	defer r.Body.Close()

	var told struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxVarz))
	if err == nil {
		err = json.Unmarshal(body, &told)
	}
	if err == nil && told.Name == "" {
		err = errors.New("it has no server_name")
	}
	if err != nil {
		return "", false, fmt.Errorf("%s/varz answers %s and no server's state: %w", address, r.Status, err)
	}
	return told.Name, told.JetStream.Config.SyncAlways, nil
}
