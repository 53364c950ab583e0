package query

import (
	"bytes"
	"errors"
	"fmt"

	"tidemark/rankings/market"
)

// maxBatch is the most ids of a batch. The longest hundred fit a request target.
const maxBatch = 100

// BatchID is one id of a batch.
type BatchID struct {
	Text       string // chainId-id, as the answer repeats it
	Chain      market.ChainID
	Position   uint64
	NoPosition bool // the id cannot be a position's
	Pool       market.PoolID
}

var batchShape = paramSet{names: []string{"ids"}}

// errNoIDs is the error for a batch without its parameter.
var errNoIDs = errors.New("parameter ids is missing; it takes ids as chainId-id, " +
	"with commas between them")

// PositionBatch reads the query of a batch of positions.
func (c Chains) PositionBatch(raw []byte) ([]BatchID, error) {
	return c.parseBatch(raw, (*BatchID).setPosition)
}

func (to *BatchID) setPosition(id []byte) error {
	if n, ok := parseTokenID(id); ok {
		to.Position = n
	} else {
		to.NoPosition = true
	}
	return nil
}

// PoolBatch reads the query of a batch of pools.
func (c Chains) PoolBatch(raw []byte) ([]BatchID, error) {
	return c.parseBatch(raw, (*BatchID).setPool)
}

func (to *BatchID) setPool(id []byte) (err error) {
	to.Pool, err = parsePool(id)
	to.Text = fmt.Sprintf("%d-%s", to.Chain, to.Pool)
	return err
}

// parseBatch reads the only parameter of a batch, with the reader of one id.
func (c Chains) parseBatch(
	raw []byte, parse func(to *BatchID, id []byte) error,
) (ids []BatchID, err error) {
	var buf valueBuffer
	for p := batchShape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])
		if err != nil {
			return nil, err
		}
		if name == noMorePairs {
			break
		}
		if ids, err = c.parseIDs(batchShape.names[name], v, parse); err != nil {
			return nil, err
		}
	}

	if len(ids) == 0 {
		return nil, errNoIDs
	}
	return ids, nil
}

// parseIDs reads ids of chains with commas between them, each once.
func (c Chains) parseIDs(
	name string, v []byte, parse func(to *BatchID, id []byte) error,
) ([]BatchID, error) {
	n := bytes.Count(v, comma) + 1
	if n > maxBatch {
		return nil, fmt.Errorf("%s names %d ids; allowed are up to %d", name, n, maxBatch)
	}

	ids, seen := make([]BatchID, 0, n), make(map[string]bool, n)
	for part := range bytes.SplitSeq(v, comma) {
		chain, id, ok := bytes.Cut(part, dash)
		if !ok || len(chain) == 0 || len(id) == 0 {
			return nil, fmt.Errorf("%s: %s is not an id; the format is chainId-id, with commas "+
				"between ids", name, quoteValue(part))
		}

		to := BatchID{Text: string(part)}
		var err error
		if to.Chain, err = c.parseChain(name+": chain", chain); err != nil {
			return nil, err
		}
		if err := parse(&to, id); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, quoteValue(part), err)
		}
		if seen[to.Text] {
			return nil, fmt.Errorf("%s names %s twice", name, quoteValue(part))
		}
		seen[to.Text] = true
		ids = append(ids, to)
	}
	return ids, nil
}

var dash = []byte{'-'}
