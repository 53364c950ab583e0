package edge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
	"tidemark/edge/render"
)

// rawCase is what a client sends, and the statuses of the answers that it gets
// until the connection is closed.
type rawCase struct {
	text  string
	codes []int
}

// canary is a request that is sent behind every case. It is answered only if the
// connection stays open.
const canary = "GET /v1/protocols HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n"

// rawCorpus returns valid requests, and each of them with every kind of
// ambiguity.
func rawCorpus(key string) (cases []rawCase) {
	add := func(text string, codes ...int) {
		cases = append(cases, rawCase{text, codes})
	}

	for _, r := range []struct {
		line, headers string
		code          int
	}{
		{"GET /v1/plans HTTP/1.1", "Accept: */*\r\n", 200},
		{"GET /v1/positions?limit=1 HTTP/1.1", "Accept-Encoding: gzip\r\nOrigin-Agent: x\r\n", 200},
		{"HEAD /v1/pools?limit=1 HTTP/1.1", "", 200},
		{"OPTIONS * HTTP/1.1", "User-Agent: raw\r\n", 204},
		{"GET http://api.example.com/v1/chains HTTP/1.1", "", 200},
		{"GET /v1/positions?sort=no HTTP/1.1", "X-Request-Id: corpus\r\n", 400},
		{"DELETE /v1/pools HTTP/1.1", "Content-Length: 0\r\n", 405},
		{"GET /nowhere HTTP/1.1", "Cookie: a=b; c=d\r\n", 404},
	} {
		headers := "Host: api.example.com\r\n" + gate.HeaderKey + ": " + key + "\r\n" + r.headers
		head := r.line + "\r\n" + headers
		add(head+"\r\n", r.code, 200)
		addSound(add, head, r.code)
		addBareLF(add, head+"\r\n")
		addBadHeaders(add, head)
		addBadTargets(add, r.line, headers)
	}

	return cases
}

// addSound adds requests that are unusual but unambiguous.
func addSound(add func(string, ...int), head string, code int) {
	add("\r\n"+head+"\r\n", code, 200)
	for _, value := range []string{"close", "Close", "foo, close", "close, foo", "keep-alive,\tCLOSE ,x"} {
		add(head+"Connection: "+value+"\r\n\r\n", code)
		add(head+"connection:"+value+"\r\nConnection: keep-alive\r\n\r\n", code)
	}
	for _, header := range []string{
		"Connection: keep-alive", "Connection: closed", "Connection: foo", "X-Connection: close",
		"Expect: 200-ok", "X-Empty:", "X-Tab:\tvalue\t", "x-long: " + strings.Repeat("v", 4000),
		"X-Colons: a:b:c", "Te: trailers",
	} {
		add(head+header+"\r\n\r\n", code, 200)
	}
}

// addBareLF adds requests in which one line, or every line, ends in a bare LF.
func addBareLF(add func(string, ...int), head string) {
	add(strings.ReplaceAll(head, "\r\n", "\n"), 400)
	for at := 0; at < len(head); at++ {
		if head[at] == '\r' {
			add(head[:at]+head[at+1:], 400)
			add(head[:at+1]+"\r"+head[at+1:], 400)
		}
	}
	add("\n"+head, 400)
	add("\r\n\n"+head, 400)
	for _, times := range []int{2, 3, 5000} {
		add(strings.Repeat("\r\n", times)+head, 400)
	}
}

