package admin

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"tidemark/storage/registry"
)

// BackupView is the answer to a backup: the directory of the checkpoint.
type BackupView struct {
	Dir string `json:"dir"`
}

// handleBackup creates the directory itself and refuses one that exists, so that
// a backup never overwrites another.
func (s *Server) handleBackup() {
	s.handle("POST /backup", func(r *http.Request) (any, error) {
		dir := r.URL.Query().Get("dir")
		if !filepath.IsAbs(dir) {
			return nil, refusal(registry.Invalid, "dir is %q; it must be an absolute path", dir)
		}

		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			return nil, refusal(registry.Conflict, "%s exists already; name a new directory", dir)
		}
		if err != nil {
			return nil, refusal(registry.Conflict, "cannot make the directory of the backup: %v", err)
		}

		if err := s.Control.Backup(dir); err != nil {
			// The next try may name the same directory.
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return BackupView{dir}, nil
	})
}
