package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/cryo"
	"tidemark/actors/feed/rpc"
	"tidemark/rankings/market"
)

// ArchiveCmd moves archives of spans between machines.
type ArchiveCmd struct {
	Export ArchiveExportCmd `cmd:"" help:"Write the archive of a chain to a file, also while a node is running."`
	Import ArchiveImportCmd `cmd:"" help:"Fill the archive of a stopped node's chain from a file or directory."`
}

// ArchiveExportCmd writes an archive to a file.
type ArchiveExportCmd struct {
	File  string `arg:"" help:"File to make; it must not exist." type:"path"`
	Chain uint64 `help:"Chain id." required:"" placeholder:"ID"`
	Data  string `help:"Directory of the node." default:"./data" env:"TIDEMARK_DATA" type:"data" placeholder:"DIR"`
}

// Run writes what no reorganisation can reach.
func (c *ArchiveExportCmd) Run() error {
	ctx, stop := interruptContext()
	defer stop()
	dir := archivePath(c.Data, market.ChainID(c.Chain))
	id, err := archive.Find(dir)
	if err != nil {
		return fmt.Errorf("chain %d has no archive in %s: %w", c.Chain, c.Data, err)
	}
	a, err := archive.Open(archive.Config{Identity: id, Dir: dir, ReadOnly: true})
	if err != nil {
		return err
	}

	st, err := a.Export(ctx, c.File)
	if err = errors.Join(err, a.Close()); err != nil {
		return err
	}
	return printArchived(c.File, &st)
}

func printArchived(where string, st *archive.Status) error {
	_, err := fmt.Printf("%s: %d events of blocks %d to %d, %d bytes\n",
		where, st.Events, st.Base.Number+1, st.Head.Number, st.Bytes)
	return err
}

// ArchiveImportCmd fills an archive.
type ArchiveImportCmd struct {
	File      string `arg:"" help:"File of archive export, or directory of the extractor." type:"path"`
	Chain     uint64 `help:"Chain id; a file of archive export says it itself." placeholder:"ID"`
	Format    string `help:"tidemark (a file) or cryo (a directory)." enum:"tidemark,cryo" default:"tidemark"`
	Config    string `help:"Configuration file." type:"path" placeholder:"FILE"`
	Data      string `help:"Directory of the node (that of the configuration)." placeholder:"DIR"`
	NoHeaders bool   `help:"Compare no block hashes with the chain's nodes."`
}

// Run imports, and compares block hashes with the nodes of the configuration. It makes
// nothing before it has found what to import.
func (c *ArchiveImportCmd) Run() (err error) {
	ctx, stop := interruptContext()
	defer stop()
	narrowFiles()
	l, err := loadConfig(c.Config, os.Environ(), map[string]string{"data": c.Data})
	if err != nil {
		return err
	}
	if isRunning(ctx, l.Data) {
		return fmt.Errorf("a node is running on %s; stop it first", l.Data)
	}

	id, file, err := c.find()
	if err != nil {
		return err
	}
	chain, err := l.chainOf(id)
	if err != nil {
		return err
	}
	headers, err := c.headers(l, chain)
	if err != nil {
		return err
	}
	defer headers.close()

	simulated := l.Feed == "sim"
	l.Feed = "rpc" // no other feed serves an archive
	quiet := slog.New(slog.DiscardHandler)
	store, err := l.openStopped(quiet) // locks the directory, and compares its identity
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	a, err := archive.Open(l.archiveConfig(chain))
	if err != nil {
		return err
	}

	err = c.importInto(ctx, l, chain, a, &file, headers)
	st := a.Status()
	if err = errors.Join(err, a.Close()); err != nil {
		return err
	}

	if simulated {
		fmt.Println(`the feed is sim; set feed = "rpc" to serve what was imported`)
	}
	return printArchived(archivePath(l.Data, chain.ID), &st)
}

// find returns the chain that is imported and, of a file, what it has.
func (c *ArchiveImportCmd) find() (chain market.ChainID, file archive.Status, err error) {
	chain = market.ChainID(c.Chain)
	if c.Format == "cryo" {
		if chain == 0 {
			return 0, file, errors.New("a directory of cryo does not say its chain; name it with --chain ID")
		}
		_, err = os.ReadDir(c.File)
		return chain, file, err
	}

	id, file, err := archive.Inspect(c.File)
	if chain == 0 {
		chain = id.Chain
	}
	return chain, file, err
}