// addBadHeaders adds requests with malformed or forbidden headers.
func addBadHeaders(add func(string, ...int), head string) {
	for _, lines := range []string{
		" folded", "\tfolded", "X-A: one\r\n two", "X A: one", "X-A : one", ": nameless", "X-A: o\x00ne",
		"X-A: one\x01", "X\x00A: one", "no colon at all",
		"Content-Length: +1", "Content-Length: -1", "Content-Length: 0x1", "Content-Length: 1 1",
		"Content-Length: 1,1", "Content-Length:", "Content-Length: 1a", "Content-Length : 1",
		"Content-Length: 99999999999999999999999",
		"Transfer-Encoding: identity", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, identity",
		"Transfer-Encoding: identity, chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding:",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
		"transfer-encoding: CHUNKED\r\ncontent-length: 0", "Transfer-Encoding : chunked",
		"Host: api.example.com",
	} {
		add(head+lines+"\r\n\r\n", 400)
	}

	for _, value := range []string{"100-continue", "100-Continue", "100-CONTINUE"} {
		add(head+"Expect: "+value+"\r\n\r\n", 417)
		add(head+"expect:"+value+"\r\n\r\n", 417)
	}

	add(head+"X-Long: "+strings.Repeat("v", maxHead)+"\r\n\r\n", 431)
	add(head+strings.Repeat("X-Many: header\r\n", maxHead/16+1)+"\r\n", 431)
}

// addBadTargets adds requests with malformed request lines.
func addBadTargets(add func(string, ...int), line, headers string) {
	method, _, _ := strings.Cut(line, " ")
	for _, target := range []string{
		"ftp://api.example.com/v1/chains", "javascript:alert(1)", "javascript://api.example.com/v1/chains",
		"data:text/plain,x", "file:///etc/passwd", "gopher://api.example.com/", "ws://api.example.com/",
		"httpx://api.example.com/v1/chains", "://api.example.com/", "v1/chains", "?x=1", "#x",
		"http://other.example.com/v1/chains", "http://api.example.com:81/v1/chains",
	} {
		add(method+" "+target+" HTTP/1.1\r\n"+headers+"\r\n", 400)
	}

	add(method+" /"+strings.Repeat("a", maxTarget)+" HTTP/1.1\r\n"+headers+"\r\n", 414)
	add(method+" /"+strings.Repeat("a", 3*maxHead)+" HTTP/1.1\r\n"+headers+"\r\n", 414)
	add(method+" /v1/plans HTTP/2.0\r\n"+headers+"\r\n", 505)
	add(method+" /v1/plans\r\n"+headers+"\r\n", 400)
	add(method+"  /v1/plans HTTP/1.1\r\n"+headers+"\r\n", 400)
	add(method+" /v1/plans HTTP/1.1 \r\n"+headers+"\r\n", 400)
	add(" "+line+"\r\n"+headers+"\r\n", 400)
}

// bodyCases returns requests with bodies. Each is answered, but nothing behind it
// is.
func bodyCases(key string) (cases []rawCase) {
	head := "POST /v1/positions HTTP/1.1\r\nHost: api.example.com\r\n" + gate.HeaderKey + ": " + key + "\r\n"
	add := func(text string, code int) { cases = append(cases, rawCase{head + text, []int{code}}) }

	add("Content-Length: 5\r\n\r\nhello", 405)
	add("Content-Length: 005\r\n\r\nhello", 405)
	add("Content-Length: "+fmt.Sprint(len(canary))+"\r\n\r\n"+canary, 405)

	add("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 405)
	add("Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 405)
	add("Transfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0\r\n\r\n", 405)
	add("Transfer-Encoding: chunked\r\n\r\n5;"+strings.Repeat("x", maxBodyBytes)+"\r\nhello\r\n0\r\n\r\n", 400)
	add("Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1;xxxxxxxxxx\r\na\r\n", maxBodyBytes/16)+"0\r\n\r\n", 400)
	add("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: "+strings.Repeat("x", maxBodyBytes)+"\r\n\r\n", 431)
	add("Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400)
	add("Transfer-Encoding: chunked\r\n\r\nfffff\r\n", 413)
	add("Content-Length: 99999\r\n\r\n", 413)
	return cases
}

// TestRawCorpus sends every case in one piece and in two. It checks that every
// request gets one answer and that nothing is read behind a refused one.
func TestRawCorpus(t *testing.T) {
	s := serve(t, nil)
	cases := append(rawCorpus(s.key), bodyCases(s.key)...)
	if len(cases) < 600 {
		t.Errorf("only %d cases", len(cases))
	}
	pieces := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		s.checkRaw(c, 0)
		s.checkRaw(c, 1+pieces.IntN(40))
	}
	t.Log(len(cases), "cases, each whole and in pieces")
}

// checkRaw sends a case, in two pieces if cut is not 0, and reads answers until
// the connection is closed.
func (f *front) checkRaw(c rawCase, cut int) {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	must(err)
	defer conn.Close()
	must(conn.SetDeadline(time.Now().Add(10 * time.Second)))
	text := c.text + canary
	go func() { // the server may answer and close before all is sent
		if cut > 0 {
			_, _ = io.WriteString(conn, text[:cut])
			time.Sleep(time.Millisecond)
		}
		_, _ = io.WriteString(conn, text[cut:])
	}()

	var codes []int
	in := bufio.NewReader(conn)
	for {
		method, _, _ := strings.Cut(strings.TrimLeft(c.text, "\r\n "), " ")
		if len(codes) > 0 {
			method = "GET"
		}
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			break
		}
		codes = append(codes, res.StatusCode)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 400 && method != "HEAD" && !bytes.HasPrefix(body, []byte(`{"error":`)) {
			f.t.Errorf("%.150q: %d %v %s", c.text, res.StatusCode, err, body)
		}
	}
	if !slices.Equal(codes, c.codes) {
		f.t.Errorf("%.150q (%d bytes, cut behind %d): got %v; want %v", c.text, len(c.text), cut, codes, c.codes)
	}
}

