package main

import (
	"time"

	"tidemark/actors/feed/archive"
	"tidemark/edge"
	"tidemark/edge/pages"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// Config is everything that can be set. A field is a setting; its name in the
// TOML file, the environment and `config print` is the field's in lower case
// with dashes, and a struct is a table.
type Config struct {
	Data      string `about:"directory of everything the node keeps"`
	Listen    string `about:"address of the API: HOST:PORT, or unix:PATH"`
	OpsListen string `about:"address of /metrics and pprof"`
	Feed      string `about:"sim or rpc"`

	Archive             bool   `about:"keep what is fetched from nodes, to build chains again without them"`
	ArchiveMaxBytes     uint64 `about:"of a chain's archive; the oldest blocks are removed above it; 0: no limit"`
	ArchiveSegmentBytes uint64 `about:"when a file of an archive is full"`

	Drain time.Duration `about:"how long a stopping node answers on, closing each connection after its answer"`

	Log      LogConfig
	TLS      TLSConfig
	Limits   LimitsConfig
	Refresh  RefreshConfig
	Metering MeteringConfig
	Sim      SimConfig
	Prices   PricesConfig
	UI       UIConfig
	Cluster  ClusterConfig

	Chains []ChainConfig
	Plans  []accounts.Plan
}

// LimitsConfig bounds answers and connections.
type LimitsConfig struct {
	pages.Limits
	edge.Connections
}

// LogConfig says what is logged.
type LogConfig struct {
	Level string        `about:"debug, info, warn or error"`
	Slow  time.Duration `about:"a request that takes longer is logged; 0s: none"`
}

// TLSConfig names the files of a certificate. Both or none are set; the API
// then speaks TLS. A changed pair is taken up within tlsPoll.
type TLSConfig struct {
	Cert string `about:"PEM file with the certificate chain of the API; empty: no TLS"`
	Key  string `about:"PEM file with its private key"`
}

// RefreshConfig paces the chains.
type RefreshConfig struct {
	Every time.Duration `about:"pause between generations of a chain"`
}

// MeteringConfig says when charges are written, and what happens when they cannot be.
type MeteringConfig struct {
	Flush      time.Duration `about:"pause between batches of charges"`
	OnFullDisk string        `about:"requests that no durable lease covers: refuse or serve-uncharged"`
}

// UIConfig says what the pages show.
type UIConfig struct {
	Preview bool `about:"show five rows of a ranking on the front page without a key; a simulated market always does"`
}

// ClusterConfig joins nodes that share their chains and accounts; see actors/cluster.
type ClusterConfig struct {
	NATS        []string `about:"addresses of the NATS servers, nats://HOST:PORT; empty: this node is alone"`
	Name        string   `about:"of this node; no two nodes of a cluster may have the same"`
	Credentials string   `about:"file with the credentials for NATS; empty: none"`
	TLSCa       string   `about:"PEM file with the authorities of the NATS servers; empty: those of the system"`
	TLSCert     string   `about:"PEM file with this node's certificate for NATS; empty: none"`
	TLSKey      string   `about:"PEM file with its private key"`
	Monitoring  []string `about:"addresses of the servers' monitoring, http://HOST:8222, to check that they sync"`
	Writes      []string `about:"ids of the chains that this node may write; auto: all, none: it only follows"`

	SnapshotEvery time.Duration `about:"time between snapshots of a chain that this node writes; others begin there"`

	QuotaOnOutage int64 `about:"units a month beyond its lease for an account while NATS is out; 0: a 503"`
}

// SimConfig shapes the simulated market.
type SimConfig struct {
	Seed      int       `about:"the same seed and genesis give the same market"`
	Positions int       `about:"NFTs minted on chain 1; 80 % and half on the others; each needs 2 a pool and 5 more"`
	Pools     int       `about:"pools of chain 1; 80 % and half on the others; each chain needs 5"`
	Days      int       `about:"length of the history"`
	Actions   int       `about:"swaps and liquidity changes of chain 1's history; 0: 12 a position"`
	Genesis   time.Time `about:"start of the history; empty: first start less sim.days, to the hour"`
	Frozen    bool      `about:"the head stays at the end of the history"`
}

// ChainConfig is one chain. Chains in the file change the built-in one of the
// same id; a new id is a new chain.
type ChainConfig struct {
	ID                market.ChainID   `about:"chain id"`
	Enabled           bool             `about:"false: registered, and serving nothing"`
	Slug              string           `about:"name in lower-case letters, digits and -, of this chain alone"`
	Name              string           `about:"name for people"`
	ShortName         string           `about:"its short form"`
	ExplorerURL       string           `about:"address of the block explorer"`
	NativeSymbol      string           `about:"symbol of the native currency"`
	NativeName        string           `about:"its name; empty: the symbol"`
	WrappedNative     market.Address   `about:"token that wraps it"`
	WrappedSymbol     string           `about:"symbol of that token"`
	PoolManager       market.Address   `about:"contract of all pools"`
	PositionManager   market.Address   `about:"contract of the position NFTs"`
	StartBlock        uint64           `about:"block from which events are read"`
	RPC               []string         `about:"addresses of nodes, tried in order"`
	Endpoints         []EndpointConfig // instead of rpc: [[chains.endpoints]]
	Stables           []market.Address `about:"tokens anchored at 1 USD"`
	Decimals          []string         `about:"0x…=N: decimals of tokens that are not asked for theirs"`
	MaxHeadAge        time.Duration    `about:"an older head confirms nothing; 0s: off, 2m for public chains"`
	MaxLogRange       uint64           `about:"blocks of a request for logs, at most"`
	RangesInFlight    int              `about:"ranges of history asked for at once"`
	FetchAheadMib     int              `about:"memory for history that is read before it is wanted, in MiB"`
	RequestsPerSecond int              `about:"of each address of rpc; 0: no limit"`
}

// PricesConfig says what to trust of a price, and where to ask beside the
// markets themselves.
type PricesConfig struct {
	File      string           `about:"price feed: a file with a JSON object chainId:address to USD"`
	URL       string           `about:"price feed: the same by HTTP"`
	Every     time.Duration    `about:"pause between readings of the price feed"`
	MaxAge    time.Duration    `about:"how long an answer of the price feed stays valid"`
	HookAllow []market.Address `about:"hooks whose pools may price although they take deltas"`
	value.Params
}

// defaultConfig is what a node runs with when nothing is set: the simulated
// market on loopback, and the three chains by their public addresses.
func defaultConfig() Config {
	return Config{
		Data: "./data", Listen: "127.0.0.1:8080", OpsListen: "127.0.0.1:8081", Feed: "sim",
		Archive: true, ArchiveSegmentBytes: archive.DefaultSegmentBytes,
		Log:      LogConfig{Level: "info", Slow: time.Second},
		Limits:   LimitsConfig{pages.DefaultLimits(), edge.DefaultConnections()},
		Refresh:  RefreshConfig{Every: 2 * time.Second},
		Metering: MeteringConfig{Flush: 100 * time.Millisecond, OnFullDisk: string(accounts.Refuse)},
		Cluster:  ClusterConfig{Writes: []string{writesAll}, SnapshotEvery: time.Hour},
		Sim:      SimConfig{Seed: 1, Positions: 3000, Pools: 80, Days: 90},
		Prices: PricesConfig{
			Every: 30 * time.Second, MaxAge: 10 * time.Minute, Params: value.DefaultParams(),
		},
		Chains: defaultChains(),
		Plans:  accounts.DefaultPlans(),
	}
}

// newChain is what a chain with an id of its own starts from.
func newChain() ChainConfig { return ChainConfig{Enabled: true}.withReading() }

// newPlan is what a plan with an id of its own starts from.
func newPlan() accounts.Plan { return accounts.Plan{MaxAPIKeys: 1, Public: true} }