// importInto imports into an archive: a directory, or a file, of which file is the content.
func (c *ArchiveImportCmd) importInto(
	ctx context.Context, l *loaded, chain *ChainConfig, a *archive.Archive, file *archive.Status,
	headers *headerCheck,
) error {
	if c.Format == "cryo" {
		return l.importCryo(ctx, c.File, chain, a, headers)
	}

	headers.spread(file.Base.Number, file.Head.Number)
	_, err := a.Import(ctx, c.File, func(h market.Head) error { return headers.check(ctx, h) })
	if err != nil {
		return err
	}
	return headers.tell()
}

// headerChecks is how many blocks of an import are compared with a node, spread
// evenly, beside the last: what is between two of them is proven by `verify`.
const headerChecks = 64

// headerCheck compares blocks with the headers of a chain's nodes.
type headerCheck struct {
	header    func(ctx context.Context, number uint64) (market.Head, error) // nil: nothing is compared
	close     func() error
	why       string // nothing is compared
	next, gap uint64
	last      uint64
	compared  int
}

// headers makes the comparison, if the configuration has nodes.
func (c *ArchiveImportCmd) headers(l *loaded, chain *ChainConfig) (*headerCheck, error) {
	switch {
	case c.NoHeaders:
		return &headerCheck{why: "--no-headers was given", close: func() error { return nil }}, nil
	case l.Feed != "rpc":
		return &headerCheck{why: "the configuration has no nodes", close: func() error { return nil }}, nil
	}
	source, err := l.newFeed(chain, nil, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("cannot make the feed of chain %d: %w", chain.ID, err)
	}

	nodes, ok := source.(*rpc.Feed)
	if !ok {
		panic("BUG: the feed rpc is not of package rpc")
	}
	return &headerCheck{header: nodes.Header, close: nodes.Close}, nil
}

// spread decides which blocks are compared.
func (h *headerCheck) spread(after, last uint64) {
	h.last, h.gap = last, max((last-min(after, last))/headerChecks, 1)
	h.next = after + h.gap
}

func (h *headerCheck) check(ctx context.Context, at market.Head) error {
	if h.header == nil || at.Hash.IsZero() || at.Number < h.next && at.Number != h.last {
		return nil
	}
	h.next = at.Number + h.gap
	header, err := h.header(ctx, at.Number)
	if err != nil {
		return fmt.Errorf("%w; give --no-headers to compare nothing", err)
	}

	if header.Hash != at.Hash {
		return fmt.Errorf("block %d is %s; the chain's nodes say %s", at.Number, at.Hash, header.Hash)
	}
	h.compared++
	return nil
}

// tell says what was compared, and what proves the rest.
func (h *headerCheck) tell() error {
	what := fmt.Sprintf("%d block hashes are those of the chain's nodes", h.compared)
	if h.header == nil {
		what = "no block hash was compared with a node: " + h.why
	}
	_, err := fmt.Println(what + "; `tidemark verify` compares the ledger with the contracts once the node runs")
	return err
}

// importCryo imports a directory of the extractor cryo.
func (l *loaded) importCryo(
	ctx context.Context, dir string, chain *ChainConfig, a *archive.Archive, headers *headerCheck,
) error {
	if err := a.EnsureEmpty(); err != nil {
		return err
	}
	decimals, err := chain.decimals()
	if err != nil {
		return err
	}
	source, err := cryo.Open(dir, cryo.Config{
		Chain: chain.ID, PoolManager: chain.PoolManager, PositionManager: chain.PositionManager,
		Start:        max(chain.StartBlock, 1),
		NativeSymbol: chain.NativeSymbol, NativeName: chain.nativeName(), Decimals: decimals,
	})
	if err != nil {
		return err
	}

	from, to := source.Blocks()
	headers.spread(from-1, to)
	at := market.Head{Number: from - 1}
	err = source.Each(ctx, func(span *market.Span) error {
		if err := headers.check(ctx, span.Head()); err != nil {
			return err
		}
		a.NoteFinalized(span.To) // before the frame, which has it
		err := a.Append(at, span)
		at = span.Head()
		return err
	})
	if err != nil {
		return errors.Join(err, a.Drop())
	}
	if err := a.Sync(); err != nil {
		return err
	}
	for _, line := range source.Missing() {
		fmt.Println("missing:", line)
	}
	return headers.tell()
}
