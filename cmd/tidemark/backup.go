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

// RestoreCmd makes a stopped node's data from a checkpoint.
type RestoreCmd struct {
	Dir  string `arg:"" help:"Directory of the checkpoint." type:"path"`
	Data string `help:"New or empty data directory." default:"./data" env:"TIDEMARK_DATA" type:"data" placeholder:"DIR"`
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

// Run copies the checkpoint, which stays as it is.
func (c *RestoreCmd) Run() error {
	narrowFiles()
	for _, part := range []string{marketDir, accountsDir} {
		if _, err := os.Stat(filepath.Join(c.Dir, part)); err != nil {
			return fmt.Errorf("%s is no checkpoint: %w", c.Dir, err)
		}
	}
	// What a running node has is no cut; its socket tells it from a checkpoint.
	if _, err := os.Lstat(filepath.Join(c.Dir, admin.SocketName)); err == nil {
		return fmt.Errorf("%s belongs to a node; restore what `tidemark backup` wrote", c.Dir)
	}
	if err := c.checkTarget(); err != nil {
		return err
	}
	if err := c.checkFiles(); err != nil {
		return err
	}

	// The copy gets a new proof, which would take what is missing here for given up.
	findings, err := checkAccounts(c.Dir)
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		printLines(os.Stdout, findings)
		return fmt.Errorf("the accounts in %s are damaged; nothing was restored", c.Dir)
	}

	if err := os.CopyFS(c.Data, os.DirFS(c.Dir)); err != nil {
		return errors.Join(fmt.Errorf("cannot copy %s to %s: %w", c.Dir, c.Data, err), c.removeCopy())
	}
	if err := c.proveAccounts(); err != nil {
		return errors.Join(fmt.Errorf("cannot restore the accounts of %s: %w", c.Dir, err), c.removeCopy())
	}

	if findings, err = checkData(c.Data); err != nil {
		return err
	}
	printLines(os.Stdout, findings)
	if len(findings) > 0 {
		return fmt.Errorf("%d findings in the restored data", len(findings))
	}
	fmt.Printf("restored %s from %s\n", c.Data, c.Dir)
	return nil
}

// checkTarget refuses a data directory that has anything in it, or that is within the
// checkpoint: the copy would be copied too, without end.
func (c *RestoreCmd) checkTarget() error {
	entries, err := os.ReadDir(c.Data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty; stop its node and move it away first", c.Data)
	}

	checkpoint, err := os.Stat(c.Dir)
	if err != nil {
		return err
	}
	target, err := filepath.Abs(c.Data)
	if err == nil && isWithin(target, checkpoint) {
		return fmt.Errorf("%s is within the checkpoint %s; name a directory beside it", c.Data, c.Dir)
	}
	return err
}

// checkFiles refuses a checkpoint with anything but directories and regular files. A link would be
// copied as one: the node would write to what it leads to, which may be the checkpoint itself.
func (c *RestoreCmd) checkFiles() error {
	root, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Type().IsRegular() {
			return err
		}
		return fmt.Errorf("%s has the mode %s; a checkpoint has directories and regular files only",
			path, e.Type())
	})
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

// removeCopy removes a part of a copy, so that the restore can be tried again. The data
// directory was empty before; it stays, since it may be a mount.
func (c *RestoreCmd) removeCopy() error {
	entries, err := os.ReadDir(c.Data)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.Data, e.Name())))
	}
	return err
}

// proveAccounts takes what the checkpoint has of accounts as all there is:
// whatever came after it is given up by restoring it.
func (c *RestoreCmd) proveAccounts() error {
	store, err := accountstore.Open(filepath.Join(c.Data, accountsDir), accountstore.Options{
		AcceptLost: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return store.Close()
}
