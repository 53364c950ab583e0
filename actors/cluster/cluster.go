package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/rankings/market"
)

// Config says how to reach the cluster and what this node does in it.
type Config struct {
	Servers                []string
	Name                   string // of this node; unique
	Credentials            string // a file; empty: none
	TLSCa, TLSCert, TLSKey string // files; empty: none
	// Monitoring are the HTTP addresses of the servers' monitoring, by which it is
	// checked that they sync what they store.
	Monitoring []string
	// Insecure accepts a stream on fewer than three servers, and servers that do not
	// sync or do not tell.
	Insecure bool
	Metrics  *metrics.Set
	Log      *slog.Logger
}

// Names of what the cluster keeps in JetStream.
const (
	streamName  = "TIDEMARK_CUTS"
	leadsBucket = "TIDEMARK_LEADERS"
	nodesBucket = "TIDEMARK_CLUSTER"
)

const (
	// replicas keep a cut when one server is lost.
	replicas = 3
	// openTimeout is what a start waits for servers that are starting too.
	openTimeout = 30 * time.Second
	// duplicates is how long the stream remembers ids of messages, so that a retry of
	// an append is told from a second one. An append gives up long before.
	duplicates = 2 * time.Minute
	// askTimeout bounds one request. An answer takes milliseconds; while servers elect
	// a leader there is none.
	askTimeout = 2 * time.Second
	// reconnectWait is short, since the servers of a cluster are near.
	reconnectWait = 250 * time.Millisecond
)

// Cluster is a node's connection to the others.
type Cluster struct {
	cfg    Config
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	made   time.Time                   // when the stream was
	said   atomic.Pointer[serversSaid] // nil with Insecure
	leads  jetstream.KeyValue
	nodes  jetstream.KeyValue
	// objects is the stream below the object store with the snapshots.
	objects jetstream.Stream

	joined  atomic.Bool // all of the above is there
	awaited []*Bucket   // to be opened by then

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	chains map[market.ChainID]*Chain
}

// Open connects to the servers and checks that the stream is kept safely. It makes what
// is missing there.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	c := newCluster(cfg)
	err := c.connect()
	if err != nil {
		err = fmt.Errorf("cannot reach the NATS servers %s: %w", describeAddresses(cfg.Servers...), err)
		if !isRefusal(err) {
			err = &Unreached{err}
		}
		return nil, err
	}

	if err := c.join(ctx); err != nil {
		c.Close()
		return nil, err
	}
	c.joined.Store(true)
	c.warnInsecure()
	c.startSeeking()
	return c, nil
}

// describeAddresses lists addresses without users, passwords and tokens: errors are logged.
func describeAddresses(addresses ...string) string {
	shown := make([]string, len(addresses))
	for i, address := range addresses {
		shown[i] = fmt.Sprintf("number %d", i+1)
		if u, err := url.Parse(address); err == nil {
			u.User = nil
			shown[i] = u.String()
		}
	}
	return strings.Join(shown, ", ")
}

func (c *Cluster) warnInsecure() {
	if c.cfg.Insecure {
		c.cfg.Log.Warn("--insecure-cluster: a cut may be lost with one NATS server")
	}
}

func newCluster(cfg Config) *Cluster {
	c := &Cluster{cfg: cfg, chains: make(map[market.ChainID]*Chain)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *Cluster) connect(more ...nats.Option) (err error) {
	options := []nats.Option{
		nats.Name("tidemark " + c.cfg.Name), nats.MaxReconnects(-1), nats.NoEcho(),
		nats.ReconnectWait(reconnectWait), nats.Timeout(askTimeout),
		nats.PingInterval(askTimeout), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if c.ctx.Err() == nil {
				c.cfg.Log.Warn("the connection to the NATS servers is lost; reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.cfg.Log.Info("connected to the NATS servers again", "server", nc.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.cfg.Log.Warn("the NATS client reports an error", "error", err)
		}),
	}
	if c.cfg.Credentials != "" {
		options = append(options, nats.UserCredentials(c.cfg.Credentials))
	}
	if c.cfg.TLSCa != "" {
		options = append(options, nats.RootCAs(c.cfg.TLSCa))
	}
	if c.cfg.TLSCert != "" {
		options = append(options, nats.ClientCert(c.cfg.TLSCert, c.cfg.TLSKey))
	}

	o := nats.GetDefaultOptions()
	o.Servers = c.cfg.Servers
	for _, option := range append(options, more...) {
		if err := option(&o); err != nil {
			return err
		}
	}
	if c.nc, err = o.Connect(); err != nil {
		return err
	}
	c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(askTimeout))
	return err
}

