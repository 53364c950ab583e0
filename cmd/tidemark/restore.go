package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"tidemark/edge/admin"
	"tidemark/storage/accountstore"
)

// RestoreCmd makes a stopped node's data from a checkpoint.
type RestoreCmd struct {
	Dir  string `arg:"" help:"Directory of the checkpoint." type:"path"`
	Data string `help:"New or empty data directory." default:"./data" env:"TIDEMARK_DATA" type:"data" placeholder:"DIR"`
}

// Run copies the checkpoint, which stays as it is. Nothing is made before all of it was looked at.
func (c *RestoreCmd) Run() error {
	narrowFiles()
	for _, check := range []func() error{
		c.checkSource, c.checkTarget, c.checkFiles, c.checkDamage,
	} {
		if err := check(); err != nil {
			return err
		}
	}

	if err := os.CopyFS(c.Data, os.DirFS(c.Dir)); err != nil {
		return errors.Join(fmt.Errorf("cannot copy %s to %s: %w", c.Dir, c.Data, err), c.removeCopy())
	}
	if err := c.proveAccounts(); err != nil {
		return errors.Join(fmt.Errorf("cannot restore the accounts of %s: %w", c.Dir, err), c.removeCopy())
	}

	findings, err := checkData(c.Data)
	if err != nil {
		return err
	}
	printLines(os.Stdout, findings)
	if len(findings) > 0 {
		return fmt.Errorf("%d findings in the restored data", len(findings))
	}
	fmt.Printf("restored %s from %s\n", c.Data, c.Dir)
	return nil
}

// checkSource refuses a directory that is not a checkpoint.
func (c *RestoreCmd) checkSource() error {
	for _, part := range []string{marketDir, accountsDir} {
		if _, err := os.Stat(filepath.Join(c.Dir, part)); err != nil {
			return fmt.Errorf("%s is no checkpoint: %w", c.Dir, err)
		}
	}
	// What a running node has is no cut; its socket tells it from a checkpoint.
	if _, err := os.Lstat(filepath.Join(c.Dir, admin.SocketName)); err == nil {
		return fmt.Errorf("%s belongs to a node; restore what `tidemark backup` wrote", c.Dir)
	}
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

// checkDamage refuses a checkpoint whose accounts are damaged: the copy gets a new proof, by
// which nothing would be missing.
func (c *RestoreCmd) checkDamage() error {
	findings, err := checkAccounts(c.Dir)
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		printLines(os.Stdout, findings)
		return fmt.Errorf("the accounts in %s are damaged; nothing was restored", c.Dir)
	}
	return nil
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