// runFramer feeds data to a framer in pieces. It returns the bytes that passed,
// the number of request heads in them, and why the rest was refused.
func runFramer(data []byte, piece func() int) (passed []byte, heads int, refused *render.Error) {
	var f framer
	for len(data) > 0 && refused == nil {
		p := bytes.Clone(data[:min(piece(), len(data))])
		data = data[len(p):]
		var n int
		before := f.state
		n, refused = f.scan(p)
		passed = append(passed, p[:n]...)
		if before == frameHeaders && f.state != frameHeaders {
			heads++
		}
	}

	return passed, heads, refused
}

// TestBodyBound checks how many bytes a body may have, in one piece and in two.
func TestBodyBound(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, piece := range []int{1 << 20, len(head) + 100} {
		for body, want := range map[int]*render.Error{
			maxBodyBytes - 1: nil, maxBodyBytes: nil, maxBodyBytes + 1: errChunkOverhead,
		} {
			text := head + strings.Repeat("x", body)

			passed, _, refused := runFramer([]byte(text), func() int { return piece })
			if refused != want || want == nil && len(passed) != len(text) {
				t.Errorf("a body of %d bytes in pieces of %d: %d bytes pass, %v; want %v",
					body, piece, len(passed)-len(head), refused, want)
			}
		}
	}
}

// TestHeadBounds checks how long a request line and headers may be, in one piece and in
// many, whether the last line is complete or not.
func TestHeadBounds(t *testing.T) {
	const version, end = " HTTP/1.1", "\r\n\r\n"
	line := "GET /" + version + "\r\n"
	padded := func(before string, size int, after string) string {
		return before + strings.Repeat("a", size-len(before)-len(after)) + after
	}
	f := func(what, text string, want *render.Error) {
		t.Helper()
		for _, piece := range []int{1, 1000, 1 << 20} {
			passed, _, refused := runFramer([]byte(text), func() int { return piece })
			if refused != want || want == nil && string(passed) != text {
				t.Errorf("%s of %d bytes in pieces of %d: %d bytes pass, %v; want %v",
					what, len(text), piece, len(passed), refused, want)
			}
		}
	}

	for more, want := range []*render.Error{nil, errHeadTooLarge} {
		f("one header", padded(line+"X-A: ", maxHead+more, end), want)
		f("two headers", padded(line+"X-B: b\r\nX-A: ", maxHead+more, end), want)
		f("a header before others", padded(line+"X-A: ", maxHead+more, "\r\nX-B: b"+end), want)
		f("an unfinished header", padded(line+"X-A: ", maxHead+more, ""), want)
	}
	for more, want := range []*render.Error{nil, errManyHeaders} {
		length := "Content-Length: 1\r\n"
		f("many headers", line+strings.Repeat("a:\r\n", maxBodyHeaders+more)+"\r\n", nil)
		f("many headers and a body", line+length+strings.Repeat("a:\r\n", maxBodyHeaders-1+more)+"\r\n", want)
	}
	for more, want := range []*render.Error{nil, errLongTarget} {
		target := padded("/", maxTarget+more, "")
		f("a request line", "GET "+target+version+end, want)
		f("a request line without a version", "GET "+target+end, want)
		f("an unfinished request line", padded("GET /", len("GET "+version+"\r")+maxTarget+more, ""), want)
	}
}

