package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/cryo"
	"tidemark/rankings/market"
)

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
func (c *ArchiveImportCmd) Run() error {
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
	st, err := c.fillArchive(ctx, l, chain, &file, headers)
	if err != nil {
		return err
	}
	if simulated {
		fmt.Println(`the feed is sim; set feed = "rpc" to serve what was imported`)
	}
	return printArchived(archivePath(l.Data, chain.ID), &st)
}

// fillArchive imports into the archive of a chain, and returns what the archive has then.
func (c *ArchiveImportCmd) fillArchive(
	ctx context.Context, l *loaded, chain *ChainConfig, file *archive.Status, headers *headerCheck,
) (st archive.Status, err error) {
	l.Feed = "rpc" // no other feed serves an archive
	quiet := slog.New(slog.DiscardHandler)
	store, err := l.openStopped(quiet) // locks the directory, and compares its identity
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	a, err := archive.Open(l.archiveConfig(chain))
	if err != nil {
		return st, err
	}

	err = c.importInto(ctx, l, chain, a, file, headers)
	st = a.Status()
	return st, errors.Join(err, a.Close())
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
	if err == nil {
		err = a.Sync()
	}
	if err != nil {
		return errors.Join(err, a.Drop())
	}

	for _, line := range source.Missing() {
		fmt.Println("missing:", line)
	}
	return headers.tell()
}
