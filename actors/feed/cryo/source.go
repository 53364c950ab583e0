package cryo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/actors/feed/rpc"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// Config says what the data is of.
type Config struct {
	Chain                    market.ChainID
	PoolManager              market.Address
	PositionManager          market.Address
	Start                    uint64 // the first block that must be there
	NativeSymbol, NativeName string
	Decimals                 map[market.Address]uint8 // of tokens whose own are not read
}

const (
	// spanEvents is about how many events a span gets: a file may have millions.
	spanEvents = 5000
	// namedMissing is how many missing things of a kind are named one by one.
	namedMissing = 8
)

// Source is a directory of the extractor.
type Source struct {
	cfg       Config
	contracts rpc.Contracts
	files     map[string][]file
	tokens    map[market.Address]market.TokenMeta
	told      map[market.Address]bool // tokens that a span has brought
	headers   headers
	gas       gasTable

	end        market.Head // of the last span
	noGas      missing
	noTokens   []string
	nftLogs    int // of the position manager
	from, last uint64
}

// Open finds the files of a directory. An error names the datasets and the blocks
// that it lacks.
func Open(dir string, c Config) (*Source, error) {
	files, err := findFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", dir, err)
	}
	s := &Source{
		cfg: c, contracts: rpc.Contracts{PoolManager: c.PoolManager, PositionManager: c.PositionManager},
		files: files, tokens: map[market.Address]market.TokenMeta{}, told: map[market.Address]bool{},
	}

	var lacks []string
	for _, name := range []string{logs, blocks} {
		if len(files[name]) == 0 {
			lacks = append(lacks, name+": there is no file")
		}
	}
	if list := files[logs]; len(list) > 0 {
		s.from = c.Start
		for _, f := range list {
			s.last = max(s.last, f.last)
		}
		if s.last < c.Start {
			lacks = append(lacks, fmt.Sprintf("logs: all from block %d on, where the chain's events begin; "+
				"the files end with block %d", c.Start, s.last))
		}
		for _, gap := range gaps(list, c.Start, s.last) {
			lacks = append(lacks, "logs: blocks "+gap)
		}
	}
	if len(lacks) > 0 {
		return nil, fmt.Errorf("%s is not enough; missing are %s", dir, strings.Join(lacks, "; "))
	}
	return s, s.readMetadata()
}

// Blocks returns the first and the last block of the logs.
func (s *Source) Blocks() (from, to uint64) { return s.from, s.last }