// History identifies the stream: another one has other cuts, although they have the same
// numbers.
func (c *Cluster) History() string {
	return c.made.UTC().Format(time.RFC3339Nano)
}

// copies is in how many servers the stream is made.
func (c *Cluster) copies() int {
	if c.cfg.Insecure {
		return 1
	}
	return replicas
}

func (c *Cluster) openStream(ctx context.Context) error {
	return c.whileStarting(ctx, "open stream "+streamName, func(ctx context.Context) (err error) {
		c.stream, err = c.js.Stream(ctx, streamName)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			c.stream, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: streamName, Description: "cuts of tidemark nodes",
				Subjects: []string{"cut.*"}, Storage: jetstream.FileStorage,
				Replicas: c.copies(), Duplicates: duplicates, AllowDirect: true,
			})
		}

		if err == nil {
			c.made = c.stream.CachedInfo().Created
		}
		return err
	})
}

func (c *Cluster) openBuckets(ctx context.Context) error {
	return c.whileStarting(ctx, "open the buckets of the cluster", func(ctx context.Context) (err error) {
		if c.leads, err = c.openBucket(ctx, leadsBucket, leadTTL); err == nil {
			c.nodes, err = c.openBucket(ctx, nodesBucket, 0)
		}
		if err == nil {
			err = c.openObjects(ctx)
		}
		return err
	})
}

func (c *Cluster) openBucket(
	ctx context.Context, name string, ttl time.Duration,
) (jetstream.KeyValue, error) {
	b, err := c.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		b, err = c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: name, TTL: ttl, Storage: jetstream.FileStorage, Replicas: c.copies(),
		})
	}
	return b, err
}

// startPause is the pause between two attempts while servers are starting.
const startPause = 100 * time.Millisecond

// whileStarting repeats what fails while the servers have no leader yet.
func (c *Cluster) whileStarting(
	ctx context.Context, what string, do func(context.Context) error,
) error {
	for {
		once, cancel := context.WithTimeout(ctx, askTimeout)
		err := do(once)
		cancel()
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && !passes(refused), c.nc.IsClosed():
			return fmt.Errorf("cannot %s: %w", what, err)
		}

		select {
		case <-ctx.Done():
			return &Unreached{fmt.Errorf("cannot %s: %w", what, err)}
		case <-time.After(startPause):
		}
	}
}

// Pause waits, unless ctx ends before.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// inProcess is the code of an answer to a message that an earlier attempt has brought, and
// that waits for a quorum. The client has no name for it.
const inProcess jetstream.ErrorCode = 10158

// passes reports whether servers answer so while they start, elect a leader, or wait for a
// quorum.
func passes(err *jetstream.APIError) bool { return err.Code >= 500 || err.ErrorCode == inProcess }

// Agree returns what all nodes of the cluster have under a name: value, if none of them
// has named one before.
func (c *Cluster) Agree(ctx context.Context, name, value string) (agreed string, err error) {
	what := "read what the cluster has as " + name
	key := strings.ReplaceAll(name, " ", "/")

	err = c.whileStarting(ctx, what, func(ctx context.Context) error {
		_, err := c.nodes.Create(ctx, key, []byte(value))
		if !errors.Is(err, jetstream.ErrKeyExists) {
			agreed = value
			return err
		}
		e, err := c.nodes.Get(ctx, key)
		if err == nil {
			agreed = string(e.Value())
		}
		return err
	})
	return agreed, err
}

// Close gives back what this node leads and ends the connection.
func (c *Cluster) Close() {
	c.cancel()
	c.work.Wait()
	c.nc.Close() // nil if it was never open
}
