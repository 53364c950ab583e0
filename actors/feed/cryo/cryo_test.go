package cryo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"golang.org/x/crypto/sha3"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

var (
	manager   = market.Address{0xaa}
	positions = market.Address{0xbb}
	tokenA    = market.Address{0x70}
	tokenB    = market.Address{0x71}
)

// Rows as cryo writes them.
type (
	logRow struct {
		Block    uint32 `parquet:"block_number,optional"`
		TxIndex  uint32 `parquet:"transaction_index,optional"`
		LogIndex uint32 `parquet:"log_index,optional"`
		TxHash   []byte `parquet:"transaction_hash,optional"`
		Address  []byte `parquet:"address,optional"`
		Topic0   []byte `parquet:"topic0,optional,dict"`
		Topic1   []byte `parquet:"topic1,optional"`
		Topic2   []byte `parquet:"topic2,optional"`
		Topic3   []byte `parquet:"topic3,optional"`
		Data     []byte `parquet:"data,optional"`
		Bytes    uint32 `parquet:"n_data_bytes,optional"`
		Chain    uint64 `parquet:"chain_id,optional"`
	}
	blockRow struct {
		Block uint32 `parquet:"block_number,optional"`
		Hash  []byte `parquet:"block_hash,optional"`
		Time  uint32 `parquet:"timestamp,optional"`
		Chain uint64 `parquet:"chain_id,optional"`
	}
	txRow struct {
		Block    uint32 `parquet:"block_number,optional"`
		Hash     []byte `parquet:"transaction_hash,optional"`
		GasUsed  uint64 `parquet:"gas_used,optional"`
		GasPrice uint64 `parquet:"gas_price,optional"`
		Chain    uint64 `parquet:"chain_id,optional"`
	}
	tokenRow struct {
		Block    uint32 `parquet:"block_number,optional"`
		Token    []byte `parquet:"erc20,optional"`
		Name     string `parquet:"name,optional"`
		Symbol   string `parquet:"symbol,optional"`
		Decimals uint32 `parquet:"decimals,optional"`
		Chain    uint64 `parquet:"chain_id,optional"`
	}
)

func keccak(b []byte) (h market.Hash) {
	d := sha3.NewLegacyKeccak256()
	d.Write(b)
	d.Sum(h[:0])
	return h
}

// word is a 32-byte word of the ABI: of bytes on the left for numbers and addresses.
func word(b ...byte) (w market.Hash) {
	copy(w[32-len(b):], b)
	return w
}

func number(n uint64) market.Hash { return word(binary.BigEndian.AppendUint64(nil, n)...) }

// encoded is a log of an event: its address, topics and data.
type encoded struct {
	address market.Address
	topics  []market.Hash
	data    []byte
}

func event(address market.Address, signature string, indexed int, words ...market.Hash) (e encoded) {
	e.address, e.topics = address, []market.Hash{keccak([]byte(signature))}
	for i, w := range words {
		if i < indexed {
			e.topics = append(e.topics, w)
		} else {
			e.data = append(e.data, w[:]...)
		}
	}
	return e
}

// fixture is a small history: its spans' blocks, and the rows that cryo has of it.
type fixture struct {
	blocks []market.Block
	logs   []logRow
	heads  []blockRow
	txs    []txRow
	tokens []tokenRow
}

func (f *fixture) block(n uint64, events ...market.Event) {
	b := market.Block{Number: n, Time: 1_700_000_000 + int64(n)}
	for i, e := range events {
		hash := keccak(fmt.Appendf(nil, "tx %d %d", n, i/2))
		if i%2 == 0 {
			tx := market.Tx{Hash: hash}
			if changes(events[i:min(i+2, len(events))]) {
				tx.GasUsed, tx.GasPrice, tx.GasKnown = 21000+n, clmath.U128{Lo: 7}, true
			}
			b.Txs = append(b.Txs, tx)
			f.txs = append(f.txs, txRow{uint32(n), hash[:], 21000 + n, 7, 1})
		}

		b.Logs = append(b.Logs, market.Log{Index: uint32(3 * i), Tx: uint32(i / 2), Event: e})
		f.log(n, uint32(i), hash, encode(e))
	}
	f.blocks = append(f.blocks, b)
}

