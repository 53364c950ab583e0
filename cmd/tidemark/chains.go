package main

import (
	"fmt"
	"io"

	"tidemark/edge/admin"
)

// ChainsCmd lists, switches and resynchronises the chains of a running node.
type ChainsCmd struct {
	List    ChainsListCmd    `cmd:"" help:"List the chains and where they stand."`
	Offline ChainsOfflineCmd `cmd:"" help:"Leave a chain out of every answer, also after a restart."`
	Online  ChainsOnlineCmd  `cmd:"" help:"Take a chain in again."`
	Resync  ChainsResyncCmd  `cmd:"" help:"Drop what is kept of a chain and index it from its start."`
}

// ChainsListCmd lists the chains.
type ChainsListCmd struct{ AdminFlags }

// Run lists them.
func (c *ChainsListCmd) Run() error { return ask(&c.AdminFlags, "GET", "/chains", nil, showChains) }

// ChainsOfflineCmd leaves a chain out.
type ChainsOfflineCmd struct {
	AdminFlags
	ID uint64 `arg:"" help:"Chain id."`
}

// Run leaves it out.
func (c *ChainsOfflineCmd) Run() error { return c.tell(c.ID, "offline") }

// ChainsOnlineCmd takes a chain in.
type ChainsOnlineCmd struct {
	AdminFlags
	ID uint64 `arg:"" help:"Chain id."`
}

// Run takes it in.
func (c *ChainsOnlineCmd) Run() error { return c.tell(c.ID, "online") }

// ChainsResyncCmd indexes a chain anew.
type ChainsResyncCmd struct {
	AdminFlags
	ID uint64 `arg:"" help:"Chain id."`
}

// Run starts it; the chain is unavailable until it has caught up.
func (c *ChainsResyncCmd) Run() error { return c.tell(c.ID, "resync") }

// tell sends an order for a chain and shows what came of it.
func (f *AdminFlags) tell(id uint64, order string) error {
	return ask(f, "POST", fmt.Sprintf("/chains/%d/%s", id, order), nil, showChains)
}

func showChains(w io.Writer, v *[]admin.ChainView) {
	row(w, "CHAIN", "NAME", "STATUS", "GENERATION", "INDEXED", "HEAD", "REASON")
	for i := range *v {
		c := &(*v)[i]
		row(w, c.ChainID, c.Name, c.Status, c.Generation, c.LastIndexedBlock, c.ChainHeadBlock, orDash(&c.Reason))
	}
}
