package cryo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// A number that is text, or that is larger than what it counts, is an error that says it. It was
// read as 0, or as another number, and the row was left out without a word.
func TestNumbers(t *testing.T) {
	f := func(log, block, want string) {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"logs": log, "blocks": block} {
			path := filepath.Join(dir, "ethereum__"+name+"__100_to_101.ndjson")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(dir, Config{Chain: 1, Start: 100})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Each(t.Context(), func(*market.Span) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	hash := `"0x` + strings.Repeat("7", 64) + `"`
	block := func(number, time string) string {
		return fmt.Sprintf(`{"block_number":%s,"block_hash":%s,"timestamp":%s}`, number, hash, time)
	}
	log := func(number, index string) string {
		return fmt.Sprintf(`{"block_number":%s,"log_index":%s,"transaction_hash":%s,"address":"0x%s",`+
			`"topic0":null,"topic1":null,"topic2":null,"topic3":null,"data":null}`,
			number, index, hash, strings.Repeat("7", 40))
	}

	f("", block(`"x"`, "5"), `row 1: column block_number: "x" is no whole number`)
	f("", block("100", `"5"`), `row 1: column timestamp: "5" is no whole number`)
	f("", block("100", "18446744073709551615"),
		"block 100 has the time 18446744073709551615; cannot exceed 9223372036854775807")
	f(log(`"100"`, "1"), block("101", "5"), `column block_number: "100" is no whole number`)
	f(log("100", `"1"`), block("101", "5"), `column log_index: "1" is no whole number`)
	f(log("100", "4294967296"), block("101", "5"), "log 4294967296 of block 100; cannot exceed 4294967295")
}

// Gas of a wanted transaction that is text is an error too.
func TestGasThatIsText(t *testing.T) {
	x := newFixture()
	dir := x.write(t, ".ndjson", nil)
	path := filepath.Join(dir, "ethereum__transactions__00000100_to_00000399.ndjson")
	f := func(used, price, want string) {
		t.Helper()
		row := fmt.Sprintf(`{"transaction_hash":"0x%x","gas_used":%s,"gas_price":%s}`, x.txs[1].Hash, used, price)
		if err := os.WriteFile(path, []byte(row), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, config)
		if err != nil {
			t.Fatal(err)
		}
		tell(t, row, s.Each(t.Context(), func(*market.Span) error { return nil }), want)
	}

	f("21000", "7", "")
	f(`"21000"`, "7", `row 1: column gas_used: "21000" is no whole number`)
	f("21000", `"7"`, `row 1: column gas_price: "7" is no whole number`)
	f("null", `"7"`, "")
}
