package tidemark

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"
)

// StreamQuery is what a stream follows: the positions of an owner, positions, or
// pools; one of the three.
type StreamQuery struct {
	Owner     string
	Positions []string // up to 100 ids, such as 1-77: chain id and position id
	Pools     []string // up to 100 ids, such as 1-0x…

	// LastEventID is the event to go on after: of an event of an earlier stream, or the
	// generations of an answer. If it is empty, the stream begins now.
	LastEventID string
}

// StreamEvent is an event of a stream. Of the pointers one is set.
type StreamEvent struct {
	// Name is opened, closed, changed, in_range, out_of_range, reorg, generation, reset
	// or end.
	Name string
	ID   string // empty for end

	Position   *UnrankedPosition // the row, when the stream is of positions or an owner
	Pool       *UnrankedPool     // the row, when it is of pools
	Reorg      *StreamReorg      // rows to ask for again
	Generation *StreamGeneration // of generation and reset
	End        *StreamEnd        // why the stream ended
}

// silence is how long a stream may be silent: three times the node's comments.
const silence = 45 * time.Second

// lived is how long a connection without events lasts at least if it works: until the
// node's first comment.
const lived = 15 * time.Second

// maxEvent is more than the longest event: a reorg of a hundred pools.
const maxEvent = 1 << 20

// Stream follows positions or pools. When the connection breaks or the node stops, it
// goes on behind the last event. The last event is end, when the key or the account
// cannot go on; an error ends the iteration too.
func (c *Client) Stream(ctx context.Context, q StreamQuery) iter.Seq2[*StreamEvent, error] {
	return func(yield func(*StreamEvent, error) bool) {
		q := q // a second loop begins where the first one did
		for attempt := 1; ; attempt++ {
			goOn, worked, err := c.follow(ctx, &q, yield)
			if !goOn {
				return
			}
			if worked {
				attempt = 1
			}

			wait, again := c.retryWait(ctx, err, attempt)
			if again {
				err = sleep(ctx, wait)
			}
			if !again || err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// follow reads one connection's events until it breaks, and notes the last id in q.
// goOn is false if the iteration is over. worked is true if there were events, or comments
// for a while.
func (c *Client) follow(
	ctx context.Context, q *StreamQuery, yield func(*StreamEvent, error) bool,
) (goOn, worked bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := c.openStream(ctx, q)
	if err != nil {
		return true, false, err
	}
	defer body.Close()

	opened, from, heard := time.Now(), q.LastEventID, false
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEvent)

	for {
		e, data, ok := readEvent(lines, func() {
			silent.Reset(silence)
			heard = true
		})
		if !ok {
			break
		}
		if err := e.decode(q, data); err != nil {
			yield(nil, err)
			return false, false, nil
		}
		if e.ID != "" {
			q.LastEventID = e.ID
		}
		if e.End != nil && e.End.Reason == "stop" {
			break // another node, or this one in a moment
		}
		if !yield(e, nil) || e.End != nil {
			return false, false, nil
		}
	}

	if err = lines.Err(); err == nil {
		err = io.ErrUnexpectedEOF
	}
	return true, q.LastEventID != from || heard && time.Since(opened) >= lived, err
}

// readEvent reads the next event up to the empty line behind it, and its data, which is not
// decoded. heard is called at each line, also at those of comments. ok is false at the end of
// the connection.
func readEvent(lines *bufio.Scanner, heard func()) (e *StreamEvent, data string, ok bool) {
	e = new(StreamEvent)
	for lines.Scan() {
		heard()
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			e.Name = value
		case "id":
			e.ID = value
		case "data":
			data = value
		}

		if lines.Text() == "" && e.Name != "" {
			return e, data, true
		}
	}
	return nil, "", false
}

// openStream connects.
func (c *Client) openStream(ctx context.Context, q *StreamQuery) (io.ReadCloser, error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"owner": q.Owner, "positions": strings.Join(q.Positions, ","), "pools": strings.Join(q.Pools, ","),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}

	r, err := c.newRequest(ctx, c.URL+"/v1/stream?"+query.Encode(), "text/event-stream")
	if err != nil {
		return nil, err
	}
	if q.LastEventID != "" {
		r.Header.Set("Last-Event-ID", q.LastEventID)
	}
	answer, err := c.send(r)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// decode reads the data of an event.
func (e *StreamEvent) decode(q *StreamQuery, data string) error {
	var to any
	switch e.Name {
	case "reorg":
		e.Reorg = new(StreamReorg)
		to = e.Reorg
	case "generation", "reset":
		e.Generation = new(StreamGeneration)
		to = e.Generation
	case "end":
		e.End = new(StreamEnd)
		to = e.End
	default:
		if len(q.Pools) > 0 {
			e.Pool = new(UnrankedPool)
			to = e.Pool
		} else {
			e.Position = new(UnrankedPosition)
			to = e.Position
		}
	}

	if err := json.Unmarshal([]byte(data), to); err != nil {
		return fmt.Errorf("tidemark: cannot decode the event %s: %w", e.Name, err)
	}
	return nil
}