// readMetadata reads what is known of tokens, the newest file last.
func (s *Source) readMetadata() error {
	columns := []column{
		{name: "erc20"}, {name: "name"}, {name: "symbol"}, {name: "decimals"}, {name: "chain_id", optional: true},
	}

	for _, f := range s.files[metadata] {
		err := eachRow(f.path, columns, func(c []cell) error {
			var t market.TokenMeta
			decimals, bad := c[3].whole("decimals")
			if err := errors.Join(c[0].fixed(t.Address[:]), bad, s.checkChain(&c[4])); err != nil {
				return err
			}
			t.Name, t.Symbol = textOf(&c[1]), textOf(&c[2])
			t.SetDecimals(decimals, !c[3].null)
			s.tokens[t.Address] = t
			return nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}

func textOf(c *cell) texts.Text {
	if c.null {
		return 0
	}
	return texts.FromContract(c.bytes)
}

func (s *Source) checkChain(c *cell) error {
	if !c.null && market.ChainID(c.num) != s.cfg.Chain {
		return fmt.Errorf("it is of chain %d, not of chain %d", c.num, s.cfg.Chain)
	}
	return nil
}

// rawLog is a log of one of the contracts, and where it is.
type rawLog struct {
	block uint64
	index uint32
	hash  market.Hash // of the transaction
	event market.Event
}

// Each calls do with every span in order. An error names the dataset and the blocks
// that are missing.
func (s *Source) Each(ctx context.Context, do func(*market.Span) error) error {
	s.end = market.Head{Number: s.from - 1}
	var pending []rawLog // of blocks after the last span
	for i, f := range s.files[logs] {
		if err := ctx.Err(); err != nil {
			return err
		}
		read, err := s.readLogs(f)
		if err != nil {
			return err
		}
		pending = append(pending, read...)

		// The next file may begin within this one, and end there too.
		until := s.last
		if i+1 < len(s.files[logs]) {
			until = min(until, s.files[logs][i+1].first-1)
		}
		if pending, err = s.cutSpans(pending, until, do); err != nil {
			return err
		}
	}
	if s.end.Number < s.from {
		return fmt.Errorf("blocks: none of blocks %d to %d is there", s.from, s.last)
	}
	return nil
}

// logColumns are those of the dataset of logs, in the order in which readLog takes them.
var logColumns = []column{
	{name: "block_number"}, {name: "log_index"}, {name: "transaction_hash"}, {name: "address"},
	{name: "topic0"}, {name: "topic1"}, {name: "topic2"}, {name: "topic3"}, {name: "data"},
	{name: "chain_id", optional: true},
}

// readLogs reads the logs of the contracts from a file.
func (s *Source) readLogs(f file) (list []rawLog, err error) {
	err = eachRow(f.path, logColumns, func(c []cell) error {
		l, wanted, err := s.readLog(f, c)
		if wanted {
			list = append(list, l)
		}
		return err
	})
	return list, err
}

// readLog reads a row. wanted is false for a log that a node would not be asked for.
func (s *Source) readLog(f file, c []cell) (l rawLog, wanted bool, err error) {
	block, err1 := c[0].whole("block_number")
	index, err2 := c[1].whole("log_index")
	if index > math.MaxUint32 {
		err2 = fmt.Errorf("log %d of block %d; cannot exceed %d", index, block, uint32(math.MaxUint32))
	}
	l = rawLog{block: block, index: uint32(index)}
	var address market.Address
	err = errors.Join(err1, err2, c[2].fixed(l.hash[:]), c[3].fixed(address[:]), s.checkChain(&c[9]))
	switch {
	case err != nil:
		return l, false, err
	case l.block < f.first || l.block > f.last:
		return l, false, fmt.Errorf("block %d; the file's name says %d to %d", l.block, f.first, f.last)
	case l.block < s.from:
		return l, false, nil
	}

	topics, err := topicsOf(c[4:8])
	if err != nil || len(topics) == 0 || !s.contracts.Reads(address, topics[0]) {
		return l, false, err
	}
	data, err := c[8].binary()
	if err == nil {
		l.event, err = s.contracts.Decode(address, topics, data)
	}
	if err != nil {
		return l, false, fmt.Errorf("log %d of block %d: %w", l.index, l.block, err)
	}
	if address == s.cfg.PositionManager {
		s.nftLogs++
	}
	return l, true, nil
}

// topicsOf returns the topics of a log, up to the first that it does not have.
func topicsOf(c []cell) (topics []market.Hash, err error) {
	for i := 0; i < len(c) && !c[i].null; i++ {
		var topic market.Hash
		if err := c[i].fixed(topic[:]); err != nil {
			return nil, err
		}
		topics = append(topics, topic)
	}
	return topics, nil
}

// cutSpans makes spans of logs up to a block, as far as headers are known. Logs of
// later blocks are returned.
func (s *Source) cutSpans(list []rawLog, until uint64, do func(*market.Span) error) ([]rawLog, error) {
	slices.SortStableFunc(list, func(a, b rawLog) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.index, b.index))
	})
	list = slices.CompactFunc(list, func(a, b rawLog) bool {
		return a.block == b.block && a.index == b.index && a.hash == b.hash
	})
	n, _ := slices.BinarySearchFunc(list, until+1, func(l rawLog, block uint64) int {
		return cmp.Compare(l.block, block)
	})
	ready, later := list[:n], list[n:]
	if err := s.headers.load(s, s.end.Number+1, until); err != nil {
		return nil, err
	}
	if err := s.headers.check(ready); err != nil {
		return nil, err
	}
	if err := s.gas.load(s, ready, s.end.Number+1, until); err != nil {
		return nil, err
	}

	for len(ready) > spanEvents {
		cut := spanEvents
		for cut < len(ready) && ready[cut].block == ready[cut-1].block {
			cut++
		}
		if cut == len(ready) {
			break
		}
		if err := s.giveSpan(ready[:cut], ready[cut-1].block, do); err != nil {
			return nil, err
		}
		ready = ready[cut:]
	}
	if to := s.headers.newest(); to > s.end.Number {
		if err := s.giveSpan(ready, to, do); err != nil {
			return nil, err
		}
	}
	return slices.Clone(later), nil
}

