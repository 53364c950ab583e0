package cryo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// tell compares an error with what it should say; empty: there should be none.
func tell(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}

// Bytes are 0x and hex where they are text, and as many as are wanted.
func TestCells(t *testing.T) {
	f := func(c cell, want string, err string) {
		t.Helper()
		var got [2]byte
		failed := c.fixed(got[:])
		tell(t, string(c.bytes), failed, err)
		if failed == nil && string(got[:]) != want {
			t.Errorf("%q is read as %x; want %x", c.bytes, got, want)
		}
	}

	f(cell{bytes: []byte{1, 2}}, "\x01\x02", "")
	f(cell{bytes: []byte("0x0102"), text: true}, "\x01\x02", "")
	f(cell{bytes: []byte("0102"), text: true}, "", `"0102" is not 0x and hex digits`)
	f(cell{bytes: []byte("0x01zz"), text: true}, "", "invalid byte")
	f(cell{bytes: []byte("0x010"), text: true}, "", "odd length")
	f(cell{bytes: []byte{1}}, "", "1 bytes; want 2")
	f(cell{bytes: []byte{1, 2, 3}}, "", "3 bytes; want 2")
}

// A number that was written as a float is read if it is exact.
func TestWholeNumbers(t *testing.T) {
	f := func(x float64, want uint64, err string) {
		t.Helper()
		got, failed := wholeNumber(x)
		if tell(t, fmt.Sprint(x), failed, err); got != want {
			t.Errorf("%g is read as %d; want %d", x, got, want)
		}
	}

	f(0, 0, "")
	f(0.5, 0, "0.5 is no exact whole number")
	f(1, 1, "")
	f(-1, 0, "-1 is no exact whole number")
	f(1<<53-1, 1<<53-1, "")
	f(1<<53, 0, "is no exact whole number")
}

// A row of JSON has every column that is not optional; what cannot be read is told with
// the file, the row and the column.
func TestJSONRows(t *testing.T) {
	columns := []column{{"a", false}, {"b", true}}
	f := func(text, want, err string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "rows.ndjson")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		failed := eachRow(path, columns, func(c []cell) error {
			line := ""
			for i := range c {
				line += fmt.Sprintf("[%t %d %s]", c[i].null, c[i].num, c[i].bytes)
			}
			got = append(got, line)
			if c[0].num == 13 {
				return fmt.Errorf("13 is refused")
			}
			return nil
		})
		tell(t, text, failed, err)
		if failed != nil && !strings.Contains(failed.Error(), path) {
			t.Errorf("%q: %v does not name %s", text, failed, path)
		}
		if line := strings.Join(got, " "); line != want {
			t.Errorf("%q is read as %s; want %s", text, line, want)
		}
	}

	f("", "", "")
	f(`{"a":1,"b":"x"}`+"\n"+`{"a":2,"c":3}`, "[false 1 ][false 0 x] [false 2 ][true 0 ]", "")
	f(`[{"a":null,"b":null},{"a":18446744073709551615}]`,
		"[true 0 ][true 0 ] [false 18446744073709551615 ][true 0 ]", "")
	f(`[]`, "", "")
	f(`[{"a":1}`, "[false 1 ][true 0 ]", "row 1: EOF")
	f(`{"b":1}`, "", "row 0: it has no column a; wanted are a, b")
	f(`{"a":1}{"a":-1}`, "[false 1 ][true 0 ]", "row 1: column a: -1 is no whole number")
	f(`{"a":1.5}`, "", "row 0: column a: 1.5 is no whole number")
	f(`{"a":1}{"a":13}{"a":2}`, "[false 1 ][true 0 ] [false 13 ][true 0 ]", "row 2: 13 is refused")
	f(`{"a":1}{`, "[false 1 ][true 0 ]", "row 1: unexpected EOF")
	f(`[7]`, "", "row 0: json: cannot unmarshal number")
	f(`{"a":1}}`+"\n"+`{"a":2}`, "[false 1 ][true 0 ]", "row 1: invalid character '}'")
	if err := eachRow(t.TempDir(), columns, nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory has rows: %v", err)
	}
	if err := eachRow(filepath.Join(t.TempDir(), "none.json"), columns, nil); err == nil {
		t.Error("a file that is not there has rows")
	}
}

