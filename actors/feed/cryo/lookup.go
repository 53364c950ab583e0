package cryo

import (
	"errors"
	"fmt"
	"math"

	"tidemark/rankings/market"
)

// headers are rows of blocks, of the range that is worked on.
type headers struct{ byNumber map[uint64]header }

type header struct {
	hash market.Hash
	time int64
}

// load reads the rows of blocks from..to.
func (h *headers) load(s *Source, from, to uint64) error {
	h.byNumber = make(map[uint64]header)
	columns := []column{
		{name: "block_number"}, {name: "block_hash"}, {name: "timestamp"}, {name: "chain_id", optional: true},
	}

	for _, f := range s.files[blocks] {
		if f.last < from || f.first > to {
			continue
		}
		err := eachRow(f.path, columns, func(c []cell) error {
			n, err1 := c[0].whole("block_number")
			time, err2 := c[2].whole("timestamp")
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if time > math.MaxInt64 {
				return fmt.Errorf("block %d has the time %d; cannot exceed %d", n, time, int64(math.MaxInt64))
			}
			if n < from || n > to || c[0].null || c[1].null || c[2].null {
				return nil
			}
			row := header{time: int64(time)}
			if err := errors.Join(c[1].fixed(row.hash[:]), s.checkChain(&c[3])); err != nil {
				return err
			}
			if have, ok := h.byNumber[n]; ok && have != row {
				return fmt.Errorf("block %d is %s here and %s in another row", n, row.hash, have.hash)
			}
			h.byNumber[n] = row
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// check names the blocks with events that have no row.
func (h *headers) check(list []rawLog) error {
	var lacks missing
	for i := range list {
		if _, ok := h.byNumber[list[i].block]; !ok {
			lacks.add(list[i].block)
		}
	}
	if lacks.count > 0 {
		return fmt.Errorf("blocks: %s have events and no row, which has their time", lacks.String())
	}
	return nil
}

// newest returns the last block that has a row; 0: none.
func (h *headers) newest() (last uint64) {
	for n := range h.byNumber {
		last = max(last, n)
	}
	return last
}

// gasTable is what transactions used and paid, of those that change an NFT.
type gasTable struct{ byHash map[market.Hash]gas }

type gas struct{ used, price uint64 }

// load reads the transactions of logs in the blocks from..to.
func (t *gasTable) load(s *Source, list []rawLog, from, to uint64) error {
	t.byHash = make(map[market.Hash]gas)
	wanted := make(map[market.Hash]bool)
	for i := range list {
		if s.contracts.ChangesNFT(list[i].event) {
			wanted[list[i].hash] = true
		}
	}
	columns := []column{
		{name: "transaction_hash"}, {name: "gas_used"}, {name: "gas_price"}, {name: "chain_id", optional: true},
	}

	for _, f := range s.files[transactions] {
		if f.last < from || f.first > to || len(wanted) == 0 {
			continue
		}
		err := eachRow(f.path, columns, func(c []cell) error {
			var hash market.Hash
			if err := errors.Join(c[0].fixed(hash[:]), s.checkChain(&c[3])); err != nil {
				return err
			}
			if !wanted[hash] || c[1].null || c[2].null {
				return nil
			}
			used, err1 := c[1].whole("gas_used")
			price, err2 := c[2].whole("gas_price")
			t.byHash[hash] = gas{used, price}
			return errors.Join(err1, err2)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// missing counts blocks of which something is missing.
type missing struct {
	count       int
	first, last uint64
}

// add counts a block once; blocks come in ascending order.
func (m *missing) add(block uint64) {
	if m.count > 0 && m.last == block {
		return
	}
	if m.count == 0 {
		m.first = block
	}
	m.count++
	m.last = block
}

func (m *missing) String() string {
	return fmt.Sprintf("%d blocks from %d to %d", m.count, m.first, m.last)
}

// Missing names what the spans lack, after Each: a line for each dataset.
func (s *Source) Missing() (lines []string) {
	if s.end.Number < s.last {
		lines = append(lines, fmt.Sprintf("blocks: no row after block %d; the archive ends there, not at %d",
			s.end.Number, s.last))
	}
	if s.nftLogs == 0 {
		lines = append(lines, fmt.Sprintf("logs: none of the position manager %s, so that there are no positions",
			s.cfg.PositionManager))
	}
	if s.noGas.count > 0 {
		lines = append(lines, "transactions: those of "+s.noGas.String()+"; their gas is unknown")
	}

	if n := len(s.noTokens); n > 0 {
		line := fmt.Sprintf("erc20_metadata: %d tokens; the node reads their metadata when it runs:", n)
		for _, a := range s.noTokens[:min(n, namedMissing)] {
			line += " " + a
		}
		lines = append(lines, line)
	}
	return lines
}
