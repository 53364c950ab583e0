package admin

import (
	"net/http"
	"os"
	"path/filepath"

	"tidemark/storage/registry"
)

// BackupView says where a checkpoint is.
type BackupView struct {
	Dir string `json:"dir"`
}

// handleBackup makes the directory itself: one that exists is refused, so that
// no backup is ever written over another.
func (s *Server) handleBackup() {
	s.handle("POST /backup", func(r *http.Request) (any, error) {
		dir := r.URL.Query().Get("dir")
		if !filepath.IsAbs(dir) {
			return nil, refuse(registry.Invalid, "dir is %q; it must be an absolute path", dir)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, refuse(registry.Conflict, "%v", err)
		}
		return BackupView{dir}, s.Control.Backup(dir)
	})
}
