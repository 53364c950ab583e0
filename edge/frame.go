package edge

import (
	"bytes"

	"tidemark/edge/render"
)

// framer follows the heads of a connection's requests before fasthttp reads
// them, and refuses every request of which two readers could disagree where it
// ends: a proxy in front of this server may be one of them. fasthttp itself
// takes a bare LF for the end of a line, joins folded headers, prefers
// Transfer-Encoding to Content-Length, and puts no bound on chunk extensions.
//
//	start    one empty line is skipped; the request line ends in CRLF
//	headers  every line ends in CRLF and begins with its name
//	body     the rest: no request follows one with a body on a connection
//
// Each line is looked at once, when it is complete. The zero value is ready.
type framer struct {
	state frameState
	line  []byte // an unfinished line, as far as it came
	head  int    // bytes of the head so far
	blank bool   // the empty line before a request was seen

	length, encoding, body bool // what the headers announce
	bodyBytes              int  // that have passed
}

type frameState uint8

const (
	frameStart frameState = iota
	frameHeaders
	frameBody
)

// pass returns how many bytes of p may be read, and why nothing after them may:
// nil as long as the requests are sound. It may change p behind what has passed
// before it was called.
func (f *framer) pass(p []byte) (n int, refused *render.Error) {
	for n < len(p) && f.state != frameBody {
		end := bytes.IndexByte(p[n:], '\n')
		if end < 0 {
			f.line = append(f.line, p[n:]...)
			if refused = f.checkUnfinished(); refused != nil {
				return len(p) - 1, refused // fasthttp's buffer is not full, so that it asks on
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
				// fasthttp closes a connection without an answer when no byte of a
				// request has come: let it see that one has begun.
				p[n] = '?'
				n++
			}
			return n, refused
		}
		f.line = f.line[:0]
		n += end + 1
	}

	if f.bodyBytes += len(p) - n; f.state == frameBody && f.bodyBytes > maxBodyBytes {
		return n, errChunks
	}
	return len(p), nil
}

// checkUnfinished refuses a line that is too long already.
func (f *framer) checkUnfinished() *render.Error {
	const version = len(" HTTP/1.1") // may be part of what has come
	switch {
	case f.state == frameStart && targetBytes(f.line) > maxTarget+version:
		return errLongTarget
	case f.head+len(f.line) > maxHead:
		return errHead
	}
	return nil
}

// checkLine takes a complete line, without its LF.
func (f *framer) checkLine(line []byte) *render.Error {
	if len(line) == 0 || line[len(line)-1] != '\r' {
		return errBareLF
	}
	f.head += len(line) + 1
	line = line[:len(line)-1]

	if f.state == frameStart {
		return f.checkRequestLine(line)
	}
	if f.head > maxHead {
		return errHead
	}
	if len(line) > 0 {
		return f.checkHeader(line)
	}
	return f.endHead()
}

func (f *framer) checkRequestLine(line []byte) *render.Error {
	if len(line) == 0 {
		if f.blank {
			return errBlankLines
		}
		f.blank = true
		return nil
	}

	target, _, _ := bytes.Cut(line[len(line)-targetBytes(line):], space)
	if len(target) > maxTarget {
		return errLongTarget
	}
	f.state = frameHeaders
	return nil
}

// targetBytes is how many bytes of a request line stand behind its method.
func targetBytes(line []byte) int { return len(line) - bytes.IndexByte(line, ' ') - 1 }

func (f *framer) checkHeader(line []byte) *render.Error {
	if line[0] == ' ' || line[0] == '\t' {
		return errFolded
	}
	name, value, _ := bytes.Cut(line, colon)
	if bytes.IndexByte(name, ' ') >= 0 {
		return errSpace
	}

	switch value = bytes.TrimSpace(value); {
	case bytes.EqualFold(name, lengthHeader):
		f.length = true
		f.body = f.body || len(bytes.Trim(value, "0")) > 0
	case bytes.EqualFold(name, encodingHeader):
		if !bytes.EqualFold(value, chunkedWord) {
			return errEncoding
		}
		f.encoding, f.body = true, true
	case bytes.EqualFold(name, expectHeader) && bytes.EqualFold(value, continueWord):
		return errExpect
	}
	return nil
}

// endHead ends a head: the next line begins a request, unless a body follows.
func (f *framer) endHead() *render.Error {
	if f.length && f.encoding {
		return errFrame
	}
	next := framer{line: f.line[:0]}
	if f.body {
		next.state = frameBody
	}
	*f = next
	return nil
}

var (
	space, colon   = []byte{' '}, []byte{':'}
	lengthHeader   = []byte("Content-Length")
	encodingHeader = []byte("Transfer-Encoding")
	expectHeader   = []byte("Expect")
	chunkedWord    = []byte("chunked")
	continueWord   = []byte("100-continue")
)
