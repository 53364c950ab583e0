package actors

import (
	"errors"
	"fmt"
	"time"

	"tidemark/actors/chain"
	"tidemark/rankings/market"
	"tidemark/storage/registry"
)

// SetOffline takes a chain offline, or online again.
func (n *Node) SetOffline(id market.ChainID, offline bool) error {
	return n.command(id, func(a *chainActor) error { return a.setOffline(offline) })
}

// Rebuild drops the data of a chain and indexes it from its archive of spans, and
// what that lacks from its nodes.
func (n *Node) Rebuild(id market.ChainID) error {
	return n.command(id, (*chainActor).rebuild)
}

// Resync drops all data of a chain and indexes it from its start.
func (n *Node) Resync(id market.ChainID) error {
	return n.command(id, (*chainActor).resync)
}

// commandTimeout bounds how long an operator waits for a busy chain.
const commandTimeout = 30 * time.Second

func (n *Node) command(id market.ChainID, do func(*chainActor) error) error {
	a, ok := n.chains[id]
	if !ok {
		return refuse("chain %d is not enabled on this node", id)
	}
	reply := make(chan error, 1)
	a.send(command{do, reply})

	select {
	case err := <-reply:
		return err
	case <-time.After(commandTimeout):
		return fmt.Errorf("chain %d is busy and did not answer within %s; it carries the command out when it can, "+
			"so look at `tidemark chains list` before you give it again", id, commandTimeout)
	}
}

// refuse returns the error of a command that the operator has to give otherwise, elsewhere
// or later.
func refuse(format string, args ...any) error {
	return &registry.Refusal{Kind: registry.Conflict, Message: fmt.Sprintf(format, args...)}
}

// run runs the command and replies. The operator is answered also where it panics.
func (c command) run(a *chainActor) {
	err := errors.New("the command failed, and its chain is opened again; the log says why")
	defer func() { c.reply <- err }()
	err = c.do(a)
}

// resync drops the chain's data and its archive and starts again. It is an
// operator's command.
func (a *chainActor) resync() error { return a.restart((*chain.Chain).Resync) }

// rebuild drops the chain's data but not its archive, and starts again. It is an
// operator's command.
func (a *chainActor) rebuild() error {
	if id := a.id(); a.chainConfig.Archive == nil {
		return refuse("chain %d has no archive of spans; `tidemark chains resync %d` indexes it from its feed",
			id, id)
	}
	return a.restart((*chain.Chain).Restart)
}

// setOffline takes the chain offline, or online again. It is an operator's command.
func (a *chainActor) setOffline(offline bool) error {
	if a.chain == nil {
		return a.errNotOpen()
	}
	return a.chain.SetOffline(offline)
}

// errNotOpen is the error of a command to a chain that joins its cluster, or whose store
// cannot be read.
func (a *chainActor) errNotOpen() error {
	return refuse("chain %d is not open; the log says what it waits for", a.id())
}

// restart drops data of the chain and goes on from what is left.
func (a *chainActor) restart(drop func(*chain.Chain) error) error {
	switch {
	case a.chain == nil:
		return a.errNotOpen()
	case a.chain.Following():
		return a.errFollows()
	case !a.chain.Loaded():
		return refuse("the chain's records are still loading; try again in a few seconds")
	}

	a.beginEpoch()
	if err := drop(a.chain); err != nil {
		a.restoreLater()
		return err
	}
	a.startFetch()
	a.scheduleTick(a.Every)
	return nil
}