// Blocks that no file has are named, those at both ends too.
func TestGaps(t *testing.T) {
	files := []file{{first: 100, last: 199}, {first: 150, last: 170}, {first: 200, last: 299}, {first: 310, last: 320}}
	f := func(from, to uint64, want ...string) {
		t.Helper()
		if got := gaps(files, from, to); !slices.Equal(got, want) {
			t.Errorf("of %d to %d are missing %q; want %q", from, to, got, want)
		}
	}

	f(100, 299)
	f(99, 299, "99 to 99")
	f(100, 300, "300 to 300")
	f(100, 309, "300 to 309")
	f(100, 310, "300 to 309")
	f(120, 320, "300 to 309")
	f(50, 330, "50 to 99", "300 to 309", "321 to 330")
	f(400, 400, "400 to 400")
	f(305, 305, "305 to 305")
}

// A file belongs to the dataset that its name says, and has the blocks that it says.
func TestFileNames(t *testing.T) {
	f := func(name, set string, first, last uint64, err string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "below", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		found, failed := findFiles(dir)
		tell(t, name, failed, err)
		want := file{path, first, last}
		if list := found[set]; failed == nil && set != "" && (len(list) != 1 || list[0] != want) {
			t.Errorf("%s: found %+v; want %+v", name, found, want)
		}
		if set == "" && len(found) > 0 {
			t.Errorf("%s: found %+v; want none", name, found)
		}
	}

	f("ethereum__logs__00000100_to_00000199.parquet", logs, 100, 199, "")
	f("ethereum__blocks__label__7_to_7.jsonl", blocks, 7, 7, "")
	f("ethereum__erc20_metadata__latest.json", metadata, 0, 0, "")
	f("ethereum__transactions__5_to_9.ndjson", transactions, 5, 9, "")
	f("logs__00000100_to_00000199.parquet", logs, 100, 199, "")
	f("ethereum__logs__00000100_to_00000199.csv", "", 0, 0, "")
	f("ethereum__traces__1_to_2.parquet", "", 0, 0, "")
	f("ethereum__logs__latest.parquet", "", 0, 0, "its name has no range of blocks, such as")
	f("ethereum__logs__9_to_8.parquet", "", 0, 0, "its name has no range of blocks")
	f("ethereum__logs__1_to_99999999999999999999.parquet", "", 0, 0, "its name has no range of blocks")
	if _, err := findFiles(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that is not there has files")
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), config)
	tell(t, "a directory that is not there", err, "cannot read ")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ethereum__logs__1_to_2.parquet"), 0o700); err != nil {
		t.Fatal(err)
	}
	if found, err := findFiles(dir); err != nil || len(found) > 0 {
		t.Errorf("a directory is found as %+v, %v", found, err)
	}
	start := config
	start.Start = 0
	_, err = Open(dir, start)
	tell(t, "no file", err, "missing are logs: there is no file; blocks: there is no file")
	if strings.Contains(err.Error(), "0 to 0") {
		t.Errorf("%v; want no blocks of a file that is not there", err)
	}
}

// A currency is told once, with what is known of it.
func TestTokens(t *testing.T) {
	s := &Source{
		cfg: Config{
			NativeSymbol: "ETH", NativeName: "Ether",
			Decimals: map[market.Address]uint8{{3}: 9, {4}: 8},
		},
		tokens: map[market.Address]market.TokenMeta{
			{1}: {Address: market.Address{1}, Symbol: texts.New("A"), Decimals: 6},
			{4}: {Address: market.Address{4}, BadDecimals: true},
		},
		told: map[market.Address]bool{},
	}
	f := func(a market.Address, symbol string, decimals uint8, bad bool) {
		t.Helper()
		got := s.newTokens(a)
		if len(got) != 1 || got[0].Address != a || got[0].Decimals != decimals || got[0].BadDecimals != bad ||
			(got[0].Symbol == 0) != (symbol == "") || got[0].Symbol.String() != symbol {
			t.Errorf("%s: %+v; want %s, %d decimals, bad %t", a, got, symbol, decimals, bad)
		}
		if again := s.newTokens(a); len(again) > 0 {
			t.Errorf("%s is told again: %+v", a, again)
		}
	}

	f(market.Address{}, "ETH", 18, false)
	f(market.Address{1}, "A", 6, false)
	f(market.Address{2}, "", 0, true)
	f(market.Address{3}, "", 9, false)
	f(market.Address{4}, "", 8, false)
	if want := []string{market.Address{2}.String(), market.Address{3}.String()}; !slices.Equal(s.noTokens, want) {
		t.Errorf("without metadata are %q; want %q", s.noTokens, want)
	}
	fresh := &Source{cfg: s.cfg, told: map[market.Address]bool{}}
	if fresh.newTokens(market.Address{})[0].Name.String() != "Ether" {
		t.Error("the native currency has another name")
	}
}