// giveSpan gives the span of some logs that ends with a block of known header.
func (s *Source) giveSpan(list []rawLog, to uint64, do func(*market.Span) error) error {
	h := s.headers.byNumber[to]
	span := market.Span{
		From: s.end.Number + 1, To: to, Parent: s.end.Hash, Hash: h.hash, Time: h.time,
		Strict: true, Final: to+market.UndoBlocks <= s.last,
	}
	before := s.end // the last block whose time is known
	for i := range list {
		l := &list[i]
		b := len(span.Blocks) - 1
		if b < 0 || span.Blocks[b].Number != l.block {
			at := market.Head{Number: l.block, Time: s.headers.byNumber[l.block].time}
			if err := checkTime(before, at); err != nil {
				return err
			}
			span.Blocks = append(span.Blocks, market.Block{Number: at.Number, Time: at.Time})
			before = at
			b++
		}
		if err := s.addLog(&span.Blocks[b], l); err != nil {
			return err
		}
		if e, ok := l.event.(market.Initialize); ok {
			span.Tokens = append(span.Tokens, s.newTokens(e.Currency0, e.Currency1)...)
		}
	}

	if err := checkTime(before, span.Head()); err != nil {
		return err
	}
	s.end = span.Head()
	return do(&span)
}

// checkTime returns an error when a block is older than one before it.
func checkTime(before, at market.Head) error {
	if at.Time < before.Time {
		return fmt.Errorf("blocks: block %d has the time %d; block %d, which is before it, has %d",
			at.Number, at.Time, before.Number, before.Time)
	}
	return nil
}

func (s *Source) addLog(b *market.Block, l *rawLog) error {
	if n := len(b.Logs); n > 0 && b.Logs[n-1].Index == l.index {
		return fmt.Errorf("logs: block %d has two logs %d, of transactions %s and %s",
			l.block, l.index, b.Txs[len(b.Txs)-1].Hash, l.hash)
	}
	tx := len(b.Txs) - 1
	if tx < 0 || b.Txs[tx].Hash != l.hash {
		b.Txs = append(b.Txs, market.Tx{Hash: l.hash})
		tx++
	}

	if t := &b.Txs[tx]; s.contracts.ChangesNFT(l.event) && !t.GasKnown {
		if g, ok := s.gas.byHash[l.hash]; ok {
			t.GasUsed, t.GasPrice, t.GasKnown = g.used, clmath.U128{Lo: g.price}, true
		} else {
			s.noGas.add(l.block)
		}
	}
	b.Logs = append(b.Logs, market.Log{Index: l.index, Tx: uint32(tx), Event: l.event})
	return nil
}

// newTokens returns the metadata of currencies that no span has brought yet.
func (s *Source) newTokens(list ...market.Address) (out []market.TokenMeta) {
	for _, a := range list {
		if s.told[a] {
			continue
		}
		s.told[a] = true
		t, ok := s.tokens[a]
		switch {
		case a.IsZero():
			t = market.NativeToken(s.cfg.NativeSymbol, s.cfg.NativeName)
		case !ok:
			t = market.TokenMeta{Address: a, BadDecimals: true}
			s.noTokens = append(s.noTokens, a.String())
		}
		if d, ok := s.cfg.Decimals[a]; ok {
			t.Decimals, t.BadDecimals = d, false
		}
		out = append(out, t)
	}

	return out
}
