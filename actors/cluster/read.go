package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A message is read from the server that this node is connected to, if that one has a copy
// of the stream. After a partition the copy may be seconds behind. So a node that finds no
// cut there, and should, asks the leader of the stream.

// leaderTimeout bounds a question to the leader. An answer takes milliseconds, and without
// one the copy is asked again.
const leaderTimeout = 300 * time.Millisecond

// messageAfter returns the next message of the chain, nil if there is none.
func (ch *Chain) messageAfter(ctx context.Context, sequence uint64) (*jetstream.RawStreamMsg, error) {
	if err := ch.c.Joined(); err != nil {
		return nil, err
	}
	return ch.c.messageOf(ctx, ch.c.stream, ch.subject, sequence)
}

// newestAfter is messageAfter for Next. It asks the leader too if nothing was heard for a
// while, if the writer told of a later cut, and before this node may write, because it leads.
func (ch *Chain) newestAfter(
	ctx context.Context, sequence uint64, leads bool,
) (*jetstream.RawStreamMsg, error) {
	m, err := ch.messageAfter(ctx, sequence)
	told := ch.writerState.Load()
	behind := told != nil && told.Cut > ch.at.Number
	if m != nil || err != nil || !ch.quiet && !behind && !leads {
		return m, err
	}
	return ch.c.messageOfLeader(ctx, ch.subject, sequence)
}

// messageOf returns the message of a subject that follows a sequence, nil if there is
// none.
func (c *Cluster) messageOf(
	ctx context.Context, stream jetstream.Stream, subject string, sequence uint64,
) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	m, err := stream.GetMsg(ctx, sequence+1, jetstream.WithGetMsgSubject(subject))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// messageOfLeader is messageOf of the leader's copy of the stream of cuts.
func (c *Cluster) messageOfLeader(
	ctx context.Context, subject string, sequence uint64,
) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	question, err := json.Marshal(map[string]any{"seq": sequence + 1, "next_by_subj": subject})
	if err != nil {
		return nil, fmt.Errorf("cannot ask for a cut: %w", err)
	}
	answer, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+streamName, question)
	if err != nil {
		return nil, err
	}

	var told struct {
		Error   *jetstream.APIError
		Message *struct {
			Subject string
			Seq     uint64
			Data    []byte
		}
	}
	err = json.Unmarshal(answer.Data, &told)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the answer of the stream's leader: %w", err)
	case told.Error != nil && told.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case told.Error != nil:
		return nil, told.Error
	case told.Message == nil:
		return nil, errors.New("the stream's leader answers without a message")
	}
	m := told.Message
	return &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Seq, Data: m.Data}, nil
}
