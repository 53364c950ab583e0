package query

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"tidemark/rankings/market"
)

// Segment decodes a segment of a path, in which '+' is an ordinary character. The
// result is raw itself if there is nothing to decode or on an error. Otherwise it
// is appended to room, which is returned as used.
func Segment(room, raw []byte) (segment, used []byte, err error) {
	start := len(room)
	segment, used = raw, room
	if bytes.IndexByte(raw, '%') >= 0 {
		if used, err = appendUnescaped(room, raw, '+'); err != nil {
			return raw, room, fmt.Errorf("path segment %s: %w", quoteValue(raw), err)
		}
		segment = used[start:len(used):len(used)]
	}

	if !utf8.Valid(segment) {
		return raw, room, fmt.Errorf("path segment %s: %w", quoteValue(raw), errUTF8)
	}
	return segment, used, nil
}

// Place reads the chain and protocol segments of a path.
func (c Chains) Place(chain, protocol []byte) (market.ChainID, error) {
	id, err := c.parseChain("chain", chain)
	if err != nil {
		return 0, err
	}
	return id, checkProtocol(protocol)
}

// PositionID reads the position segment of a path. ok is false for text that
// cannot be the id of a position.
func PositionID(segment []byte) (id uint64, ok bool) { return parseTokenID(segment) }

// unservedProtocol is the protocol whose pool ids are addresses. It is not served.
const unservedProtocol = "swapdex-v3"

// PoolID reads the pool segment of a path. It is checked before the chain and the
// protocol are; the protocol only decides how long the id has to be.
func PoolID(protocol, segment []byte) (id market.PoolID, err error) {
	if string(protocol) == unservedProtocol {
		if _, err = parseAddress("poolId", segment); err != nil {
			return id, errPool
		}
		return id, nil
	}
	return parsePool(segment)
}

// Owner reads the owner segment of a path.
func Owner(segment []byte) (*market.Address, error) { return parseAddress("owner", segment) }

// Token reads the chain and address segments of a token's path.
func (c Chains) Token(chain, address []byte) (market.ChainID, *market.Address, error) {
	id, err := c.parseChain("chain", chain)
	if err != nil {
		return 0, nil, err
	}
	a, err := parseAddress("token", address)
	return id, a, err
}
