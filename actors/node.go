package actors

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/anthdm/hollywood/actor"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/actors/verify"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/pace"
)

// ChainSpec is a chain to run and where its events come from.
type ChainSpec struct {
	Config chain.Config
	Feed   feed.Feed
	// Verify names the contracts to verify the ledger against, for a feed that has
	// them.
	Verify verify.Config
	// Member is the chain in the cluster; nil without one.
	Member *cluster.Chain
	// SnapshotEvery is the time between two snapshots for the other nodes.
	SnapshotEvery time.Duration
}

// Node runs the chains. It alone spawns and poisons their actors.
type Node struct {
	engine *actor.Engine
	chains map[market.ChainID]*chainActor
	checks map[market.ChainID]*verifier // of chains whose contracts can be asked
	pids   []*actor.PID
	log    *slog.Logger
}

// Config is what the chains of a node share.
type Config struct {
	Store   *storage.Store
	Board   *rankings.Board
	Every   time.Duration // the shortest pause between two refreshes
	Clock   accounts.Clock
	Metrics *metrics.Set
	Log     *slog.Logger
}

// Start spawns an actor for every chain. When it returns, stored generations are on
// the board.
func Start(cfg Config, specs []ChainSpec) (*Node, error) {
	engine, err := actor.NewEngine(actor.NewEngineConfig())
	if err != nil {
		return nil, fmt.Errorf("cannot start the actors: %w", err)
	}

	n := &Node{engine: engine, chains: map[market.ChainID]*chainActor{}, log: cfg.Log}
	n.checks = make(map[market.ChainID]*verifier)
	slot := make(chan struct{}, 1)
	panics := cfg.Metrics.NewCounter("tidemark_actor_panics_total")

	for _, spec := range specs {
		a := newChainActor(cfg, spec)
		a.slot, a.panics = slot, panics.Inc
		n.spawn(a)
		newGauges(cfg.Metrics, cfg.Board, a.id(), a.now)
		if source, ok := spec.Feed.(contracts); ok {
			n.startVerifier(a, source, spec.Verify)
		}
	}
	return n, nil
}

// newChainActor makes the actor of a chain, whose lines in the log name it.
func newChainActor(cfg Config, spec ChainSpec) *chainActor {
	cfg.Log = cfg.Log.With("chain", spec.Config.Ledger.Chain)
	a := &chainActor{
		Config: cfg, chainConfig: spec.Config, feed: spec.Feed, readOnly: cfg.Store.Guard().ReadOnly,
		member: spec.Member, snapshotEvery: spec.SnapshotEvery, feedPatience: feedPatience,
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if kept := spec.Config.Archive; kept != nil {
		a.feed = archive.NewFeed(kept, spec.Feed)
	}

	a.chainConfig.Background = a.inBackground
	a.chainConfig.Ledger.Pause = func() { a.ledgerPacer.Pause() }
	a.beginPace()
	return a
}

// beginPace starts the pauses of the ledger anew. They last by the work since the last one,
// and the time between two pieces of work is none.
func (a *chainActor) beginPace() { a.ledgerPacer = pace.Background(a.Board.Requests) }

// startVerifier starts verifying a chain.
func (n *Node) startVerifier(a *chainActor, source contracts, config verify.Config) {
	v := &verifier{
		chain: a.id(), config: config, ask: source, board: a.Board, log: a.Log,
		tell: func(result *rankings.Verification) { a.send(verified{result}) },
	}
	n.checks[v.chain] = v
	a.work.Go(func() { v.run(a.ctx) })
}

// Verify compares the ledger of a chain with the contracts: all of it, or a sample
// of that many pools and positions.
func (n *Node) Verify(
	ctx context.Context, id market.ChainID, sample int,
) (*rankings.Verification, error) {
	v, ok := n.checks[id]
	if !ok {
		return nil, refuse("cannot verify chain %d: its feed is not rpc", id)
	}

	result, err := v.verify(ctx, sample)
	if err != nil {
		return nil, fmt.Errorf("chain %d: %w", id, err)
	}
	return result, nil
}

func (n *Node) spawn(a *chainActor) {
	id := fmt.Sprint(a.id())
	pid := actor.NewPID(n.engine.Address(), "chain/"+id)
	a.send = func(m any) { n.engine.Send(pid, m) }
	n.chains[a.id()] = a
	n.pids = append(n.pids, n.engine.Spawn(func() actor.Receiver { return a }, "chain",
		actor.WithID(id), actor.WithMaxRestarts(math.MaxInt32), actor.WithMiddleware(a.recovering)))
}

// Stop stops the chains and waits for their goroutines, or until ctx ends.
func (n *Node) Stop(ctx context.Context) error {
	for _, a := range n.chains {
		a.cancel()
		if a.member != nil {
			a.member.Stop()
		}
	}
	for _, pid := range n.pids {
		<-n.engine.PoisonCtx(ctx, pid).Done()
	}

	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for _, a := range n.chains {
			a.work.Wait()
		}
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}

	for id, a := range n.chains {
		if err := a.feed.Close(); err != nil {
			n.log.Warn("cannot close a feed", "chain", id, "error", err)
		}
		if kept := a.chainConfig.Archive; kept != nil {
			if err := kept.Close(); err != nil {
				n.log.Warn("cannot close an archive", "chain", id, "error", err)
			}
		}
	}
	return ctx.Err()
}
