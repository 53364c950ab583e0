package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/actors"
	"tidemark/actors/cluster/burst"
	"tidemark/actors/cluster/directory"
	"tidemark/actors/cluster/quota"
	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/registry"
)

// openRegistry opens the accounts of this node, or those of its cluster.
func (n *node) openRegistry(ctx context.Context) (err error) {
	if n.cluster == nil {
		n.registry, err = registry.Open(n.books, n.Plans, time.Now())
		return err
	}

	d, err := directory.Open(ctx, n.cluster, n.set, n.log)
	if err != nil {
		return err
	}
	if n.unreached != nil {
		n.registry, err = registry.OpenKept(n.books, n.Plans, time.Now(), d)
	} else {
		var joined registry.Joined
		if n.registry, joined, err = registry.OpenShared(n.books, n.Plans, time.Now(), d); err == nil {
			n.tellJoined(&joined)
		}
	}
	if err == nil {
		n.background("shared accounts", func(ctx context.Context) { d.Follow(ctx, n.registry.Apply) })
	}
	return err
}

// shareQuotas has the units of accounts come from the quotas that all nodes of a cluster
// share. It ends after metering, which gives the leases back.
func (n *node) shareQuotas(ctx context.Context, meter *actors.Meter) error {
	if n.cluster == nil {
		return nil
	}
	ledger, err := quota.Open(ctx, n.cluster, n.quotaConfig())
	if err != nil {
		return err
	}

	meter.Leases, n.quotas = ledger, ledger
	n.registry.AddUsage(ledger.Elsewhere)
	n.registry.ReportUsage()
	n.background("shared quotas", ledger.Run)
	return nil
}

func (n *node) quotaConfig() quota.Config {
	return quota.Config{
		Book: n.registry.Book(), OnOutage: n.Cluster.QuotaOnOutage, Metrics: n.set, Log: n.log,
	}
}

// nodesName is how many nodes the cluster had.
const nodesName = "cluster.nodes"

// shareBursts has the nodes of a cluster share burst limits.
func (n *node) shareBursts() (err error) {
	if n.cluster == nil {
		return nil
	}
	known := int64(0)
	if kept, ok := findPair(n.store.Identity(), nodesName); ok {
		if known, err = strconv.ParseInt(kept, 10, 32); err != nil {
			n.log.Warn("the data does not say how many nodes the cluster had", "error", err)
		}
	}

	n.bursts, err = burst.Open(n.cluster, burst.Config{
		Book: n.registry.Book(), Clock: n.registry.Clock(), Known: known, Remember: n.rememberNodes,
		Metrics: n.set, Log: n.log,
	})
	if err == nil {
		n.background("shared burst limits", n.bursts.Run)
	}
	return err
}

// rememberNodes stores how many nodes the cluster has, for a start without the others.
func (n *node) rememberNodes(nodes int64) error {
	pairs := slices.DeleteFunc(n.store.Identity(), func(p storage.Pair) bool { return p.Name == nodesName })
	return n.store.SetIdentity(append(pairs, storage.Pair{Name: nodesName, Value: strconv.FormatInt(nodes, 10)}))
}

// tellJoined says in the log whose accounts this node has now.
func (n *node) tellJoined(j *registry.Joined) {
	count := len(n.registry.AccountList())
	if j.Founded {
		n.log.Info("this node is the first to share its accounts with the cluster", "accounts", count)
		return
	}

	n.log.Info("this node has the accounts of the cluster", "accounts", count)
	if j.Plans {
		n.log.Warn("the plans of the cluster differ from those configured, and are in force; a reload " +
			"of a node whose plans were changed replaces them everywhere")
	}
	if len(j.Apart) > 0 {
		n.log.Warn("accounts and keys of this node that the cluster does not have are not served; they "+
			"were copied with their usage", "names", strings.Join(j.Apart, ", "), "copy", j.Copy)
	}
}

// showPlans lists the plans, and those with which another node replaces them.
func (n *node) showPlans() {
	n.registry.OnPlans(func(plans []accounts.Plan) {
		n.log.Info("another node has replaced the plans")
		n.api.SetPlans(plans)
	})
	n.api.SetPlans(n.registry.Plans()) // after that, so that none is missed
}
