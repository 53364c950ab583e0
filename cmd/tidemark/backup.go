package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"tidemark/actors"
	"tidemark/edge/admin"
	"tidemark/storage"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// BackupCmd writes a checkpoint of a running node.
type BackupCmd struct {
	AdminFlags
	Dir string `arg:"" help:"Directory to make; it must not exist." type:"path"`
}

// Help says what a backup has.
func (c *BackupCmd) Help() string {
	return "A backup has the data of all chains and all accounts. It has no archive: that is not " +
		"needed to go on, can be as large again, and does not change once it is written. " +
		"`tidemark archive export` writes it to a file."
}

// Run asks the node for it.
func (c *BackupCmd) Run() error {
	path := "/backup?dir=" + url.QueryEscape(c.Dir)
	return ask(&c.AdminFlags, "POST", path, nil, func(w io.Writer, v *admin.BackupView) {
		writeRow(w, "checkpoint in", v.Dir)
	})
}

// control is what the administration may have the node do.
type control struct {
	*actors.Node
	data     string
	market   *storage.Store
	accounts *accountstore.Store
	log      *slog.Logger
}

// Backup checkpoints both stores one after the other: each is a whole cut, and
// billing does not depend on market data.
func (c control) Backup(dir string) error {
	for _, part := range []string{marketDir, accountsDir} {
		if info, err := os.Stat(filepath.Join(c.data, part)); err == nil && isWithin(dir, info) {
			return &registry.Refusal{
				Kind: registry.Conflict, Message: fmt.Sprintf("%s is within a store; name a directory elsewhere", dir),
			}
		}
	}

	err := errors.Join(
		c.market.Checkpoint(filepath.Join(dir, marketDir)),
		c.accounts.Checkpoint(filepath.Join(dir, accountsDir)),
	)
	if err != nil {
		return err
	}

	// The backup is complete, and worth more than the note.
	if err := noteBackup(c.data, dir); err != nil {
		c.log.Warn("cannot note where the backup is", "directory", dir, "error", err)
	}
	return nil
}

// isWithin reports whether an absolute path, which need not exist, is a directory or below it,
// also through a link.
func isWithin(path string, dir fs.FileInfo) bool {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if info, err := os.Stat(path); err == nil && os.SameFile(info, dir) {
		return true
	}
	parent := filepath.Dir(path)
	return parent != path && isWithin(parent, dir)
}