// Metadata is as the token gave it; decimals that no price can have are bad, and are known up to 255.
func TestMetadata(t *testing.T) {
	dir := newFixture().write(t, ".ndjson", nil)
	path := filepath.Join(dir, "ethereum__erc20_metadata__00000399_to_00000399.ndjson")
	f := func(fields string, symbol texts.Text, decimals uint8, bad bool, err string) {
		t.Helper()
		row := fmt.Sprintf(`{"erc20":"%s",%s}`, tokenA, fields)
		if err := os.WriteFile(path, []byte(row), 0o600); err != nil {
			t.Fatal(err)
		}
		s, failed := Open(dir, config)
		if tell(t, fields, failed, err); failed != nil {
			return
		}
		got := s.tokens[tokenA]
		if got.Decimals != decimals || got.BadDecimals != bad || got.Symbol != symbol {
			t.Errorf("%s: %+v", fields, got)
		}
	}

	a, empty := texts.New("A"), texts.New("")
	f(`"name":"Alpha","symbol":"A","decimals":36`, a, 36, false, "")
	f(`"name":"Alpha","symbol":"A","decimals":37`, a, 37, true, "")
	f(`"name":"Alpha","symbol":"A","decimals":77`, a, 77, true, "")
	f(`"name":"Alpha","symbol":"A","decimals":255`, a, 255, true, "")
	f(`"name":"Alpha","symbol":"A","decimals":256`, a, 0, true, "")
	f(`"name":null,"symbol":null,"decimals":null`, 0, 0, true, "")
	f(`"name":"","symbol":"","decimals":0`, empty, 0, false, "")
	f(`"name":"","symbol":"`+strings.Repeat("A", 100_000)+`","decimals":0`,
		texts.New(strings.Repeat("A", texts.MaxLen)), 0, false, "")
	f(`"name":"Alpha","symbol":"A","decimals":6,"chain_id":1`, a, 6, false, "")
	f(`"name":"Alpha","symbol":"A","decimals":6,"chain_id":2`, 0, 0, false, "it is of chain 2, not of chain 1")
	f(`"name":"Alpha","symbol":"A","decimals":"6"`, 0, 0, false, `column decimals: "6" is no whole number`)
	f(`"name":"Alpha","symbol":"A"`, 0, 0, false, "it has no column decimals")
}

// The least that can be missing is told, and the gas of a single transaction is found.
func TestOneIsMissing(t *testing.T) {
	f := func(change func(*fixture), want ...string) {
		t.Helper()
		x := newFixture()
		change(x)
		s, err := Open(x.write(t, ".ndjson", nil), config)
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := read(t, s)
		if lines := s.Missing(); !slices.Equal(lines, want) {
			t.Errorf("missing %q; want %q", lines, want)
		}
		for i := range got {
			for k := range got[i].Txs {
				known := got[i].Txs[k].GasKnown
				if wants := x.blocks[i].Txs[k].GasKnown; known != wants && len(want) == 0 {
					t.Errorf("block %d, transaction %d: gas is known %t; want %t", got[i].Number, k, known, wants)
				}
			}
		}
	}

	f(func(x *fixture) { x.txs = slices.Delete(x.txs, 1, 2) },
		"transactions: those of 1 blocks from 110 to 110; their gas is unknown")
	f(func(x *fixture) { x.tokens = x.tokens[:1] },
		"erc20_metadata: 1 tokens; the node reads their metadata when it runs: "+tokenB.String())
	f(func(x *fixture) { // a single transfer, and none of another contract
		x.blocks = x.blocks[:2]
		x.logs = slices.DeleteFunc(x.logs, func(l logRow) bool { return l.Block > 110 })
	})
	f(func(x *fixture) { x.heads = append(x.heads, x.heads[7]) }) // the same row twice
	f(func(x *fixture) {                                          // nothing needs gas, so no transaction is looked at
		x.txs[0].Chain = 2
		x.blocks = x.blocks[:1]
		x.logs = slices.DeleteFunc(x.logs, func(l logRow) bool { return l.Block > 105 })
	}, "logs: none of the position manager "+positions.String()+", so that there are no positions")
}

