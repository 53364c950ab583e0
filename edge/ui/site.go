package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/edge/docs"
)

//go:embed dist
var built embed.FS

const (
	// Policy is the Content-Security-Policy of every page: nothing from
	// elsewhere, nothing inline.
	Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	cacheForever = "public, max-age=31536000, immutable" // of names with a hash
	cacheChecked = "no-cache"                            // kept, but asked for with the ETag

	// packFrom is the size from which a body is compressed, as for answers of the API.
	packFrom = 1 << 10
)

// contentTypes are those of every extension in dist and docs.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
	".md":   "text/markdown; charset=utf-8",
}

// A File is one answer of the site. It does not change.
type File struct {
	Body         []byte
	ContentType  string
	ETag         string
	CacheControl string
	Policy       string // the Content-Security-Policy; pages only

	pack sync.Once
	gzip []byte
	zstd []byte
}

// A Site is every file by its path.
type Site struct {
	files     map[string]*File
	dashboard *File // answers every path below /ui
}

// Open reads the embedded files.
func Open() *Site {
	s := &Site{files: map[string]*File{}}
	s.addAll(built, "dist", "")
	s.addAll(docs.Files, ".", "/docs")

	// The pages stand under the names that people type.
	s.files["/"] = s.take("/index.html")
	s.dashboard = s.take("/ui.html")
	s.files["/ui"] = s.dashboard
	for name, f := range s.files {
		if page, ok := strings.CutSuffix(name, ".html"); ok {
			delete(s.files, name)
			s.files[page] = f
		}
	}
	if start, ok := s.files["/docs/start"]; ok {
		s.files["/docs"] = start
	}
	return s
}

// take removes a file from its place.
func (s *Site) take(name string) *File {
	f := s.files[name]
	if f == nil {
		panic("BUG: " + name + " is not embedded; run make ui")
	}
	delete(s.files, name)
	return f
}

// addAll adds every file of a tree, its names below a path.
func (s *Site) addAll(tree fs.FS, root, below string) {
	err := fs.WalkDir(tree, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}

		at := below + "/" + strings.TrimPrefix(name, root+"/")
		s.files[at], err = newFile(at, body)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("BUG: what is embedded cannot be read: %v", err))
	}
}

func newFile(name string, body []byte) (*File, error) {
	kind, ok := contentTypes[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("%s has no content type", name)
	}
	sum := sha256.Sum256(body)
	f := &File{
		Body: body, ContentType: kind, CacheControl: cacheChecked,
		ETag: `W/"` + hex.EncodeToString(sum[:8]) + `"`,
	}

	if strings.HasPrefix(name, "/assets/") && path.Ext(name) != ".txt" {
		f.CacheControl = cacheForever
	}
	if path.Ext(name) == ".html" {
		f.Policy = Policy
	}
	return f, nil
}

// Find returns the file that a path names, or nil. A trailing slash is the same path; one
// with an empty segment or an escaped slash names nothing. Every path below /ui is the
// dashboard, which reads the rest.
func (s *Site) Find(name []byte) *File {
	for _, never := range []string{"//", "%2F", "%2f"} {
		if bytes.Contains(name, []byte(never)) {
			return nil
		}
	}

	if len(name) > 1 {
		name = bytes.TrimSuffix(name, []byte{'/'})
	}
	if f := s.files[string(name)]; f != nil {
		return f
	}
	if bytes.HasPrefix(name, []byte("/ui/")) {
		return s.dashboard
	}
	return nil
}

// Packed returns the body in gzip or in zstd, or nil where that does not pay.
func (f *File) Packed(zstd bool) []byte {
	f.pack.Do(f.packAll)
	if zstd {
		return f.zstd
	}
	return f.gzip
}

// packAll makes both codings at the first demand, as small as they get: they
// are made once and sent often.
func (f *File) packAll() {
	if len(f.Body) < packFrom {
		return
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(f.Body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("BUG: compressing into memory failed")
	}
	f.gzip = out.Bytes()

	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstd.MinWindowSize<<8))
	if err != nil {
		panic("BUG: zstd refuses its own settings")
	}
	f.zstd = e.EncodeAll(f.Body, nil)
}
