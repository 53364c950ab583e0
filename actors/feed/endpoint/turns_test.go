package endpoint

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const oneAnswer = `{"jsonrpc":"2.0","id":0,"result":"0x1"}`

// slowStream takes a while to decode, and counts how many do.
type slowStream struct{ now, most *atomic.Int64 }

func (s slowStream) ReadJSON(r *Reader) error {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(time.Millisecond)
	return r.Skip()
}

// TestDecodingTakesTurns has many answers come at once.
func TestDecodingTakesTurns(t *testing.T) {
	var now, most atomic.Int64
	var work sync.WaitGroup
	for range 4 * cap(decoding) {
		work.Go(func() {
			calls := []Call{{Result: slowStream{&now, &most}}}
			if err := decodeInTurn(strings.NewReader(oneAnswer), nil, calls); err != nil || calls[0].Error != nil {
				t.Error(err, calls[0].Error)
			}
		})
	}
	work.Wait()

	if n := most.Load(); n > int64(cap(decoding)) {
		t.Errorf("%d answers were decoded at once; want at most %d", n, cap(decoding))
	}
}

// TestWaitingBodyKeepsNoTurn has answers that stop half-way: others are decoded meanwhile.
func TestWaitingBodyKeepsNoTurn(t *testing.T) {
	var work sync.WaitGroup
	var rest []*io.PipeWriter
	for range cap(decoding) {
		body, more := io.Pipe()
		rest = append(rest, more)
		work.Go(func() {
			var got string
			calls := []Call{{Result: &got}}
			if err := decodeInTurn(body, nil, calls); err != nil || got != "0x1" {
				t.Error(got, err)
			}
		})
		if _, err := io.WriteString(more, oneAnswer[:10]); err != nil {
			t.Fatal(err)
		}
	}

	done := make(chan error)
	go func() {
		var got string
		done <- decodeInTurn(strings.NewReader(oneAnswer), nil, []Call{{Result: &got}})
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("an answer waits for others that wait for their nodes")
	}

	for _, more := range rest {
		if _, err := io.WriteString(more, oneAnswer[10:]); err != nil {
			t.Fatal(err)
		}
		more.Close()
	}
	work.Wait()
}
