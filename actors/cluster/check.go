package cluster

import (
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

	c.synced = make(map[string]bool)
	for _, address := range c.cfg.Monitoring {
		name, syncs, err := askServer(ctx, address)
		if err != nil {
			return &Unreached{fmt.Errorf("cannot ask a NATS server whether it syncs: %w", err)}
		}
		if !syncs {
			return fmt.Errorf("the NATS server %s at %s does not sync what it acknowledges; set "+
				"jetstream { sync_interval: always } there, or start with --insecure-cluster",
				name, describeAddresses(address))
		}
		c.synced[name] = true
	}
	return c.checkSynced(streamName, servers)
}

// checkSynced refuses a stream with a copy on a server that did not say that it syncs.
func (c *Cluster) checkSynced(stream string, servers []string) error {
	for _, name := range servers {
		if !c.synced[name] {
			return fmt.Errorf("the NATS server %s has a copy of stream %s and was not asked whether it "+
				"syncs; name its monitoring address in cluster.monitoring, or start with --insecure-cluster",
				name, stream)
		}
	}
	return nil
}

// checkStream checks how a stream is kept and returns the servers that keep it.
func (c *Cluster) checkStream(ctx context.Context, name string) (servers []string, err error) {
	var info *jetstream.StreamInfo
	err = c.whileStarting(ctx, "read how stream "+name+" is kept", func(ctx context.Context) error {
		s, err := c.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		info = s.CachedInfo()
		if info.Cluster != nil && info.Cluster.Leader == "" {
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

	servers = append(servers, info.Cluster.Leader)
	for _, r := range info.Cluster.Replicas {
		servers = append(servers, r.Name)
	}
	slices.Sort(servers)
	return servers, nil
}

// askServer asks the monitoring of a server for its name and whether it syncs always.
func askServer(ctx context.Context, address string) (name string, syncs bool, err error) {
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