// The spans end with the last block that has a row, also where whole files of logs follow.
func TestEndsWithTheLastRow(t *testing.T) {
	x := newFixture()
	x.heads = x.heads[:100]
	x.logs = slices.DeleteFunc(x.logs, func(l logRow) bool { return l.Block >= 200 })
	s, err := Open(x.write(t, ".ndjson", nil), config)
	if err != nil {
		t.Fatal(err)
	}
	if from, to := s.Blocks(); from != 100 || to != 399 {
		t.Errorf("the logs are of blocks %d to %d; want 100 to 399", from, to)
	}
	_, _, head := read(t, s)
	if head.Number != 199 {
		t.Errorf("the spans end with block %d; want 199", head.Number)
	}
	want := []string{"blocks: no row after block 199; the archive ends there, not at 399"}
	if lines := s.Missing(); !slices.Equal(lines, want) {
		t.Errorf("missing %q; want %q", lines, want)
	}

	x.heads = nil
	if s, err = Open(x.write(t, ".ndjson", nil), config); err != nil {
		t.Fatal(err)
	}
	err = s.Each(t.Context(), func(*market.Span) error { return nil })
	tell(t, "no rows at all", err, "blocks: 8 blocks from 105 to 188 have events and no row")

	x.logs = nil
	if s, err = Open(x.write(t, ".ndjson", nil), config); err != nil {
		t.Fatal(err)
	}
	err = s.Each(t.Context(), func(*market.Span) error { return nil })
	tell(t, "nothing at all", err, "blocks: none of blocks 100 to 399 is there")
}

// A file of logs may lie within another one, also the last of them.
func TestFileWithinAnother(t *testing.T) {
	x := newFixture()
	dir := x.write(t, ".ndjson", nil)
	for _, name := range []string{"00000200_to_00000299", "00000300_to_00000399"} {
		if err := os.Remove(filepath.Join(dir, "ethereum__logs__"+name+".ndjson")); err != nil {
			t.Fatal(err)
		}
	}
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000150_to_00000399",
		slices.DeleteFunc(slices.Clone(x.logs), func(l logRow) bool { return l.Block < 150 }))
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000200_to_00000249",
		slices.DeleteFunc(slices.Clone(x.logs), func(l logRow) bool { return l.Block < 200 || l.Block > 249 }))

	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	blocks, _, head := read(t, s)
	if head.Number != 399 || len(blocks) != len(x.blocks) {
		t.Errorf("%d blocks with events up to %d; want %d up to 399", len(blocks), head.Number, len(x.blocks))
	}
}

