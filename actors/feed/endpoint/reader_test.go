package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// rewrite reads a value piece by piece and writes it down again without white space.
func rewrite(r *Reader) (string, error) {
	var out strings.Builder
	comma := ""
	var err error

	switch r.Next() {
	case '[':
		out.WriteByte('[')
		err = r.Elements(func() error {
			text, err := rewrite(r)
			out.WriteString(comma + text)
			comma = ","
			return err
		})
		out.WriteByte(']')
	case '{':
		out.WriteByte('{')
		err = r.Fields(func(name []byte) error {
			fmt.Fprintf(&out, `%s"%s":`, comma, name)
			comma = ","
			text, err := rewrite(r)
			out.WriteString(text)
			return err
		})
		out.WriteByte('}')
	default:
		text, err := r.Value()
		return string(text), err
	}
	return out.String(), err
}

// readBoth reads a text whole and piece by piece, as it comes at once and byte by byte.
func readBoth(t *testing.T, text string) (whole, pieces string, err error) {
	t.Helper()
	f := func(from io.Reader) (string, string, error) {
		value, err := NewReader(io.MultiReader(from, strings.NewReader(" "))).Value()
		if err != nil {
			return "", "", err
		}
		pieces, err := rewrite(NewReader(strings.NewReader(text)))
		return string(value), pieces, err
	}

	sameSkip(t, func() io.Reader { return strings.NewReader(text + " 7") })
	sameSkip(t, func() io.Reader { return iotest.OneByteReader(strings.NewReader(text + " 7")) })
	whole, pieces, err = f(strings.NewReader(text))
	slow, slowPieces, slowErr := f(iotest.OneByteReader(strings.NewReader(text)))
	if slow != whole || slowPieces != pieces || fmt.Sprint(slowErr) != fmt.Sprint(err) {
		t.Errorf("%.200s: %.200s, %v; byte by byte %.200s, %v", text, whole, err, slow, slowErr)
	}
	return whole, pieces, err
}

// sameSkip holds that what is skipped ends where the value ends, or fails as it does.
func sameSkip(t *testing.T, from func() io.Reader) {
	t.Helper()
	read, skip := NewReader(from()), NewReader(from())
	_, want := read.Value()
	err := skip.Skip()
	if fmt.Sprint(err) != fmt.Sprint(want) {
		t.Fatalf("skipped: %v; read: %v", err, want)
	}

	rest, _ := io.ReadAll(io.MultiReader(bytes.NewReader(read.buffer[read.at:read.end]), read.from))
	left, _ := io.ReadAll(io.MultiReader(bytes.NewReader(skip.buffer[skip.at:skip.end]), skip.from))
	if err == nil && string(rest) != string(left) {
		t.Fatalf("%.100q is left after what is skipped; want %.100q", left, rest)
	}
}

func TestReader(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, got, err := readBoth(t, text)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.200s: %.200s; want %.200s", text, got, want)
		}
	}

	f(` {"a" : [1, -2.5e3,true ,null],"b":{}, "c":"x,]}\"\\" } `, `{"a":[1,-2.5e3,true,null],"b":{},"c":"x,]}\"\\"}`)
	f(`["\\","\\\\",1]`, `["\\","\\\\",1]`)
	f(`"`+strings.Repeat(`\\`, readerBuffer)+`\""`, `"`+strings.Repeat(`\\`, readerBuffer)+`\""`)
	f(`["\""]`, `["\""]`)
	f(`[]`, `[]`)
	f(`[[ ],{ }]`, `[[],{}]`)
	long := `"0x` + strings.Repeat("7", 3*readerBuffer) + `"`
	f(`{"data":`+long+`}`, `{"data":`+long+`}`)
	f(`{`+long+`  :1}`, `{`+long+`:1}`)

	for _, text := range []string{
		``, ` `, `[1`, `[1,`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `"a`, `"a\"`, `[{"a":[`,
	} {
		f(text, "unexpected EOF")
	}
	f(`[1,]`, `unexpected character ']' in JSON`)
	f(`[1 2]`, `unexpected character '2' in JSON`)
	f(`[1}`, `unexpected character '}' in JSON`)
	f(`{"a" 1}`, `unexpected character '1' in JSON`)
	f(`{a:1}`, `unexpected character 'a' in JSON`)
	f(`{"a":1,}`, `unexpected character '}' in JSON`)
	f(`<html>`, `unexpected character '<' in JSON`)
	f(`nil`, `unexpected character 'n' in JSON`)
	f(`-`, `unexpected character '-' in JSON`)
	f(`0xff`, `unexpected character '0' in JSON`)
	for _, c := range "/:@`" { // beside digits and letters
		f(`[9`+string(c)+`]`, `unexpected character '`+string(c)+`' in JSON`)
	}
	for _, c := range "aAzZ" { // part of the word that is no number
		f(`[9`+string(c)+`]`, `unexpected character '9' in JSON`)
	}
}

