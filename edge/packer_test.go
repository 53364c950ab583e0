package edge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
)

// codings are the content codings of compressed answers.
var codings = []pages.Coding{pages.Gzip, pages.Zstd}

// unpackStream returns a reader of what is sent in a coding. It has each byte as soon as it
// can be unpacked.
func unpackStream(how pages.Coding, from io.Reader) io.Reader {
	if how == pages.Gzip {
		r, err := gzip.NewReader(from)
		must(err)
		return r
	}
	r, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	must(err)
	return r
}

// TestPackedExport compares compressed exports with those that are not: rows, last
// line, trailer and price are the same, in less than half the bytes.
func TestPackedExport(t *testing.T) {
	s := serve(t, nil)
	f := func(path, accept, want string) {
		t.Helper()
		plain := s.get(path)
		generation := plain.header.Get(gate.HeaderGeneration)
		a := s.get(path+"&generation="+generation, "Accept-Encoding: "+accept)
		if got := a.header.Get("Content-Encoding"); got != want || a.header.Get("Vary") != "Origin, Accept-Encoding" ||
			a.header.Get("Content-Type") != plain.header.Get("Content-Type") || plain.header.Get("Content-Encoding") != "" {
			t.Fatalf("%s, %q: got %v; want %q", path, accept, a.header, want)
		}

		body, wire := []byte(a.body), len(a.body)
		for _, how := range codings {
			if how.String() == want {
				var err error
				body, err = io.ReadAll(unpackStream(how, strings.NewReader(a.body)))
				must(err)
			}
		}
		if string(body) != plain.body {
			t.Errorf("%s, %q: %d bytes unpack to %d; want the %d of a plain one", path, accept, wire, len(body), len(plain.body))
		}
		if packed := want != ""; packed && wire > len(body)/2 {
			t.Errorf("%s, %q: %d bytes of %d are sent", path, accept, wire, len(body))
		}
		for _, name := range []string{trailerUnits, trailerEnd} {
			if got, want := a.trailer.Get(name), plain.trailer.Get(name); got != want || want == "" {
				t.Errorf("%s, %q: %s is %q; want %q", path, accept, name, got, want)
			}
		}
	}

	for _, list := range []string{"positions/export?" + every, "pools/export?includeRisky=true", "positions/export?format=csv&" + every} {
		f("/v1/"+list, "zstd, gzip", "zstd")
		f("/v1/"+list, "gzip", "gzip")
		f("/v1/"+list, "zstd;q=0.1, gzip;q=0.5", "gzip")
	}
	f("/v1/positions/export?"+every+"&after=37", "zstd", "zstd")
	f("/v1/positions/export?"+every, "br", "")
	f("/v1/positions/export?"+every, "gzip;q=0, identity", "")
	for waited := 0; s.server.packers.open.Load() != 0; waited++ { // an answer ends before its encoder
		if waited > 1000 {
			t.Fatalf("%d encoders are still taken after all answers", s.server.packers.open.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// servePacked starts a server whose answers run writes in a coding.
func servePacked(t *testing.T, how pages.Coding, run func(*packer) error) *longFront {
	return serveLong(t, func(w *longWriter) error {
		var all packers
		p := all.pack(w, how)
		defer all.close(p)
		return run(p)
	})
}

// TestPackedAnswerIsSentAtOnce checks that a client can unpack what was flushed while
// the answer goes on, and the last words of one that was ended, without what it
// dropped.
func TestPackedAnswerIsSentAtOnce(t *testing.T) {
	for _, how := range codings {
		proceed := make(chan bool)
		f := servePacked(t, how, func(p *packer) error {
			for n := 0; ; n++ {
				<-proceed
				_, _ = p.Write(fmt.Appendf(p.AvailableBuffer(), "row %d\n", n))
				if err := p.Flush(); err != nil {
					return p.End([]byte(err.Error()+"\n"), "X-End: early\r\n")
				}
			}
		})

		res, err := http.ReadResponse(bufio.NewReader(f.open()), nil)
		must(err)
		proceed <- true
		in := bufio.NewReader(unpackStream(how, res.Body))
		for n := range 4 {
			if n == 3 {
				f.server.long.interrupt()
			}
			if n > 0 {
				proceed <- true
			}
			want := fmt.Sprintf("row %d\n", n)
			if n == 3 {
				want = errServerStops.Error() + "\n"
			}
			if line, err := in.ReadString('\n'); line != want {
				t.Errorf("%s: got %q, %v; want %q", how, line, err, want)
			}
		}
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil || res.Trailer.Get("X-End") != "early" {
			t.Errorf("%s: the answer ends with %q, %v and %v", how, rest, err, res.Trailer)
		}
		must(f.wait())
	}
}

// TestPackedAnswerEnds checks that the last words of an answer come behind what was not
// flushed before them.
func TestPackedAnswerEnds(t *testing.T) {
	for _, how := range codings {
		f := servePacked(t, how, func(p *packer) error {
			_, _ = p.Write([]byte("row\n"))
			return p.End([]byte("last\n"), "X-End: all\r\n")
		})

		res, err := http.ReadResponse(bufio.NewReader(f.open()), nil)
		must(err)
		body, err := io.ReadAll(unpackStream(how, res.Body))
		if string(body) != "row\nlast\n" || err != nil {
			t.Errorf("%s: got %q, %v", how, body, err)
		}
		must(f.wait())
	}
}

// TestPackedAnswersAreBounded checks what a compressed answer takes while its client
// does not read, that no more than maxPackers are compressed, and that an encoder is
// used again.
func TestPackedAnswersAreBounded(t *testing.T) {
	const most = 1 << 20
	rows := bytes.Repeat([]byte(`{"rank":17,"value":"123456789.87654321","owner":"0x12"}`+"\n"), 700)
	s := serve(t, nil)
	key := s.findKey(s.key)
	for _, how := range codings {
		var all packers
		header := [][]byte{[]byte(how.String())}
		before, open := memoryInUse(), make([]*packer, 0, maxPackers)
		for range maxPackers {
			if got := all.choose(header); got != how {
				t.Fatalf("%d are open: got %s; want %s", len(open), got, how)
			}
			c := &conn{Conn: discard{}}
			p := all.pack(newLongWriter(c, key, time.Time{}, true), how)
			for range 20 {
				_, err := p.Write(rows)
				must(err)
				must(p.Flush())
			}
			open = append(open, p)
		}
		if got := all.choose(header); got != pages.Identity {
			t.Errorf("beside %d others an answer is sent as %s", len(open), got)
		}
		if each := (memoryInUse() - before) / maxPackers; each > most {
			t.Errorf("%s: an answer takes %d bytes; cannot exceed %d", how, each, most)
		} else {
			t.Logf("%s: an answer takes %d bytes", how, each)
		}

		for _, p := range open {
			all.close(p)
		}
		if got := all.choose(header); got != how || all.open.Load() != 1 {
			t.Errorf("%d are open after all were closed; the next is sent as %s", all.open.Load(), got)
		}
	}
}

// discard is a connection to a client that takes everything.
type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error)      { return len(p), nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }
