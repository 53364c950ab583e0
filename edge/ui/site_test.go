package ui

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/edge/docs"
)

func TestFind(t *testing.T) {
	s := Open()
	f := func(path, contentType, cache string, page bool) {
		t.Helper()
		got := s.Find([]byte(path))
		if got == nil {
			t.Errorf("%s is not found", path)
			return
		}
		if got.ContentType != contentType || got.CacheControl != cache || (got.Policy != "") != page {
			t.Errorf("%s: got %s, %s, policy %q", path, got.ContentType, got.CacheControl, got.Policy)
		}
	}

	f("/", "text/html; charset=utf-8", "no-cache", true)
	f("/ui", "text/html; charset=utf-8", "no-cache", true)
	f("/ui/", "text/html; charset=utf-8", "no-cache", true)
	f("/ui/pools/1/swapdex-v4/0xab", "text/html; charset=utf-8", "no-cache", true)
	f("/docs", "text/html; charset=utf-8", "no-cache", true)
	f("/docs/", "text/html; charset=utf-8", "no-cache", true)
	f("/docs/reference", "text/html; charset=utf-8", "no-cache", true)
	f("/docs/paging.md", "text/markdown; charset=utf-8", "no-cache", false)
	f("/llms.txt", "text/plain; charset=utf-8", "no-cache", false)
	f("/favicon.svg", "image/svg+xml", "no-cache", false)
	for _, path := range []string{"", "/uis", "/docs/none", "/index.html", "/ui.html", "/dist/ui.html", "/assets", "/assets/../ui",
		"//", "///", "/ui//", "/ui//pools", "/ui/%2F", "/ui/%2fpools", "/docs//"} {
		if s.Find([]byte(path)) != nil {
			t.Errorf("%s is found", path)
		}
	}
}

// TestBodies checks that a path answers the file that it names, and that a file without a
// known content type is refused.
func TestBodies(t *testing.T) {
	s := Open()
	guide, err := docs.Files.ReadFile("paging.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/docs/paging.md": string(guide), "/": "<html", "/ui": "<html", "/docs": "<html"} {
		if f := s.Find([]byte(path)); f == nil || !strings.Contains(string(f.Body), want) || want == "" {
			t.Errorf("%s does not answer its file", path)
		}
	}
	if start := s.Find([]byte("/docs/start")); start != s.Find([]byte("/docs")) {
		t.Error("/docs is another page than its first")
	}

	f := func(name, cache, policy, problem string) {
		t.Helper()
		got, err := newFile(name, []byte("text"))
		if problem != "" {
			if err == nil || err.Error() != problem {
				t.Errorf("%s: %v; want %s", name, err, problem)
			}
			return
		}
		if err != nil || string(got.Body) != "text" || got.CacheControl != cache || got.Policy != policy ||
			got.ETag != `W/"982d9e3eb996f559"` {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	f("/a.html", cacheChecked, Policy, "")
	f("/assets/a.js", cacheForever, "", "")
	f("/assets/licences.txt", cacheChecked, "", "")
	f("/a.js", cacheChecked, "", "")
	f("/a.exe", "", "", "/a.exe has no content type")
}

var reference = regexp.MustCompile(`(?:href|src)="(/[^"#]*)`)

// TestPages: what a page names is there, and nothing stands inline that the
// policy forbids.
func TestPages(t *testing.T) {
	s := Open()
	others := map[string]bool{"/health": true, "/openapi.json": true}
	for path, file := range s.files {
		if file.Policy == "" {
			continue
		}

		text := string(file.Body)
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			if s.Find([]byte(m[1])) == nil && !others[m[1]] {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
		for _, inline := range []string{" style=", "<style", "onclick=", "javascript:", "<script>"} {
			if strings.Contains(text, inline) {
				t.Errorf("%s has %s, which its policy forbids", path, inline)
			}
		}
	}
}

// TestPacked: every coding of every file is the file.
func TestPacked(t *testing.T) {
	for path, file := range Open().files {
		if file.Packed(false) == nil {
			if len(file.Body) >= packFrom {
				t.Errorf("%s of %d bytes is not packed", path, len(file.Body))
			}
			continue
		}

		gz, err := gzip.NewReader(bytes.NewReader(file.Packed(false)))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(gz); err != nil || !bytes.Equal(body, file.Body) {
			t.Errorf("%s differs in gzip: %v", path, err)
		}

		zs, err := zstd.NewReader(bytes.NewReader(file.Packed(true)))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(zs); err != nil || !bytes.Equal(body, file.Body) {
			t.Errorf("%s differs in zstd: %v", path, err)
		}
		zs.Close()
	}

	for size, packed := range map[int]bool{1<<10 - 1: false, 1 << 10: true} {
		if f := (&File{Body: make([]byte, size)}); (f.Packed(false) != nil) != packed || (f.Packed(true) != nil) != packed {
			t.Errorf("a file of %d bytes is packed: %t; want %t", size, !packed, packed)
		}
	}
}

func TestETags(t *testing.T) {
	seen := map[string][]byte{}
	for path, file := range Open().files {
		if body, ok := seen[file.ETag]; ok && !bytes.Equal(body, file.Body) {
			t.Errorf("%s shares its ETag with another file", path)
		}
		seen[file.ETag] = file.Body
	}
}
