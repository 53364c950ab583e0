package main

import (
	"context"
	"errors"

	"tidemark/actors"
	"tidemark/actors/cluster"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// joinCluster connects to the other nodes, if there are any.
func (n *node) joinCluster(ctx context.Context) (err error) {
	if !n.clustered() {
		return nil
	}
	config := n.clusterConfig()
	n.cluster, err = cluster.Open(ctx, config)
	if ctx.Err() == nil && errors.As(err, &n.unreached) {
		n.cluster, err = cluster.OpenLater(config)
	}
	if err != nil {
		return err
	}

	if n.unreached == nil {
		n.history = n.cluster.History()
		n.cluster.AskLater(n.refuseLate)
	}
	n.addPart("cluster", func(context.Context) error {
		n.cluster.Close()
		return nil
	})
	return nil
}

func (n *node) clusterConfig() cluster.Config {
	c := &n.Cluster
	return cluster.Config{
		Servers: c.NATS, Name: c.Name, Credentials: c.Credentials,
		TLSCa: c.TLSCa, TLSCert: c.TLSCert, TLSKey: c.TLSKey, Monitoring: c.Monitoring,
		Insecure: n.insecureCluster, Metrics: n.set, Log: n.log,
	}
}

// agreement is that of the cluster; nil without one.
func (n *node) agreement(ctx context.Context) agreement {
	if n.cluster == nil || n.unreached != nil {
		return nil
	}
	return n.agree(ctx)
}

func (n *node) agree(ctx context.Context) agreement {
	return func(name, value string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, partTimeout)
		defer cancel()
		return n.cluster.Agree(ctx, name, value)
	}
}

// membership returns what the node knows of its chains in the cluster; nil without one.
func (n *node) membership() func(market.ChainID) (rankings.Membership, bool) {
	if n.cluster == nil {
		return nil
	}
	return n.cluster.Status
}

// shareChains has the chains written and followed by the nodes of the cluster.
func (n *node) shareChains(specs []actors.ChainSpec) (err error) {
	if n.cluster == nil {
		return nil
	}

	hasRoom := func() bool { return !n.store.Guard().ReadOnly() }
	for i := range specs {
		config := &specs[i].Config
		id := config.Ledger.Chain
		config.Shared, specs[i].SnapshotEvery = true, n.Cluster.SnapshotEvery
		if specs[i].Member, err = n.cluster.Chain(id, n.Cluster.mayWrite(id), hasRoom); err != nil {
			return err
		}
	}
	return nil
}
