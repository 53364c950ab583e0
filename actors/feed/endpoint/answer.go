package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Stream is a Result that reads its answer as it comes, so that the whole of it
// is never in memory. It begins anew at every call of ReadJSON, since a request
// may be sent again, and returns errors of the decoder only: what it dislikes in
// an answer it skips and keeps to itself.
type Stream interface {
	ReadJSON(dec *jsontext.Decoder) error
}

// lenient takes what nodes send: encoding/json has always taken it too.
var lenient = jsontext.AllowDuplicateNames(true)

// refusal is an error that a provider answered to a call.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

// errNoResult is of an answer without a result and without an error.
var errNoResult = errors.New("the answer has no result")

// errMissing is of a call that the answer to a batch does not mention.
var errMissing = errors.New(errUnanswered)

// encodeRequest returns the body of a request: an object for one call, else an
// array. A call's id is its place.
func encodeRequest(calls []Call) ([]byte, error) {
	type request struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}

	list := make([]request, len(calls))
	for i := range calls {
		list[i] = request{"2.0", i, calls[i].Method, calls[i].Args}
		if list[i].Params == nil {
			list[i].Params = []any{}
		}
	}
	if len(list) == 1 {
		return json.Marshal(&list[0])
	}
	return json.Marshal(list)
}

// readAnswers reads the answers to calls. The error is of the body as such; those
// of calls are in their elements.
func readAnswers(body io.Reader, calls []Call) error {
	dec := jsontext.NewDecoder(body, lenient, jsontext.AllowInvalidUTF8(true))
	for i := range calls {
		calls[i].Error = errMissing
	}
	if len(calls) == 1 {
		return readAnswer(dec, calls, 0)
	}

	if kind := dec.PeekKind(); kind == '{' {
		return errors.New(errNotBatch)
	}
	return ReadEach(dec, func() error { return readAnswer(dec, calls, -1) })
}

// ReadEach reads an array or an object: what opens it, every element or name by
// read, which reads a name's value too, and what closes it.
func ReadEach(dec *jsontext.Decoder, read func() error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}

	for {
		switch dec.PeekKind() {
		case ']', '}':
			_, err := dec.ReadToken()
			return err
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// readAnswer reads one answer: of call number id or, when that is negative, of
// the one that it names. Nodes may name it after the result.
func readAnswer(dec *jsontext.Decoder, calls []Call, id int) error {
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		return fmt.Errorf("an answer begins with %s; want an object", kind)
	}

	var held []byte // the result of a call that is not known yet
	var refused *refusal
	answered := false // the result went to its call
	err := ReadEach(dec, func() error {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "result":
			if answered = id >= 0; answered {
				return readResult(dec, &calls[id])
			}
			held, err = dec.ReadValue()
			held = bytes.Clone(held)
		case "error":
			refused, err = readRefusal(dec)
		case "id":
			var text jsontext.Value
			if text, err = dec.ReadValue(); id < 0 {
				id = placeOf(text, len(calls))
			}
		default:
			err = dec.SkipValue()
		}
		return err
	})
	if err != nil || id < 0 {
		return err
	}

	switch c := &calls[id]; {
	case refused != nil:
		c.Error = refused
	case held != nil:
		return readResult(jsontext.NewDecoder(bytes.NewReader(held), lenient), c)
	case !answered:
		c.Error = errNoResult
	}
	return nil
}

// placeOf returns the call that an id names, or -1.
func placeOf(id jsontext.Value, calls int) int {
	n, err := strconv.Atoi(string(bytes.Trim(id, `"`)))
	if err != nil || n < 0 || n >= calls {
		return -1
	}
	return n
}

func readResult(dec *jsontext.Decoder, c *Call) error {
	c.Error = nil
	if s, ok := c.Result.(Stream); ok {
		return s.ReadJSON(dec)
	}
	value, err := dec.ReadValue()
	if err == nil {
		c.Error = json.Unmarshal(value, c.Result)
	}
	return err
}

// readRefusal reads the error of an answer: nil where it is null.
func readRefusal(dec *jsontext.Decoder) (*refusal, error) {
	value, err := dec.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return nil, err
	}
	r := new(refusal)
	if err := json.Unmarshal(value, r); err != nil {
		r.Message = string(value)
	}
	return r, nil
}
