package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Reader reads JSON as it comes, one value or element at a time. Answers of nodes are
// long strings of hex digits in a few brackets: a string's end is looked for and
// nothing else, which is several times as fast as to check every character. So what a
// string holds is for whoever reads it to check; brackets, commas, colons, numbers and
// words are checked here.
//
// A slice that it returns is valid until the next call.
type Reader struct {
	from    io.Reader
	buffer  []byte
	at, end int // what is not read yet
	closers []byte

	room  *room // nil: unlimited
	kept  int   // bytes that are kept of what was read, beside buffer
	taken int   // of room
}

// What a Reader begins with, and what it may have grown to and still be used again.
const (
	readerBuffer = 64 << 10
	mostReused   = freeRoom
)

// NewReader returns a reader of a body.
func NewReader(from io.Reader) *Reader {
	return &Reader{from: from, buffer: make([]byte, readerBuffer)}
}

var readers = sync.Pool{New: func() any { return NewReader(nil) }}

// borrowReader returns a reader of a body that takes what it needs of a room. giveBack it when
// nothing of it is in use.
func borrowReader(from io.Reader, room *room) *Reader {
	r := readers.Get().(*Reader)
	r.from, r.room, r.at, r.end = from, room, 0, 0
	return r
}

func (r *Reader) giveBack() {
	r.room.giveBack(int64(r.taken))
	r.from, r.room, r.kept, r.taken = nil, nil, 0, 0
	if len(r.buffer) <= mostReused {
		readers.Put(r)
	}
}

// Keep notes that some bytes are kept of what was read, until all is. The error is that there
// is no room for them.
func (r *Reader) Keep(bytes int) error {
	r.kept += bytes
	return r.takeRoom(0)
}

// takeRoom takes room for what is kept, the buffer, and some bytes more.
func (r *Reader) takeRoom(more int) error {
	lacks := r.kept + len(r.buffer) + more - freeRoom - r.taken
	if lacks <= 0 || r.room == nil {
		return nil
	}
	lacks = max(lacks, roomStep)
	if err := r.room.take(int64(lacks)); err != nil {
		return err
	}
	r.taken += lacks
	return nil
}

// toCloser is how far a bracket's closing one stands behind it in ASCII.
const toCloser = ']' - '['

// Next returns the first character of the next value, or 0 where none comes. It is
// read again by what follows.
func (r *Reader) Next() byte {
	c, _ := r.next()
	return c
}

