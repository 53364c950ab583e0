package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"tidemark/actors"
)

// BackupCmd writes a checkpoint of a running node.
type BackupCmd struct {
	AdminFlags
	Dir string `arg:"" help:"Directory to make; it must not exist." type:"path"`
}

// backupView says where a checkpoint is.
type backupView struct {
	Dir string `json:"dir"`
}

// Run asks the node for it.
func (c *BackupCmd) Run() error {
	path := "/backup?dir=" + url.QueryEscape(c.Dir)
	return ask(&c.AdminFlags, "POST", path, nil, func(w io.Writer, v *backupView) {
		row(w, "checkpoint in", v.Dir)
	})
}

// RestoreCmd makes a stopped node's data from a checkpoint.
type RestoreCmd struct {
	Dir  string `arg:"" help:"Directory of the checkpoint." type:"existingdir"`
	Data string `help:"Data directory to make; it must not exist or be empty." default:"./data" placeholder:"DIR"`
}

// handleBackup adds POST /backup {dir} to the administration. Both stores are
// checkpointed one after the other: each is a whole cut, and billing does not
// depend on market data.
func (n *node) handleBackup(socket *actors.AdminSocket) {
	socket.Handle("POST /backup", func(r *http.Request) (any, error) {
		dir := r.URL.Query().Get("dir")
		if !filepath.IsAbs(dir) {
			return nil, &actors.Refusal{Status: http.StatusBadRequest, Message: "dir must be an absolute path"}
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, &actors.Refusal{Status: http.StatusConflict, Message: err.Error()}
		}
		err := errors.Join(
			n.store.Checkpoint(filepath.Join(dir, marketDir)),
			n.books.Checkpoint(filepath.Join(dir, accountsDir)),
		)
		return backupView{dir}, err
	})
}

// Run copies the checkpoint, which stays as it is.
func (c *RestoreCmd) Run() error {
	for _, part := range []string{marketDir, accountsDir} {
		if _, err := os.Stat(filepath.Join(c.Dir, part)); err != nil {
			return fmt.Errorf("%s is no checkpoint: %w", c.Dir, err)
		}
	}
	entries, err := os.ReadDir(c.Data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty; stop its node and move it away first", c.Data)
	}
	if err := os.CopyFS(c.Data, os.DirFS(c.Dir)); err != nil {
		return fmt.Errorf("cannot copy %s to %s: %w", c.Dir, c.Data, err)
	}
	findings, err := checkData(c.Data, os.Stdout)
	if err != nil {
		return err
	}
	if findings > 0 {
		return fmt.Errorf("%d findings in the restored data", findings)
	}
	fmt.Printf("restored %s from %s\n", c.Data, c.Dir)
	return nil
}