// A span is final when the ledger will not go back to it, and a file's rows are of its
// blocks.
func TestSpansOfFiles(t *testing.T) {
	x := newFixture()
	dir := x.write(t, ".ndjson", nil)
	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	var spans []market.Span
	if err := s.Each(t.Context(), func(span *market.Span) error {
		spans = append(spans, *span)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, s := range spans {
		if !s.Strict || s.Final != (s.To <= 399-market.UndoBlocks) || s.To != 199+100*uint64(i) || s.Time != 1_700_000_000+int64(s.To) {
			t.Errorf("span %d: %+v", i, s)
		}
	}
	last := market.Span{}
	take := func(span *market.Span) error {
		last = *span
		return nil
	}
	for _, c := range []struct {
		until uint64
		final bool
	}{{399 - market.UndoBlocks, true}, {399 - market.UndoBlocks + 1, false}} {
		s.end = market.Head{Number: c.until - 1}
		if err := s.giveSpan(nil, c.until, take); err != nil || last.Final != c.final {
			t.Errorf("a span to block %d is final %t, %v; want %t", c.until, last.Final, err, c.final)
		}
	}

	x.logs = append(x.logs, x.logs[0])
	x.logs[len(x.logs)-1].TxHash = bytes.Repeat([]byte{9}, 32)
	s, err = Open(x.write(t, ".ndjson", nil), config)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Each(t.Context(), func(*market.Span) error { return nil })
	tell(t, "two logs of a number", err, fmt.Sprintf("logs: block 105 has two logs 0, of transactions %s and 0x0909",
		x.blocks[0].Txs[0].Hash))

	path := filepath.Join(dir, "ethereum__logs__00000200_to_00000299.ndjson")
	if err := os.Rename(path, filepath.Join(dir, "ethereum__logs__00000200_to_00000298.ndjson")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "ethereum__logs__00000300_to_00000399.ndjson"),
		filepath.Join(dir, "ethereum__logs__00000299_to_00000399.ndjson")); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, config); err != nil {
		t.Fatal(err)
	}
	tell(t, "files cut otherwise", s.Each(t.Context(), take), "")
}

// A single block is enough; of a transaction without a price the gas is not known.
func TestSingleBlock(t *testing.T) {
	x := newFixture()
	of := func(n uint32) bool { return n == 110 }
	dir, c := t.TempDir(), config
	c.Start = 110
	const blocks = "__00000110_to_00000110"
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs"+blocks, only(x.logs, func(r logRow) bool { return of(r.Block) }))
	writeRows(t, dir, ".ndjson", nil, "ethereum__blocks"+blocks, only(x.heads, func(r blockRow) bool { return of(r.Block) }))
	for field, known := range map[string]bool{
		`"gas_used":21110,"gas_price":7`: true, `"gas_used":21110,"gas_price":null`: false,
		`"gas_used":null,"gas_price":7`: false,
	} {
		text := fmt.Sprintf(`{"transaction_hash":"%s",%s}`, x.blocks[1].Txs[0].Hash, field)
		path := filepath.Join(dir, "ethereum__transactions"+blocks+".ndjson")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		s, err := Open(dir, c)
		if err != nil {
			t.Fatal(err)
		}
		var got []market.Span
		err = s.Each(t.Context(), func(span *market.Span) error {
			got = append(got, *span)
			return nil
		})
		if err != nil || len(got) != 1 || got[0].From != 110 || got[0].To != 110 || got[0].Blocks[0].Txs[0].GasKnown != known {
			t.Errorf("gas of %s: %+v, %v; want one span, its gas known %t", field, got, err, known)
		}
	}
}

// A row of a Parquet file has every column that is not optional, and only values that a
// column of cryo's can have.
func TestParquetRows(t *testing.T) {
	type row struct {
		Whole  float64  `parquet:"whole"`
		Small  int32    `parquet:"small"`
		Large  uint64   `parquet:"large"`
		Text   string   `parquet:"text"`
		Bytes  []byte   `parquet:"bytes"`
		None   *uint64  `parquet:"none,optional"`
		Part   float64  `parquet:"part"`
		Flag   bool     `parquet:"flag"`
		Single *float32 `parquet:"single,optional"`
	}
	path := filepath.Join(t.TempDir(), "rows.parquet")
	rows := make([]row, 300) // more than are read at once
	for i := range rows {
		rows[i] = row{Whole: float64(i), Small: int32(i), Large: 1<<40 + uint64(i), Text: "0x01", Bytes: []byte{1}, Part: 0.5}
	}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}

	f := func(columns []column, want string, err string) {
		t.Helper()
		last, read := "", 0
		failed := eachRow(path, columns, func(c []cell) error {
			last = ""
			for i := range c {
				last += fmt.Sprintf("[%t %d %q %t]", c[i].null, c[i].num, c[i].bytes, c[i].text)
			}
			read++
			return nil
		})
		if tell(t, fmt.Sprint(columns), failed, err); failed == nil && (last != want || read != len(rows)) {
			t.Errorf("%v: %d rows, the last %s; want %d, %s", columns, read, last, len(rows), want)
		}
	}

	f([]column{{"small", false}, {"whole", false}, {"large", false}}, `[false 299 "" false][false 299 "" false][false 1099511628075 "" false]`, "")
	f([]column{{"text", false}, {"bytes", false}}, `[false 0 "0x01" true][false 0 "\x01" false]`, "")
	f([]column{{"none", false}, {"single", false}, {"lost", true}}, `[true 0 "" false][true 0 "" false][true 0 "" false]`, "")
	f([]column{{"small", false}, {"lost", false}}, "", "row 0: it has no column lost")
	f([]column{{"part", false}}, "", "row 0: 0.5 is no exact whole number")
	f([]column{{"flag", false}}, "", "row 0: a value is a BOOLEAN")

	stop := errors.New("enough")
	rowsRead := 0
	err := eachRow(path, []column{{"small", false}}, func([]cell) error { rowsRead++; return stop })
	if !errors.Is(err, stop) || rowsRead != 1 {
		t.Errorf("after %d rows: %v; want it to stop after the first", rowsRead, err)
	}
	edit(t, path, func(string) string { return "no such file" })
	tell(t, "no Parquet", eachRow(path, []column{{"small", false}}, nil), "row 0: it is no Parquet file: ")
}

