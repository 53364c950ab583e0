package endpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// streamed keeps the numbers of an array as they come.
type streamed struct{ list []string }

func (s *streamed) ReadJSON(r *Reader) error {
	s.list = nil
	return r.Elements(func() error {
		v, err := r.Value()
		if err == nil {
			s.list = append(s.list, string(v))
		}
		return err
	})
}

// Answers are read in any order of calls and of their fields.
func TestReadAnswers(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		var number *int
		var list streamed
		calls := []Call{{Result: &number}, {Result: &list}}
		err := readAnswers(strings.NewReader(body), nil, calls)
		got := fmt.Sprint(number != nil && *number == 7, list.list, calls[0].Error, calls[1].Error, err)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}

	f(`[{"jsonrpc":"2.0","id":0,"result":7},{"id":1,"result":[1,2]}]`, "true [1 2] <nil> <nil> <nil>")
	f(`[{"result":[1,2],"id":1},{"result":7,"id":"0","error":null}]`, "true [1 2] <nil> <nil> <nil>")
	f(`[{"id":0,"error":{"code":-3,"message":"no"}},{"id":1,"result":[]}]`, "false [] no <nil> <nil>")
	f(`[{"error":"no","id":1},{"id":0,"result":null}]`, `false [] <nil> "no" <nil>`)
	f(`[{"id":0}]`, "false [] the answer has no result the answer to a batch lacks this call <nil>")
	f(`[{"id":9,"result":7},{"id":0,"result":7}]`,
		"true [] <nil> the answer to a batch lacks this call <nil>")
	f(`[{"id":0,"result":7,!}]`,
		"true [] <nil> the answer to a batch lacks this call unexpected character '!' in JSON")
	f(`[{"result":7,"id":0,!}]`, "false [] the answer to a batch lacks this call "+
		"the answer to a batch lacks this call unexpected character '!' in JSON")
	f(`{"id":0,"result":7}`, "false [] the answer to a batch lacks this call "+
		"the answer to a batch lacks this call a batch was answered with a single object")
}

// A result whose call is named only far behind it is kept whole.
func TestResultsBeforeTheirCalls(t *testing.T) {
	var body strings.Builder
	want := make([]string, 3)
	for i := range want {
		want[i] = strings.Repeat(string(rune('a'+i)), 100)
		between := strings.Repeat("x", 3*readerBuffer)
		fmt.Fprintf(&body, `,{"result":%q,"more":%q,"id":%d}`, want[i], between, i)
	}

	got := make([]string, len(want))
	var calls []Call
	for i := range got {
		calls = append(calls, Call{Result: &got[i]})
	}
	if err := readAnswers(strings.NewReader("["+body.String()[1:]+"]"), nil, calls); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %.20q, %v; want %.20q", got, err, want)
	}
}

// Whatever comes, reading ends, and what encoding/json takes is taken alike.
func FuzzReadAnswers(f *testing.F) {
	f.Add(`[{"jsonrpc":"2.0","id":0,"result":"a"},{"id":1,"error":{"code":1,"message":"b"}}]`)
	f.Add(`[{"result":{"x":[1,{}]},"id":0}]`)
	f.Add(`[{"id":0,"result":`)
	f.Fuzz(func(t *testing.T, body string) {
		results := make([]json.RawMessage, 2)
		calls := []Call{{Result: &results[0]}, {Result: &results[1]}}
		if readAnswers(strings.NewReader(body), nil, calls) != nil {
			return
		}
		if strings.ToLower(body) != body || strings.Count(body, `"id"`) > 1 {
			return // encoding/json does not mind the case and takes the last id
		}

		var want []struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal([]byte(body), &want) != nil {
			return // what follows the array is not looked at
		}
		for _, w := range want {
			k := placeOf(w.ID, len(calls))
			if k < 0 || len(want) > 1 || w.Error != nil || w.Result == nil || calls[k].Error != nil {
				continue
			}
			if string(results[k]) != string(w.Result) {
				t.Errorf("%s: result %s; want %s", body, results[k], w.Result)
			}
		}
	})
}

// What cannot be written as JSON is not sent.
func TestRequestThatCannotBe(t *testing.T) {
	p := newProvider(t)
	err := p.endpoint(t, nil).Call(t.Context(), nil, "echo", make(chan int))
	if err == nil || !strings.Contains(err.Error(), "unsupported type: chan int") || p.requests > 0 {
		t.Errorf("%v after %d requests", err, p.requests)
	}
}

// transport answers every request with a status and a text.
type transport struct {
	status         int
	text           string
	asked          http.Header
	opened, closed int
	io.Reader
}

func (w *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w.asked, w.Reader = r.Header, strings.NewReader(w.text)
	w.opened++
	return &http.Response{StatusCode: w.status, Header: http.Header{}, Body: w, Request: r}, nil
}

func (w *transport) Close() error {
	w.closed++
	return nil
}

// A request is of JSON and asks for it. Only an answer of success is one; all are closed.
func TestRequestsAreJSON(t *testing.T) {
	f := func(status int, text string, answered bool) {
		t.Helper()
		w := &transport{status: status, text: text}
		e := newProvider(t).endpoint(t, func(c *Config) { c.Transport = w })
		var got *int
		err := e.Call(t.Context(), &got, "echo")
		if (err == nil && *got == 7) != answered || w.opened == 0 || w.closed != w.opened {
			t.Errorf("%d %s: %v, %d of %d answers were closed", status, text, err, w.closed, w.opened)
		}
		if w.asked.Get("Content-Type") != "application/json" || w.asked.Get("Accept") != "application/json" {
			t.Errorf("asked with %v", w.asked)
		}
	}

	const seven = `{"id":0,"result":7}`
	f(200, seven, true)
	f(299, seven, true)
	f(199, seven, false)
	f(300, seven, false)
	f(500, seven, false)
	f(200, `<html>`, false)
}
