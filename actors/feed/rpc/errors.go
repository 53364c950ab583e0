package rpc

import (
	"fmt"
	"strings"

	"tidemark/actors/feed/endpoint"
)

// absentError is the error of something that a node does not have.
func absentError(format string, args ...any) error {
	return &endpoint.Error{
		Kind: endpoint.Absent, Text: fmt.Sprintf(format, args...) + ": the node does not have it",
	}
}

// movedError is the error of a chain that changed while it was read: nothing is
// wrong with the node, but what was read does not fit together.
func movedError(format string, args ...any) error {
	return &endpoint.Error{
		Kind: endpoint.Inconsistent,
		Text: fmt.Sprintf(format, args...) + ": the chain changed while it was read",
	}
}

func isAbsent(err error) bool { return endpoint.KindOf(err) == endpoint.Absent }

// joined is the errors of several nodes on one line.
type joined []error

func (j joined) Unwrap() []error { return j }

func (j joined) Error() string {
	text := make([]string, len(j))
	for i, err := range j {
		text[i] = err.Error()
	}
	return strings.Join(text, "; ")
}

// allErrors reports whether every node failed in this way.
func allErrors(err error, is func(error) bool) bool {
	j, ok := err.(joined)
	for _, e := range j {
		ok = ok && is(e)
	}
	return ok
}
