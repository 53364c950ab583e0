package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"tidemark/edge/admin"
)

// ChainsCmd lists, switches and resynchronises the chains of a running node.
type ChainsCmd struct {
	List    ChainsListCmd    `cmd:"" help:"List the chains with status, reason and lag."`
	Offline ChainsOfflineCmd `cmd:"" help:"Leave a chain out of every answer, also after a restart."`
	Online  ChainsOnlineCmd  `cmd:"" help:"Serve a chain again."`
	Rebuild ChainsRebuildCmd `cmd:"" help:"Build a chain again from its archive; a running node fetches the rest."`
	Resync  ChainsResyncCmd  `cmd:"" help:"Drop the data and the archive of a chain and index it from its start."`
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
func (c *ChainsOfflineCmd) Run() error { return c.orderChain(c.ID, "offline") }

// ChainsOnlineCmd takes a chain in.
type ChainsOnlineCmd struct {
	AdminFlags
	ID uint64 `arg:"" help:"Chain id."`
}

// Run takes it in.
func (c *ChainsOnlineCmd) Run() error { return c.orderChain(c.ID, "online") }

// ChainsResyncCmd indexes a chain anew.
type ChainsResyncCmd struct {
	AdminFlags
	ID  uint64 `arg:"" help:"Chain id."`
	Yes bool   `help:"Do not ask first on a terminal."`
}

// Run starts it; the chain is unavailable until it has caught up.
func (c *ChainsResyncCmd) Run() error {
	if !c.Yes && term.IsTerminal(int(os.Stdin.Fd())) {
		question := fmt.Sprintf("Drop everything kept of chain %d and index it from its start? "+
			"It cannot be asked until it has caught up. [y/N] ", c.ID)
		if !confirm(os.Stdin, os.Stdout, question) {
			return errors.New("nothing was changed")
		}
	}
	return c.orderChain(c.ID, "resync")
}

// confirm asks a question and reports whether the answer is yes.
func confirm(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is a no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// orderChain sends an order for a chain and shows what came of it.
func (f *AdminFlags) orderChain(id uint64, order string) error {
	return ask(f, "POST", fmt.Sprintf("/chains/%d/%s", id, order), nil, showChains)
}

func showChains(w io.Writer, v *[]admin.ChainView) {
	writeRow(w, "CHAIN", "NAME", "STATUS", "GENERATION", "INDEXED", "HEAD", "BEHIND", "REASON")
	for i := range *v {
		c := &(*v)[i]
		writeRow(w, c.ChainID, c.Name, c.Status, c.Generation, c.LastIndexedBlock, c.ChainHeadBlock,
			describeLag(c), orDash(c.Reason))
	}
}

// describeLag says how far a chain is behind its head.
func describeLag(c *admin.ChainView) string {
	switch {
	case c.LagBlocks == nil:
		return "unknown"
	case *c.LagBlocks == 0:
		return "no"
	}
	return fmt.Sprintf("%d blocks, %s", *c.LagBlocks, inWords(time.Duration(*c.LagSeconds)*time.Second))
}
