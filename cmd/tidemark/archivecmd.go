package main

import (
	"errors"
	"fmt"

	"tidemark/actors/feed/archive"
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
