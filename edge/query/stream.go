package query

import (
	"bytes"
	"errors"

	"tidemark/rankings/market"
)

// Stream is what a stream of events follows: the positions of an owner, positions, or
// pools; one of the three.
type Stream struct {
	Owner     *market.Address
	Positions []BatchID
	Pools     []BatchID
	// After is the event after which the stream goes on; nil: it begins now.
	After *EventID
}

// Chains returns the chains that the stream names; none for an owner.
func (s *Stream) Chains() (ids []market.ChainID) {
	for _, list := range [][]BatchID{s.Positions, s.Pools} {
		for i := range list {
			ids = append(ids, list[i].Chain)
		}
	}
	return ids
}

// EventID is the id of an event: the generations it belongs to, and its place among
// their events; place 0 is behind all of them.
type EventID struct {
	Generations Generations
	Place       int
}

const (
	streamOwner = iota
	streamPositions
	streamPools
)

var streamShape = paramSet{names: []string{
	streamOwner: "owner", streamPositions: "positions", streamPools: "pools",
}}

var errNoStream = errors.New("one of the parameters owner, positions and pools is needed; " +
	"positions and pools take ids as chainId-id, with commas between them")

var errTwoStreams = errors.New("only one of the parameters owner, positions and pools is allowed")

// Stream reads the query of a stream of events.
func (c Chains) Stream(raw []byte) (s Stream, err error) {
	var buf valueBuffer
	given := 0
	for p := streamShape.readPairs(raw); ; given++ {
		name, v, err := p.next(buf[:0])
		if err != nil {
			return s, err
		}

		if name == noMorePairs {
			return s, checkGiven(given)
		}
		if err := c.setStream(&s, name, streamShape.names[name], v); err != nil {
			return s, err
		}
	}
}

func checkGiven(parameters int) error {
	switch parameters {
	case 0:
		return errNoStream
	case 1:
		return nil
	}
	return errTwoStreams
}

// setStream sets the parameter with that index.
func (c Chains) setStream(s *Stream, name int, as string, v []byte) (err error) {
	switch name {
	case streamOwner:
		s.Owner, err = parseAddress(as, v)
	case streamPositions:
		s.Positions, err = c.parseIDs(as, v, (*BatchID).setPosition)
	case streamPools:
		s.Pools, err = c.parseIDs(as, v, (*BatchID).setPool)
	}
	return err
}

// maxPlace is more than a generation has events.
const maxPlace = 1 << 30

// ParseEventID reads the header Last-Event-ID: generations as X-Generation has them,
// and behind a slash the event's place; without it, the place is 0. The chains need
// not be known: an id may be older than the configuration.
func ParseEventID(v []byte) (*EventID, error) {
	const name = "Last-Event-ID"
	generations, place, placed := bytes.Cut(v, slash)
	list, err := parseGenerations(name, generations, "ids of events: 1:17,42161:18/3",
		func(name string, v []byte) (market.ChainID, error) {
			n, err := parseInteger(name, v)
			return market.ChainID(n), err
		})
	if err != nil {
		return nil, err
	}

	id := &EventID{Generations: list}
	if placed {
		n, err := parseBetween(name+": place", place, 0, maxPlace)
		if err != nil {
			return nil, err
		}
		id.Place = int(n)
	}
	return id, nil
}

var slash = []byte{'/'}
