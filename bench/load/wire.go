package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// head is what matters of a response's head.
type head struct {
	status  int
	length  int   // of the body
	charged int64 // units, as the response says
}

// maxResponseHead bounds a response's head: a server that sends more is not one
// of ours.
const maxResponseHead = 16 << 10

var (
	headEnd = []byte("\r\n\r\n")
	lineEnd = []byte("\r\n")
)

// parseHead reads the head at the start of b and returns its length with the
// empty line; 0 when b does not hold all of it yet.
func parseHead(b []byte) (h head, n int, err error) {
	end := bytes.Index(b, headEnd)
	switch {
	case end < 0 && len(b) > maxResponseHead:
		return h, 0, fmt.Errorf("response head of more than %d bytes", maxResponseHead)
	case end < 0:
		return h, 0, nil
	}

	line, rest, _ := bytes.Cut(b[:end], lineEnd)
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return h, 0, fmt.Errorf("not a response: %.40q", line)
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, 0, fmt.Errorf("bad status in %.40q", line)
	}

	h.length = -1
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, lineEnd)
		if err := h.parseField(line); err != nil {
			return h, 0, fmt.Errorf("bad header line %.40q: %w", line, err)
		}
	}
	if h.status == 204 {
		h.length = 0
	}
	if h.length < 0 {
		return h, 0, errors.New("response without Content-Length: chunked bodies are not read")
	}
	return h, end + len(headEnd), nil
}

// parseField reads one line; of most nothing is wanted.
func (h *head) parseField(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte{':'})
	value = bytes.TrimSpace(value)
	switch {
	case !ok:
		return errors.New("no colon")
	case bytes.EqualFold(name, []byte("Content-Length")):
		h.length, err = strconv.Atoi(string(value))
	case bytes.EqualFold(name, []byte("X-Units-Charged")):
		h.charged, err = strconv.ParseInt(string(value), 10, 64)
	}
	return err
}
