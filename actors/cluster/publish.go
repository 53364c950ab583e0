package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publish stores a message. It repeats an attempt without an answer; the id of the
// message, which is among the options, keeps it from being stored twice.
func (c *Cluster) publish(
	ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt,
) (sequence uint64, err error) {
	for again := false; ; again = true {
		sequence, err := c.publishOnce(ctx, m, again, options)
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return sequence, nil
		case errors.Is(err, ErrOutdated):
			return 0, ErrOutdated
		case errors.As(err, &refused) && !passes(refused):
			return 0, err
		}

		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("no quorum of the NATS servers in time: %w", err)
		case <-time.After(retryPause):
		}
	}
}

// publishOnce is an attempt to store a message. again says that an earlier one may have stored
// it: a server that is alone looks what the message should follow, before it looks whether it
// has it.
func (c *Cluster) publishOnce(
	ctx context.Context, m *nats.Msg, again bool, options []jetstream.PublishOpt,
) (sequence uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, appendTry)
	defer cancel()
	ack, err := c.js.PublishMsg(ctx, m, options...)
	switch {
	case err == nil:
		return ack.Sequence, nil
	case !isOutdated(err):
		return 0, err
	case !again:
		return 0, ErrOutdated
	}

	// The options are headers since the first attempt.
	stream, err := c.js.Stream(ctx, m.Header.Get(jetstream.ExpectedStreamHeader))
	if err != nil {
		return 0, err
	}
	last, err := stream.GetLastMsgForSubject(ctx, m.Subject)
	switch id := m.Header.Get(jetstream.MsgIDHeader); {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, ErrOutdated
	case err != nil:
		return 0, err
	case id == "" || last.Header.Get(jetstream.MsgIDHeader) != id:
		return 0, ErrOutdated
	}
	return last.Sequence, nil
}

// isOutdated reports whether a message was refused because of one that is after the
// expected last one.
func isOutdated(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