// next skips white space.
func (r *Reader) next() (byte, error) {
	for {
		for ; r.at < r.end; r.at++ {
			switch c := r.buffer[r.at]; c {
			case ' ', '\n', '\t', '\r':
			default:
				return c, nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// fill reads more behind what is not read yet. That nothing comes is an error.
func (r *Reader) fill() error {
	if r.at > 0 {
		r.end = copy(r.buffer, r.buffer[r.at:r.end])
		r.at = 0
	}
	if r.end == len(r.buffer) {
		if err := r.grow(); err != nil {
			return err
		}
	}

	n, err := io.ReadAtLeast(r.from, r.buffer[r.end:], 1)
	r.end += n
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// grow doubles the buffer, for a value that is larger than it.
func (r *Reader) grow() error {
	size := min(2*len(r.buffer), maxValue+readerBuffer)
	if size == len(r.buffer) {
		return errLongValue
	}
	if err := r.takeRoom(size); err != nil { // beside the one before
		return err
	}
	larger := make([]byte, size)
	copy(larger, r.buffer)
	r.buffer = larger
	return nil
}

// Value reads the next value whole.
func (r *Reader) Value() (value []byte, err error) {
	c, err := r.next()
	if err != nil {
		return nil, err
	}

	n := 0
	switch c {
	case '"':
		n, err = r.stringEnd(0)
	case '{', '[':
		n, err = r.bracketEnd()
	default:
		n, err = r.wordEnd()
	}
	if err != nil {
		return nil, err
	}
	value = r.buffer[r.at : r.at+n]
	r.at += n
	return value, nil
}

// stringEnd returns where the string ends that begins i bytes from here.
func (r *Reader) stringEnd(i int) (int, error) {
	for to := i + 1; ; {
		if k := bytes.IndexByte(r.buffer[r.at+to:r.end], '"'); k >= 0 {
			to += k + 1
			if r.buffer[r.at+to-2] != '\\' || !isEscaped(r.buffer[r.at+i+1:r.at+to-1]) {
				return to, nil
			}
			continue
		}

		to = r.end - r.at
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// isEscaped reports whether what follows a text is: an odd number of backslashes
// stands before it.
func isEscaped(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	return (len(text)-n)%2 == 1
}

// bracketEnd returns where the array or object ends that begins here. Of what it holds
// brackets and strings are looked at only.
func (r *Reader) bracketEnd() (int, error) {
	r.closers = r.closers[:0]
	for i := 0; ; i++ {
		if r.at+i == r.end {
			if err := r.fill(); err != nil {
				return 0, err
			}
		}

		switch c := r.buffer[r.at+i]; c {
		case '"':
			to, err := r.stringEnd(i)
			if err != nil {
				return 0, err
			}
			i = to - 1
		case '{', '[', '}', ']':
			if ended, err := r.bracket(c); ended || err != nil {
				return i + 1, err
			}
		}
	}
}

// bracket notes a bracket and reports whether it closes the first one.
func (r *Reader) bracket(c byte) (ended bool, err error) {
	if c == '{' || c == '[' {
		if r.closers = append(r.closers, c+toCloser); len(r.closers) > maxDepth {
			return false, errTooDeep
		}
		return false, nil
	}

	last := len(r.closers) - 1
	if r.closers[last] != c {
		return false, unexpected(c)
	}
	r.closers = r.closers[:last]
	return last == 0, nil
}

// wordEnd returns where the number, true, false or null ends that begins here. At the
// end of a body that is its end.
func (r *Reader) wordEnd() (int, error) {
	n := 0
	for ; ; n++ {
		if r.at+n == r.end {
			if err := r.fill(); err == io.ErrUnexpectedEOF {
				break
			} else if err != nil {
				return 0, err
			}
		}
		if c := r.buffer[r.at+n]; c != '+' && c != '-' && c != '.' && !isAlphanumeric(c) {
			break
		}
	}

	word := r.buffer[r.at : r.at+n]
	switch string(word) {
	case "null", "true", "false":
		return n, nil
	}
	if n == 0 {
		return 0, unexpected(r.buffer[r.at])
	}
	if !isNumber(word) {
		return 0, unexpected(word[0])
	}
	return n, nil
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// isNumber reports whether a word begins with a digit and has nothing that numbers
// have not. Whoever reads it finds the rest.
func isNumber(word []byte) bool {
	digits := bytes.TrimPrefix(word, []byte("-"))
	return len(digits) > 0 && '0' <= digits[0] && digits[0] <= '9' &&
		len(bytes.Trim(digits, "0123456789+-.eE")) == 0
}

func unexpected(c byte) error { return fmt.Errorf("unexpected character %q in JSON", c) }

// Elements reads an array: each element by read, which must read it whole.
func (r *Reader) Elements(read func() error) error { return r.each('[', read) }

// Fields reads an object: the value of each field by read, which gets the field's name
// as it is written.
func (r *Reader) Fields(read func(name []byte) error) error {
	return r.each('{', func() error {
		name, err := r.name()
		if err != nil {
			return err
		}
		return read(name)
	})
}

// each reads what stands between brackets, with commas between.
func (r *Reader) each(opener byte, read func() error) error {
	if err := r.expect(opener); err != nil {
		return err
	}
	closer := opener + toCloser
	c, err := r.next()
	if err != nil {
		return err
	}

	for c != closer {
		if err := read(); err != nil {
			return err
		}
		if c, err = r.next(); err != nil {
			return err
		}
		if c != closer {
			if err := r.expect(','); err != nil {
				return err
			}
		}
	}
	r.at++
	return nil
}

// expect reads one character.
func (r *Reader) expect(want byte) error {
	c, err := r.next()
	if err != nil {
		return err
	}
	if c != want {
		return unexpected(c)
	}
	r.at++
	return nil
}

// name reads a field's name and the colon behind it.
func (r *Reader) name() ([]byte, error) {
	switch c, err := r.next(); {
	case err != nil:
		return nil, err
	case c != '"':
		return nil, unexpected(c)
	}
	n, err := r.stringEnd(0)
	if err != nil {
		return nil, err
	}

	// The name stays in the buffer until the colon is there too.
	for i := n; ; i++ {
		if r.at+i == r.end {
			if err := r.fill(); err != nil {
				return nil, err
			}
		}
		switch c := r.buffer[r.at+i]; c {
		case ' ', '\n', '\t', '\r':
		case ':':
			name := r.buffer[r.at+1 : r.at+n-1]
			r.at += i + 1
			return name, nil
		default:
			return nil, unexpected(c)
		}
	}
}
