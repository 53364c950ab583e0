package endpoint

import "bytes"

// Skip reads the next value and keeps nothing of it.
func (r *Reader) Skip() error {
	c, err := r.next()
	if err != nil {
		return err
	}

	switch c {
	case '"':
		return r.skipString()
	case '{', '[':
		return r.skipBrackets()
	}
	n, err := r.wordEnd()
	if err == nil {
		r.at += n
	}
	return err
}

// skipString skips the string that begins here.
func (r *Reader) skipString() error {
	r.at++
	escaped := false // an odd number of backslashes stands before what comes
	for {
		text := r.buffer[r.at:r.end]
		k := bytes.IndexByte(text, '"')
		if k >= 0 {
			text = text[:k]
		}
		slashes := len(text) - len(bytes.TrimRight(text, `\`))
		odd := slashes%2 == 1
		if slashes == len(text) {
			odd = odd != escaped
		}

		if k < 0 {
			escaped, r.at = odd, r.end
			if err := r.fill(); err != nil {
				return err
			}
			continue
		}
		if r.at += k + 1; !odd {
			return nil
		}
		escaped = false
	}
}

// skipBrackets skips the array or object that begins here, and looks at no more of it than
// bracketEnd.
func (r *Reader) skipBrackets() error {
	r.closers = r.closers[:0]
	for {
		if r.at == r.end {
			if err := r.fill(); err != nil {
				return err
			}
		}

		switch c := r.buffer[r.at]; c {
		case '"':
			if err := r.skipString(); err != nil {
				return err
			}
		case '{', '[', '}', ']':
			r.at++
			if ended, err := r.bracket(c); ended || err != nil {
				return err
			}
		default:
			r.at++
		}
	}
}
