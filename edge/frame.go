package edge

import (
	"bytes"

	"tidemark/edge/render"
)

// framer checks the request heads of a connection before fasthttp parses them. It
// refuses every request whose end is ambiguous, because a proxy in front of this
// server might see another request there (request smuggling). fasthttp itself
// accepts a bare LF as the end of a line, joins folded headers, prefers
// Transfer-Encoding to Content-Length, and does not bound chunk extensions.
//
//	start    one empty line is skipped; the request line ends in CRLF
//	headers  every line ends in CRLF and begins with its name
//	body     everything else; the connection closes after a request with a body
//
// Each line is checked once, when it is complete. The zero value is ready to use.
type framer struct {
	state       frameState
	line        []byte // an unfinished line, as far as it came
	headBytes   int    // bytes of the head so far
	headers     int    // lines of headers so far
	skippedLine bool   // the empty line before a request was seen
	isHead      bool   // the newest request line is of a HEAD

	hasLength, hasEncoding, hasBody bool // what the headers announce
	bodyBytes                       int  // that have passed
}

type frameState uint8

const (
	frameStart frameState = iota
	frameHeaders
	frameBody
)

// scan checks the next bytes of a connection. It returns how many of them
// fasthttp may read and, if the rest is refused, the error. It may overwrite one
// byte of p.
func (f *framer) scan(p []byte) (n int, refused *render.Error) {
	for n < len(p) && f.state != frameBody {
		end := bytes.IndexByte(p[n:], '\n')
		if end < 0 {
			f.line = append(f.line, p[n:]...)
			if refused = f.checkUnfinished(); refused != nil {
				// Leave room in fasthttp's buffer: it then reads again and gets the
				// error, instead of failing on a full buffer.
				return len(p) - 1, refused
			}
			return len(p), nil
		}

		line := p[n : n+end]
		if len(f.line) > 0 {
			f.line = append(f.line, line...)
			line = f.line
		}

		wasStart := f.state == frameStart
		if refused = f.checkLine(line); refused != nil {
			if wasStart {
				// fasthttp closes a connection without an answer when it has no byte
				// of a request: give it one.
				p[n] = '?'
				n++
			}
			return n, refused
		}
		f.line = f.line[:0]
		n += end + 1
	}

	if f.bodyBytes += len(p) - n; f.state == frameBody && f.bodyBytes > maxBodyBytes {
		return n, errChunkOverhead
	}
	return len(p), nil
}

// checkUnfinished refuses an unfinished line that is already too long.
func (f *framer) checkUnfinished() *render.Error {
	const version = len(" HTTP/1.1\r") // the line may already include it
	if f.state == frameStart {
		f.isHead = bytes.HasPrefix(f.line, headMethod)
	}
	switch {
	case f.state == frameStart && targetBytes(f.line) > maxTarget+version:
		return errLongTarget
	case f.headBytes+len(f.line) > maxHead:
		return errHeadTooLarge
	}
	return nil
}

// checkLine checks a complete line, which is given without its LF.
func (f *framer) checkLine(line []byte) *render.Error {
	if len(line) == 0 || line[len(line)-1] != '\r' {
		return errBareLF
	}
	f.headBytes += len(line) + 1
	line = line[:len(line)-1]

	if f.state == frameStart {
		return f.checkRequestLine(line)
	}
	if f.headBytes > maxHead {
		return errHeadTooLarge
	}
	if len(line) > 0 {
		return f.checkHeader(line)
	}
	return f.endHead()
}

func (f *framer) checkRequestLine(line []byte) *render.Error {
	if len(line) == 0 {
		if f.skippedLine {
			return errBlankLines
		}
		f.skippedLine = true
		return nil
	}

	f.isHead = bytes.HasPrefix(line, headMethod)
	target, _, _ := bytes.Cut(line[len(line)-targetBytes(line):], space)
	if len(target) > maxTarget {
		return errLongTarget
	}
	f.state = frameHeaders
	return nil
}

// targetBytes is the number of bytes of a request line after its method.
func targetBytes(line []byte) int { return len(line) - bytes.IndexByte(line, ' ') - 1 }

func (f *framer) checkHeader(line []byte) *render.Error {
	if line[0] == ' ' || line[0] == '\t' {
		return errFolded
	}
	f.headers++
	name, value, _ := bytes.Cut(line, colon)
	if bytes.IndexByte(name, ' ') >= 0 {
		return errSpaceInName
	}

	switch value = bytes.TrimSpace(value); {
	case bytes.EqualFold(name, lengthHeader):
		f.hasLength = true
		f.hasBody = f.hasBody || len(bytes.Trim(value, "0")) > 0
	case bytes.EqualFold(name, encodingHeader):
		if !bytes.EqualFold(value, chunkedWord) {
			return errEncoding
		}
		f.hasEncoding, f.hasBody = true, true
	case bytes.EqualFold(name, expectHeader) && bytes.EqualFold(value, continueWord):
		return errExpect
	}
	return nil
}

// endHead ends a request head. The next line begins a request, unless a body
// follows.
func (f *framer) endHead() *render.Error {
	if f.hasLength && f.hasEncoding {
		return errTwoLengths
	}
	if f.hasBody && f.headers > maxBodyHeaders {
		return errManyHeaders
	}

	next := framer{line: f.line[:0], isHead: f.isHead}
	if cap(next.line) > keptHead {
		next.line = nil
	}
	if f.hasBody {
		next.state = frameBody
	}
	*f = next
	return nil
}

var (
	space, colon   = []byte{' '}, []byte{':'}
	headMethod     = []byte("HEAD ")
	lengthHeader   = []byte("Content-Length")
	encodingHeader = []byte("Transfer-Encoding")
	expectHeader   = []byte("Expect")
	chunkedWord    = []byte("chunked")
	continueWord   = []byte("100-continue")
)