func changes(events []market.Event) bool {
	for _, e := range events {
		if _, ok := e.(market.TransferNFT); ok {
			return true
		}
	}
	return false
}

func (f *fixture) log(n uint64, i uint32, tx market.Hash, e encoded) {
	row := logRow{
		Block: uint32(n), TxIndex: i / 2, LogIndex: 3 * i, TxHash: tx[:], Address: e.address[:], Data: e.data,
		Bytes: uint32(len(e.data)), Chain: 1,
	}
	for k, into := range []*[]byte{&row.Topic0, &row.Topic1, &row.Topic2, &row.Topic3} {
		if k < len(e.topics) {
			*into = e.topics[k][:]
		}
	}
	f.logs = append(f.logs, row)
}

func encode(e market.Event) encoded {
	switch e := e.(type) {
	case market.Initialize:
		return event(manager, "Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)", 3,
			market.Hash(e.Pool), word(e.Currency0[:]...), word(e.Currency1[:]...), number(uint64(e.Fee)),
			number(uint64(e.TickSpacing)), word(e.Hooks[:]...), market.Hash(e.SqrtPriceX96.Bytes32()), number(0))
	case market.TransferNFT:
		return event(positions, "Transfer(address,address,uint256)", 3,
			word(e.From[:]...), word(e.To[:]...), number(e.ID))

	case market.Donate:
		return event(manager, "Donate(bytes32,address,uint256,uint256)", 2,
			market.Hash(e.Pool), word(e.Sender[:]...), market.Hash(e.Amount0.Bytes32()), market.Hash(e.Amount1.Bytes32()))
	}
	panic(fmt.Sprintf("%T", e))
}

func newFixture() *fixture {
	f := new(fixture)
	var key []byte
	for _, w := range []market.Hash{word(tokenA[:]...), word(tokenB[:]...), number(3000), number(60), {}} {
		key = append(key, w[:]...)
	}
	pool := market.PoolID(keccak(key))
	f.block(105, market.Initialize{
		Pool: pool, Currency0: tokenA, Currency1: tokenB, Fee: 3000, TickSpacing: 60,
		SqrtPriceX96: clmath.U256{0, 1 << 32},
	})
	for n := uint64(110); n < 400; n += 13 {
		f.block(n, market.TransferNFT{To: market.Address{0xcc}, ID: n},
			market.Donate{Pool: pool, Sender: positions, Amount0: clmath.U256{n}},
			market.Donate{Pool: pool, Sender: positions, Amount1: clmath.U256{n, n}})
	}

	for n := uint32(100); n < 400; n++ {
		hash := keccak(fmt.Appendf(nil, "block %d", n))
		f.heads = append(f.heads, blockRow{n, hash[:], 1_700_000_000 + n, 1})
	}
	f.tokens = []tokenRow{{1, tokenA[:], "Alpha", "A", 6, 1}, {1, tokenB[:], "Beta", "B", 18, 1}}
	return f
}