// What was read makes room for what comes: only a value that is larger needs a larger buffer.
func TestReaderKeepsItsBuffer(t *testing.T) {
	f := func(element string, count, buffer int) {
		t.Helper()
		r := NewReader(strings.NewReader("[" + strings.Repeat(element+",", count) + element + "]"))
		n := 0
		err := r.Elements(func() error {
			n++
			value, err := r.Value()
			if err == nil && string(value) != element {
				t.Fatalf("element %d is %.100s", n, value)
			}
			return err
		})
		if err != nil || n != count+1 || len(r.buffer) != buffer {
			t.Errorf("%d elements of %d bytes: %d are read, %v, with a buffer of %d bytes; want %d", count+1, len(element),
				n, err, len(r.buffer), buffer)
		}
	}

	f(`"0x77"`, 100_000, readerBuffer)
	f(`["0x77",12]`, 50_000, readerBuffer)
	f(`"`+strings.Repeat("7", readerBuffer-2)+`"`, 20, readerBuffer)
	f(`"`+strings.Repeat("7", readerBuffer)+`"`, 20, 2*readerBuffer)
}

// A connection that breaks is not the end of an answer.
func TestReaderBreaks(t *testing.T) {
	broken := iotest.ErrReader(io.ErrClosedPipe)
	for _, text := range []string{``, `[1`, `[1,`, `"a`, `{"a"`, `tru`} {
		_, err := NewReader(io.MultiReader(strings.NewReader(text), broken)).Value()
		if err != io.ErrClosedPipe {
			t.Errorf("%s: %v; want %v", text, err, io.ErrClosedPipe)
		}
	}

	// A body may say in more words that it has ended.
	ended := iotest.ErrReader(fmt.Errorf("the body: %w", io.EOF))
	if _, err := NewReader(io.MultiReader(strings.NewReader(`[1`), ended)).Value(); err != io.ErrUnexpectedEOF {
		t.Errorf("a body that has ended: %v; want %v", err, io.ErrUnexpectedEOF)
	}
}

// What encoding/json takes is taken alike, and reading ends whatever comes.
func FuzzReader(f *testing.F) {
	f.Add(`[{"jsonrpc":"2.0","id":0,"result":"a"},{"id":1,"error":{"code":1,"message":"b\\\""}}]`)
	f.Add(`{"result" : {"x":[1,{}]},"id":-0.5e7}`)
	f.Add(`[{"id":0,"result":`)
	f.Fuzz(func(t *testing.T, text string) {
		whole, pieces, err := readBoth(t, text)
		if !json.Valid([]byte(text)) {
			return
		}

		var want bytes.Buffer
		if json.Compact(&want, []byte(text)) != nil || err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if trimmed := strings.Trim(text, " \t\r\n"); whole != trimmed || pieces != want.String() {
			t.Errorf("%s: read as %s and %s", text, whole, pieces)
		}
	})
}