// edit changes the text of a file.
func edit(t *testing.T, path string, change func(text string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Rows need not say of which chain they are.
func TestRowsWithoutChain(t *testing.T) {
	x := newFixture()
	dir := x.write(t, ".ndjson", nil)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 6 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		edit(t, name, func(text string) string {
			return strings.ReplaceAll(strings.ReplaceAll(text, `"chain_id":1,`, ""), `,"chain_id":1`, "")
		})
	}

	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	if got, tokens, _ := read(t, s); len(got) != len(x.blocks) || len(tokens) != 2 || len(s.Missing()) > 0 {
		t.Errorf("%d blocks, %d tokens, missing are %q", len(got), len(tokens), s.Missing())
	}
}

// Of metadata that two files have the later counts, by their names.
func TestLaterMetadata(t *testing.T) {
	x := newFixture()
	dir := x.write(t, ".ndjson", nil)
	for i, name := range []string{"b", "a", "c"} {
		x.tokens[0].Decimals = uint32(i + 10)
		writeRows(t, dir, ".ndjson", nil, name+"__erc20_metadata__00000400_to_00000400", x.tokens)
	}

	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.tokens[tokenA].Decimals; got != 12 {
		t.Errorf("%d decimals; want 12, of the last file", got)
	}
}

// A file is read when its blocks are worked on, and not before: what precedes a broken one is
// given.
func TestFilesInTheirTurn(t *testing.T) {
	f := func(broken string, spans int) {
		t.Helper()
		_, dir := split(t)
		edit(t, filepath.Join(dir, broken), func(string) string { return "broken" })
		s, err := Open(dir, config)
		if err != nil {
			t.Fatal(err)
		}
		given := 0
		err = s.Each(t.Context(), func(*market.Span) error {
			if given++; len(s.headers.byNumber) != 100 {
				t.Errorf("span %d: %d headers are in memory; want 100", given, len(s.headers.byNumber))
			}
			return nil
		})
		if given != spans || err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("%s is broken: %d spans are given, %v; want %d", broken, given, err, spans)
		}
	}

	f("ethereum__blocks__00000100_to_00000198.ndjson", 0)
	f("ethereum__blocks__00000199_to_00000200.ndjson", 0)
	f("ethereum__blocks__00000201_to_00000299.ndjson", 1)
	f("ethereum__blocks__00000301_to_00000399.ndjson", 2)
	f("ethereum__transactions__00000201_to_00000299.ndjson", 1)
	f("ethereum__transactions__00000301_to_00000399.ndjson", 2)
}