// TestRoomForHeads checks that a connection keeps little of the heads of its requests, which
// each have a long header in another place.
func TestRoomForHeads(t *testing.T) {
	s := serve(t, nil)
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}

	before := live()
	c := s.dial("", 20*time.Second)
	defer c.Close()
	in := bufio.NewReader(c)
	for n := range 400 {
		head := "GET /v1/protocols HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("a:\r\n", n) + "b:"
		_, err := io.WriteString(c, head+strings.Repeat("v", maxHead-len(head)-10)+"\r\n\r\n")
		must(err)
		res, err := http.ReadResponse(in, nil)
		must(err)
		_, err = io.Copy(io.Discard, res.Body)
		must(err)
		if res.StatusCode != 200 {
			t.Fatalf("%d headers: %s", n+2, res.Status)
		}
	}
	if kept := live() - before; kept > 2<<20 {
		t.Errorf("a connection keeps %d bytes of its heads", kept)
	}
}

// FuzzFramer checks that the result does not depend on how the bytes are cut into
// reads, and that net/http finds no more requests than the framer does.
func FuzzFramer(f *testing.F) {
	for i, c := range append(rawCorpus("key"), bodyCases("key")...) {
		if i%7 == 0 && len(c.text) < 2000 {
			f.Add([]byte(c.text+canary), uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		whole, _, refused := runFramer(data, func() int { return len(data) })
		single, heads, refusedSingly := runFramer(data, func() int { return 1 })
		cut, _, refusedCut := runFramer(data, func() int { return 1 + r.IntN(20) })
		if refused != refusedSingly || refused != refusedCut {
			t.Fatalf("refused with %v whole, %v by bytes, %v in pieces", refused, refusedSingly, refusedCut)
		}
		if refused == nil && (!bytes.Equal(whole, single) || !bytes.Equal(whole, cut)) {
			t.Fatalf("%q passes whole, %q by bytes, %q in pieces", whole, single, cut)
		}

		// What net/http takes for requests, until it fails or a body begins.
		in, parsed := bufio.NewReader(bytes.NewReader(single)), 0
		for {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if parsed++; parsed > heads {
				t.Fatalf("net/http reads %d requests of %q; the framer %d", parsed, single, heads)
			}
			if request.ContentLength != 0 {
				return
			}
		}
	})
}

// TestBodyBytes checks that a body of as many bytes as are allowed passes, in any number
// of pieces, and one more is refused.
func TestBodyBytes(t *testing.T) {
	f := func(allowed bool, pieces ...int) {
		t.Helper()
		frame := framer{state: frameBody}
		var refused *render.Error
		for _, size := range pieces {
			_, refused = frame.scan(make([]byte, size))
		}
		if (refused == nil) != allowed {
			t.Errorf("pieces of %d bytes: %v; want them allowed: %t", pieces, refused, allowed)
		}
	}

	f(true, maxBodyBytes)
	f(true, maxBodyBytes-1, 1)
	f(false, maxBodyBytes+1)
	f(false, maxBodyBytes, 1)
}
