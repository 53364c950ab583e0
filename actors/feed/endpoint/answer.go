package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Stream is a Result that reads its answer as it comes, so that the whole of it
// is never in memory. It begins anew at every call of ReadJSON, since a request
// may be sent again, and returns errors of the reader only: what it dislikes in
// an answer it skips and keeps to itself.
type Stream interface {
	ReadJSON(r *Reader) error
}

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
func readAnswers(body io.Reader, room *room, calls []Call) error {
	r := borrowReader(body, room)
	defer r.giveBack()
	for i := range calls {
		calls[i].Error = errMissing
	}
	if len(calls) == 1 {
		return readAnswer(r, calls, 0)
	}

	if r.Next() == '{' {
		return errors.New(errNotBatch)
	}
	return r.Elements(func() error { return readAnswer(r, calls, -1) })
}

// readAnswer reads one answer: of call number id or, when that is negative, of
// the one that it names. Nodes may name it after the result.
func readAnswer(r *Reader, calls []Call, id int) error {
	if c := r.Next(); c != '{' && c != 0 {
		return fmt.Errorf("an answer begins with %q; want an object", c)
	}

	var held []byte // the result of a call that is not known yet
	var refused *refusal
	answered := false // the result went to its call
	err := r.Fields(func(name []byte) (err error) {
		switch string(name) {
		case "result":
			if answered = id >= 0; answered {
				return readResult(r, &calls[id])
			}
			if held, err = r.Value(); err == nil {
				err = r.Keep(len(held))
			}
			if err == nil {
				held = bytes.Clone(held)
			}
		case "error":
			refused, err = readRefusal(r)
		case "id":
			var text []byte
			if text, err = r.Value(); id < 0 {
				id = placeOf(text, len(calls))
			}
		default:
			err = r.Skip()
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
		again := borrowReader(bytes.NewReader(held), r.room)
		defer again.giveBack()
		return readResult(again, c)
	case !answered:
		c.Error = errNoResult
	}
	return nil
}

// placeOf returns the call that an id names, or a negative number.
func placeOf(id []byte, calls int) int {
	n, err := strconv.Atoi(string(bytes.Trim(id, `"`)))
	if err != nil || n >= calls {
		return -1
	}
	return n
}

func readResult(r *Reader, c *Call) error {
	c.Error = nil
	if s, ok := c.Result.(Stream); ok {
		return s.ReadJSON(r)
	}
	value, err := r.Value()
	if err == nil {
		err = r.Keep(decodedSize(value))
	}
	if err == nil {
		c.Error = json.Unmarshal(value, c.Result)
	}
	return err
}

// decodedSize returns about how much a value takes at most when it is decoded: hex digits half
// of their text, and the objects of a list their fields, whether they are there or not.
func decodedSize(value []byte) int {
	objects := bytes.Count(value, []byte("{")) + bytes.Count(value, []byte("null"))
	return len(value) + objectRoom*objects
}

// readRefusal reads the error of an answer: nil where it is null.
func readRefusal(r *Reader) (*refusal, error) {
	value, err := r.Value()
	if err != nil || value[0] == 'n' {
		return nil, err
	}
	if err := r.Keep(decodedSize(value)); err != nil {
		return nil, err
	}
	refused := new(refusal)
	if err := json.Unmarshal(value, refused); err != nil {
		refused.Message = string(value)
	}
	return refused, nil
}