func writeParquet[T any](t *testing.T, path string, rows []T, codec parquet.WriterOption) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[T](f, codec)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// writeJSON writes rows as cryo's JSON, an array, or a row a line; bytes are hex.
func writeJSON[T any](t *testing.T, path string, rows []T, array bool) {
	t.Helper()
	var lines []string
	for i := range rows {
		fields := map[string]any{}
		v := reflect.ValueOf(rows[i])
		for k := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(k).Tag.Get("parquet"), ",")
			switch x := v.Field(k).Interface().(type) {
			case []byte:
				if fields[name] = nil; x != nil || name == "data" {
					fields[name] = "0x" + hex.EncodeToString(x)
				}
			default:
				fields[name] = x
			}
		}
		line, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}

	text := strings.Join(lines, "\n")
	if array {
		text = "[" + strings.Join(lines, ",") + "]"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// write writes the files of a fixture: logs in files of 100 blocks.
func (f *fixture) write(t *testing.T, extension string, codec parquet.WriterOption) string {
	t.Helper()
	dir := t.TempDir()
	for first := uint32(100); first < 400; first += 100 {
		var logRows []logRow
		for _, r := range f.logs {
			if r.Block >= first && r.Block < first+100 {
				logRows = append(logRows, r)
			}
		}
		writeRows(t, dir, extension, codec, fmt.Sprintf("ethereum__logs__%08d_to_%08d", first, first+99), logRows)
	}

	writeRows(t, dir, extension, codec, "ethereum__blocks__00000100_to_00000399", f.heads)
	writeRows(t, dir, extension, codec, "ethereum__transactions__00000100_to_00000399", f.txs)
	writeRows(t, dir, extension, codec, "ethereum__erc20_metadata__00000399_to_00000399", f.tokens)
	return dir
}

func writeRows[T any](t *testing.T, dir, extension string, codec parquet.WriterOption, name string, rows []T) {
	t.Helper()
	path := filepath.Join(dir, name+extension)
	if extension == ".parquet" {
		writeParquet(t, path, rows, codec)
		return
	}
	writeJSON(t, path, rows, extension == ".json")
}

var config = Config{Chain: 1, PoolManager: manager, PositionManager: positions, Start: 100}

// read returns the blocks of all spans, their tokens and the last head.
func read(t *testing.T, s *Source) (list []market.Block, tokens []market.TokenMeta, head market.Head) {
	t.Helper()
	at := market.Head{Number: 99}
	err := s.Each(t.Context(), func(span *market.Span) error {
		if span.From != at.Number+1 || span.Parent != at.Hash {
			t.Fatalf("span %d to %d after %+v", span.From, span.To, at)
		}
		list, tokens = append(list, span.Blocks...), append(tokens, span.Tokens...)
		at = span.Head()
		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	return list, tokens, at
}

// TestFormats: every format and compression gives the same spans.
func TestFormats(t *testing.T) {
	f := newFixture()
	check := func(name, dir string) {
		t.Helper()
		s, err := Open(dir, config)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, tokens, head := read(t, s)
		if d := cmp.Diff(f.blocks, got); d != "" {
			t.Fatalf("%s: other blocks (-want +got):\n%s", name, d)
		}
		if len(tokens) != 2 || tokens[0].Symbol.String() != "A" || tokens[0].Decimals != 6 || tokens[1].Name.String() != "Beta" {
			t.Errorf("%s: tokens are %+v", name, tokens)
		}
		if head.Number != 399 || head.Time != 1_700_000_399 || head.Hash != keccak([]byte("block 399")) {
			t.Errorf("%s: it ends with %+v", name, head)
		}
		if lines := s.Missing(); len(lines) > 0 {
			t.Errorf("%s: missing %q", name, lines)
		}
		if n := len(s.headers.byNumber); n != 100 { // of the last file of logs
			t.Errorf("%s: %d headers are in memory; want 100", name, n)
		}
		if open := openFiles(t, dir); len(open) > 0 {
			t.Errorf("%s: %q are open afterwards", name, open)
		}
	}

	check("zstd", f.write(t, ".parquet", parquet.Compression(&parquet.Zstd)))
	check("LZ4", f.write(t, ".parquet", parquet.Compression(&parquet.Lz4Raw)))
	check("LZ4, older pages", f.write(t, ".parquet", options(t, parquet.Compression(&parquet.Lz4Raw),
		parquet.DataPageVersion(1), parquet.PageBufferSize(200))))
	check("LZ4, older codec", relabel(t, f.write(t, ".parquet", parquet.Compression(&parquet.Lz4Raw))))
	check("snappy", f.write(t, ".parquet", parquet.Compression(&parquet.Snappy)))
	check("json", f.write(t, ".json", nil))
	check("ndjson", f.write(t, ".ndjson", nil))
}

// openFiles lists the files of a directory that this process has open.
func openFiles(t *testing.T, dir string) (open []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range list {
		if path, _ := os.Readlink(fd); strings.HasPrefix(path, dir) {
			open = append(open, filepath.Base(path))
		}
	}
	return open
}

// TestOtherCuts: the datasets need not be cut at the same blocks, and logs of other
// contracts and events are passed over.
func TestOtherCuts(t *testing.T) {
	f := newFixture()
	var other, foreign, bare logRow
	other, foreign, bare = f.logs[0], f.logs[0], f.logs[0]
	unknown := keccak([]byte("Unknown()"))
	other.Topic0, other.LogIndex = unknown[:], 90
	foreign.Address, foreign.LogIndex = tokenA[:], 91
	bare.Topic0, bare.Topic1, bare.Topic2, bare.Topic3, bare.LogIndex = nil, nil, nil, nil, 92
	rows := append([]logRow{other, foreign, bare}, f.logs...)

	dir := t.TempDir()
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000100_to_00000399", rows)
	for first := 100; first < 400; first += 50 {
		blocks, txs := f.heads[first-100:first-50], []txRow{}
		for _, tx := range f.txs {
			if int(tx.Block) >= first && int(tx.Block) < first+50 {
				txs = append(txs, tx)
			}
		}
		writeRows(t, dir, ".ndjson", nil, fmt.Sprintf("ethereum__blocks__%08d_to_%08d", first, first+49), blocks)
		writeRows(t, dir, ".ndjson", nil, fmt.Sprintf("ethereum__transactions__%08d_to_%08d", first, first+49), txs)
	}

	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := read(t, s); cmp.Diff(f.blocks, got) != "" {
		t.Errorf("other blocks (-want +got):\n%s", cmp.Diff(f.blocks, got))
	}
}

// TestLongFile: a file with many events gives several spans, each of whole blocks, and
// an error in any of them ends the reading.
func TestLongFile(t *testing.T) {
	f := newFixture()
	donate := encode(f.blocks[1].Logs[1].Event)
	const perBlock = 130
	for i := range uint32(2*spanEvents + 2000) {
		n := 200 + uint64(i/perBlock)
		f.log(n, 1000+i%perBlock, keccak(fmt.Appendf(nil, "many %d", n)), donate)
	}
	dir := f.write(t, ".ndjson", nil)

	spans := 0
	each := func(failing int) error {
		t.Helper()
		s, err := Open(dir, config)
		if err != nil {
			t.Fatal(err)
		}
		spans = 0
		at := market.Head{Number: 99}
		return s.Each(t.Context(), func(span *market.Span) error {
			if span.From != at.Number+1 || span.Parent != at.Hash {
				t.Errorf("span %d to %d after %+v", span.From, span.To, at)
			}
			events := 0
			for i := range span.Blocks {
				events += len(span.Blocks[i].Logs)
				if n := span.Blocks[i].Number; n < span.From || n > span.To {
					t.Errorf("a span of blocks %d to %d has block %d", span.From, span.To, n)
				}
			}
			if events > spanEvents+perBlock+3 {
				t.Errorf("a span has %d events", events)
			}
			at = span.Head()
			if spans++; spans == failing {
				return fmt.Errorf("span %d is refused", spans)
			}
			return nil
		})
	}

	if err := each(-1); err != nil || spans != 5 { // of three files, one of them in three
		t.Fatalf("%d spans, %v", spans, err)
	}
	for _, n := range []int{2, 4} { // within a file, and at its end
		if err := each(n); err == nil || err.Error() != fmt.Sprintf("span %d is refused", n) || spans != n {
			t.Errorf("when span %d is refused, %d are given: %v", n, spans, err)
		}
	}
}

// TestMissing: what is not there is named, with its blocks.
func TestMissing(t *testing.T) {
	f := func(change func(*fixture, *Config), remove, refused string, named ...string) {
		t.Helper()
		fix, c := newFixture(), config
		change(fix, &c)
		dir := fix.write(t, ".ndjson", nil)
		if remove != "" {
			if err := os.Remove(filepath.Join(dir, remove)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(dir, c)
		if err == nil {
			err = s.Each(t.Context(), func(*market.Span) error { return nil })
		}
		if refused != "" {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%v; want %q", err, refused)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range s.Missing() {
			if i >= len(named) || !strings.Contains(line, named[i]) {
				t.Errorf("missing %q; want %q", line, named)
			}
		}
		if len(s.Missing()) != len(named) {
			t.Errorf("missing %q; want %q", s.Missing(), named)
		}
	}
	nothing := func(*fixture, *Config) {}
	f(nothing, "ethereum__logs__00000200_to_00000299.ndjson", "logs: blocks 200 to 299")
	f(nothing, "ethereum__blocks__00000100_to_00000399.ndjson", "blocks: there is no file")
	f(func(_ *fixture, c *Config) { c.Start = 50 }, "", "logs: blocks 50 to 99")
	f(func(_ *fixture, c *Config) { c.Start = 200 }, "", "") // the first of three files is not needed
	f(func(_ *fixture, c *Config) { c.Start = 250 }, "", "") // events before it, in that file too
	f(func(_ *fixture, c *Config) { c.Start = 400 }, "",
		"missing are logs: all from block 400 on, where the chain's events begin; the files end with block 399")
	f(func(x *fixture, _ *Config) { x.heads = append(x.heads[:10:10], x.heads[11:]...) }, "",
		"blocks: 1 blocks from 110 to 110 have events and no row")
	f(func(x *fixture, _ *Config) { x.logs[3].Chain = 2 }, "", "it is of chain 2, not of chain 1")
	f(func(x *fixture, _ *Config) { x.txs[3].Chain = 2 }, "", "it is of chain 2, not of chain 1")
	f(func(x *fixture, _ *Config) { x.logs[3].Data = x.logs[3].Data[1:] }, "", "log 6 of block 110")
	f(func(x *fixture, _ *Config) { x.heads[7].Chain = 2 }, "", "it is of chain 2, not of chain 1")
	f(func(x *fixture, _ *Config) { x.heads[7].Hash = x.heads[7].Hash[1:] }, "", "31 bytes; want 32")
	f(func(x *fixture, _ *Config) { x.txs[3].Chain = 2 }, "", "it is of chain 2, not of chain 1")
	f(func(x *fixture, _ *Config) { x.tokens[1].Chain = 2 }, "", "it is of chain 2, not of chain 1")
	f(func(x *fixture, _ *Config) { x.heads = append(x.heads, x.heads[7]); x.heads[300].Time++ }, "",
		"here and 0x")

	f(nothing, "ethereum__transactions__00000100_to_00000399.ndjson", "",
		"transactions: those of 23 blocks from 110 to 396")
	f(nothing, "ethereum__erc20_metadata__00000399_to_00000399.ndjson", "", "erc20_metadata: 2 tokens")
	f(func(x *fixture, _ *Config) {
		x.logs = slices.DeleteFunc(x.logs, func(l logRow) bool { return bytes.Equal(l.Address, positions[:]) })
	}, "", "", "logs: none of the position manager "+positions.String())
	f(func(x *fixture, _ *Config) { x.heads = x.heads[:298] }, "", "", "blocks: no row after block 397")
}

// split is a fixture with events in blocks where the files of its datasets meet, and
// writes those files.
func split(t *testing.T) (f *fixture, dir string) {
	t.Helper()
	f, whole := new(fixture), newFixture()
	f.heads, f.tokens = whole.heads, whole.tokens
	for _, n := range []uint64{105, 198, 199, 200, 201, 299, 300, 399} {
		if n == 105 {
			f.block(n, whole.blocks[0].Logs[0].Event)
			continue
		}
		f.block(n, market.TransferNFT{To: market.Address{0xcc}, ID: n})
	}

	dir = t.TempDir()
	ranges := func(name string, bounds ...uint32) {
		for i := 1; i < len(bounds); i++ {
			first, last := bounds[i-1], bounds[i]-1
			file := fmt.Sprintf("ethereum__%s__%08d_to_%08d", name, first, last)
			within := func(n uint32) bool { return n >= first && n <= last }
			switch name {
			case "logs":
				writeRows(t, dir, ".ndjson", nil, file, only(f.logs, func(r logRow) bool { return within(r.Block) }))
			case "blocks":
				writeRows(t, dir, ".ndjson", nil, file, only(f.heads, func(r blockRow) bool { return within(r.Block) }))
			case "transactions":
				writeRows(t, dir, ".ndjson", nil, file, only(f.txs, func(r txRow) bool { return within(r.Block) }))
			}
		}
	}
	ranges("logs", 100, 200, 300, 400)
	ranges("blocks", 100, 199, 201, 300, 301, 400)
	ranges("transactions", 100, 199, 201, 300, 301, 400)
	writeRows(t, dir, ".ndjson", nil, "ethereum__erc20_metadata__00000399_to_00000399", f.tokens)
	return f, dir
}

func only[T any](rows []T, keep func(T) bool) (list []T) {
	for _, r := range rows {
		if keep(r) {
			list = append(list, r)
		}
	}
	return list
}

// The files of datasets may meet anywhere: each block and transaction is found.
func TestFilesThatMeet(t *testing.T) {
	f, dir := split(t)
	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := read(t, s)
	if d := cmp.Diff(f.blocks, got); d != "" {
		t.Errorf("other blocks (-want +got):\n%s", d)
	}
	if lines := s.Missing(); len(lines) > 0 {
		t.Errorf("missing %q", lines)
	}
}

// The first error of who takes the spans ends the reading, wherever the span was cut, and
// no file stays open.
func TestEachStops(t *testing.T) {
	f := newFixture()
	pool := f.blocks[0].Logs[0].Event.(market.Initialize).Pool
	f.blocks, f.logs, f.txs = nil, nil, nil
	for n := range uint64(60) {
		events := make([]market.Event, 100)
		for i := range events {
			events[i] = market.Donate{Pool: pool, Sender: positions}
		}
		f.block(100+n, events...)
	}
	dir := f.write(t, ".parquet", parquet.Compression(&parquet.Zstd))

	spans := 0
	for stop := 0; stop <= spans; stop++ {
		s, err := Open(dir, config)
		if err != nil {
			t.Fatal(err)
		}
		calls, full := 0, errors.New("the disk is full")
		err = s.Each(t.Context(), func(*market.Span) error {
			if calls++; calls == stop {
				return full
			}
			return nil
		})
		if spans = max(spans, calls); stop > 0 && (!errors.Is(err, full) || calls != stop) || stop == 0 && err != nil {
			t.Errorf("span %d is refused: %v after %d calls", stop, err, calls)
		}
		if lines := s.Missing(); stop == 0 && (len(lines) != 1 || !strings.Contains(lines[0], "no positions")) {
			t.Errorf("missing %q; want the position manager's logs", lines)
		}
	}
	if spans < 3 {
		t.Errorf("only %d spans", spans)
	}

	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if open, _ := os.Readlink(link); strings.HasPrefix(open, dir) {
			t.Errorf("%s is still open", open)
		}
	}
}

// Logs of other contracts, and such without a topic, are passed over.
func TestOtherLogs(t *testing.T) {
	f := newFixture()
	hash := keccak([]byte("another"))
	f.log(120, 0, hash, event(market.Address{0xdd}, "Transfer(address,address,uint256)", 3, word(1), word(2), word(3)))
	f.log(120, 1, hash, event(manager, "Other(uint256)", 0, word(3)))
	f.log(120, 2, hash, encoded{address: manager, data: []byte{1, 2, 3}})

	s, err := Open(f.write(t, ".ndjson", nil), config)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := read(t, s)
	if d := cmp.Diff(f.blocks, got); d != "" {
		t.Errorf("other blocks (-want +got):\n%s", d)
	}
}

// Blocks of which something is missing are counted once each, block 0 too.
func TestMissingBlocks(t *testing.T) {
	var m missing
	for _, block := range []uint64{0, 0, 3, 3, 7} {
		m.add(block)
	}
	if got := m.String(); got != "3 blocks from 0 to 7" {
		t.Errorf("missing are %s", got)
	}
}
