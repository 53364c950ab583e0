package archive

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
)

// What is no regular file is refused: a named pipe would be waited for without end.
func TestNoRegularFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "00000000000000000100.spans")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "a link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	f := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "an archive is a regular file") {
			t.Errorf("%s: %v", what, err)
		}
	}

	a := openAt(t, t.TempDir())
	defer a.Close()
	for _, path := range []string{pipe, link, filepath.Dir(pipe)} {
		_, _, err := Inspect(path)
		f("inspect "+path, err)
		_, err = a.Import(t.Context(), path, nil)
		f("import "+path, err)
	}
	_, err := Open(Config{Identity: identity, Dir: filepath.Dir(pipe)})
	f("open", err)
	if _, err := Find(filepath.Dir(pipe)); err == nil {
		t.Error("the archive of a pipe is found")
	}
}

// The numbers of records that a small file names make no room beyond what can follow.
func TestHostileCounts(t *testing.T) {
	f := func(what string, h frame, head func(*field.Coder)) {
		t.Helper()
		var c field.Coder
		head(&c)
		h.first, h.last = 100, 100+maxFrame
		raw := append(c.Buf, make([]byte, maxFrame-len(c.Buf))...)
		text := packing().appendFrame(nil, h, raw)
		h.size, h.packed = uint32(len(raw)), uint32(len(text)-frameHead)

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeSpans(&h, raw)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 4*maxFrame {
			t.Errorf("%s: %d MB are taken of a file of %d bytes, %v", what, took>>20, len(text), err)
		}
	}
	span := func(c *field.Coder) {
		s := market.Span{From: 100, To: 100 + maxFrame}
		walkSpan(c, &s)
		c.Buf = c.Buf[:len(c.Buf)-2] // its lists
	}
	count := func(c *field.Coder, n uint64) { c.U64("count", &n) }

	f("spans", frame{spans: maxFrame}, func(*field.Coder) {})
	f("tokens", frame{spans: 1}, func(c *field.Coder) { span(c); count(c, maxFrame-100) })
	f("blocks", frame{spans: 1}, func(c *field.Coder) { span(c); count(c, 0); count(c, maxFrame-100) })
	for _, least := range []uint64{4, leastBlock} { // blocks without events
		f("empty blocks", frame{spans: 1}, func(c *field.Coder) {
			span(c)
			count(c, 0)
			count(c, (maxFrame-uint64(len(c.Buf)))/least-1)
		})
	}
	f("transactions", frame{spans: 1}, func(c *field.Coder) {
		span(c)
		for _, n := range []uint64{0, 1, 0, 0, maxFrame - 100} { // a block, its number and its time
			count(c, n)
		}
	})
}