// A block with more events than a span should have is given whole, also at the end.
func TestFullBlock(t *testing.T) {
	x := newFixture()
	donate := encode(x.blocks[1].Logs[1].Event)
	for i := range uint32(spanEvents + 10) {
		x.log(398, 1000+i, keccak([]byte("many")), donate)
	}

	s, err := Open(x.write(t, ".ndjson", nil), config)
	if err != nil {
		t.Fatal(err)
	}
	got, _, head := read(t, s)
	if len(s.files[logs]) != 3 || spansOf(t, s) != 3 {
		t.Errorf("%d spans of %d files; want one of each", spansOf(t, s), len(s.files[logs]))
	}
	if last := got[len(got)-1]; last.Number != 398 || len(last.Logs) != spanEvents+10 || head.Number != 399 {
		t.Errorf("the last block is %d with %d events; want 398 with %d", last.Number, len(last.Logs), spanEvents+10)
	}
}

// spansOf counts the spans of a source.
func spansOf(t *testing.T, s *Source) (n int) {
	t.Helper()
	if err := s.Each(t.Context(), func(*market.Span) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// Files of logs may overlap: each log comes once, whichever of them has it. Files that were read
// are not looked at again, and reading can be given up.
func TestFilesThatOverlap(t *testing.T) {
	x, dir := split(t)
	within := func(first, last uint32) []logRow {
		return only(x.logs, func(r logRow) bool { return r.Block >= first && r.Block <= last })
	}
	path := func(name string) string { return filepath.Join(dir, "ethereum__"+name+".ndjson") }
	if err := os.Remove(path("logs__00000200_to_00000299")); err != nil {
		t.Fatal(err)
	}
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000150_to_00000260",
		only(within(150, 260), func(r logRow) bool { return r.Block != 198 }))
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000190_to_00000299",
		only(within(190, 299), func(r logRow) bool { return r.Block != 201 }))
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000300_to_00000399", within(300, 398))
	writeRows(t, dir, ".ndjson", nil, "ethereum__logs__00000390_to_00000399", within(390, 399))

	s, err := Open(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	var got []market.Block
	err = s.Each(t.Context(), func(span *market.Span) error {
		got = append(got, span.Blocks...)
		if span.To == 299 {
			edit(t, path("blocks__00000100_to_00000198"), func(string) string { return "broken" })
			edit(t, path("transactions__00000100_to_00000198"), func(string) string { return "broken" })
		}
		return nil
	})
	if d := cmp.Diff(x.blocks, got); err != nil || d != "" {
		t.Errorf("%v, other blocks (-want +got):\n%s", err, d)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Each(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// Times of blocks do not fall, within a span and from one to the next; they may stay.
func TestTimesThatFall(t *testing.T) {
	x, dir := split(t)
	f := func(block uint32, time uint32, want string) {
		t.Helper()
		was := x.heads[block-100].Time
		x.heads[block-100].Time = time
		writeRows(t, dir, ".ndjson", nil, "ethereum__blocks__00000100_to_00000198", x.heads[:99])
		writeRows(t, dir, ".ndjson", nil, "ethereum__blocks__00000199_to_00000200", x.heads[99:101])
		x.heads[block-100].Time = was

		s, err := Open(dir, config)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Each(t.Context(), func(*market.Span) error { return nil })
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("block %d with the time %d: %v; want %q", block, time, err, want)
		}
	}

	const start = 1_700_000_000
	f(198, start+105, "")
	f(198, start+104, "blocks: block 198 has the time 1700000104; block 105, which is before it, has 1700000105")
	f(200, start+198, "blocks: block 200 has the time 1700000198; block 199, which is before it, has 1700000199")
	f(199, start+1000, "blocks: block 200 has the time 1700000200; block 199, which is before it, has 1700001000")
}

// A log whose bytes cannot be read is told with its block.
func TestUnreadableLog(t *testing.T) {
	f := func(field, want string) {
		t.Helper()
		dir := newFixture().write(t, ".ndjson", nil)
		edit(t, filepath.Join(dir, "ethereum__logs__00000100_to_00000199.ndjson"), func(text string) string {
			return strings.Replace(text, `"`+field+`":"0x`, `"`+field+`":"zz`, 1)
		})
		s, err := Open(dir, config)
		if err == nil {
			err = s.Each(t.Context(), func(*market.Span) error { return nil })
		}
		tell(t, field, err, want)
	}

	f("data", `row 1: log 0 of block 105: "zz`)
	f("topic0", `row 1: "zz`)
	f("topic1", `row 1: "zz`)
	f("address", `row 1: "zz`)
	f("transaction_hash", `row 1: "zz`)
}
