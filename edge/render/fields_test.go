package render

import (
	"encoding/csv"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/value"
)

// rowsOf renders a position and a pool of the test's state.
func rowsOf() (position, pool []byte) {
	st := testState()
	addPositions(st)
	var m value.Metrics
	value.Position(st, 0, &m)
	return AppendPosition(nil, st, 0, &m, 3), AppendPool(nil, NewPool(st, 0), 7)
}

// TestFieldPaths checks that the paths are those of a row, in its order.
func TestFieldPaths(t *testing.T) {
	f := func(name string, row []byte, paths []string) {
		t.Helper()
		var got []string
		in := json.NewDecoder(strings.NewReader(string(row)))
		var walk func(under string)
		walk = func(under string) {
			must(in.Token()) // {
			for in.More() {
				path := under + must(in.Token()).(string)
				var inner json.RawMessage
				if before := in.InputOffset(); row[before+1] == '{' {
					walk(path + ".")
				} else {
					if err := in.Decode(&inner); err != nil {
						t.Fatal(err)
					}
					got = append(got, path)
				}
			}
			must(in.Token()) // }
		}
		walk("")
		if !slices.Equal(got, paths) {
			t.Errorf("a %s has the values %q; listed are %q", name, got, paths)
		}
	}

	position, pool := rowsOf()
	f("position", position, PositionFields)
	f("pool", pool, PoolFields)
}

func must(token json.Token, err error) json.Token {
	if err != nil {
		panic(err)
	}
	return token
}

func TestSelectFields(t *testing.T) {
	position, pool := rowsOf()
	f := func(row []byte, paths []string, names, want string) {
		t.Helper()
		s, err := SelectFields(paths, strings.Split(names, ","))
		if err != nil {
			t.Fatal(err)
		}
		got := string(s.AppendJSON([]byte("x"), row))
		if rest, ok := strings.CutPrefix(got, "x"); !ok || rest != want {
			t.Errorf("%s: got %s; want %s", names, got, want)
		}
	}

	f(position, PositionFields, "rank", `{"rank":3}`)
	f(position, PositionFields, "protocol,rank", `{"rank":3,"protocol":"swapdex-v4"}`)
	f(position, PositionFields, "token0.decimals,token0.isNative,isActive,token1.decimals",
		`{"token0":{"decimals":18,"isNative":true},"token1":{"decimals":6},"isActive":true}`)
	f(position, PositionFields, "pricing.token1.markets,pricing.pnlBasis,pricing.token0.markets",
		`{"pricing":{"token0":{"markets":3},"token1":{"markets":0},"pnlBasis":"hodl"}}`)
	f(pool, PoolFields, "fee", `{"fee":500}`)

	all, err := SelectFields(PositionFields, nil)
	if err != nil || string(all.AppendJSON(nil, position)) != string(position) {
		t.Errorf("all fields of a row are %s; want %s", all.AppendJSON(nil, position), position)
	}
	for _, name := range []string{"", "ran", "rank.", "token0.", "token0.nothing", "Rank"} {
		if _, err := SelectFields(PositionFields, []string{"rank", name}); err == nil {
			t.Errorf("%q is selected", name)
		}
	}
}

// TestCSVTexts checks cells with texts that anyone may choose: a reader gets them
// back, and a spreadsheet no formula.
func TestCSVTexts(t *testing.T) {
	f := func(text, line, read string) {
		t.Helper()
		s, err := SelectFields([]string{"a", "token0.symbol", "b"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		row := append(String([]byte(`{"a":1,"token0":{"symbol":`), text), `},"b":"-2"}`...)
		got := string(s.AppendCSV([]byte("x"), row))
		if got != "x1,"+line+",-2\r\n" {
			t.Errorf("%q: got %q; want the cell %q", text, got, line)
		}
		cells, err := csv.NewReader(strings.NewReader(got)).Read()
		if want := []string{"x1", read, "-2"}; err != nil || !reflect.DeepEqual(cells, want) {
			t.Errorf("%q: read %q, %v; want %q", text, cells, err, want)
		}
	}

	f("USDC", `USDC`, "USDC")
	f("", `""`, "")
	f("null", `null`, "null")
	f(`a,b`, `"a,b"`, "a,b")
	f(`a"b\`, `"a""b\"`, `a"b\`)
	f("a\nb", "\"a\nb\"", "a\nb")
	f("\x01é", "\x01é", "\x01é")
	f("\x0b\x1f\x7f", "\x0b\x1f\x7f", "\x0b\x1f\x7f")
	f("=SUM(A1)", `"'=SUM(A1)"`, "'=SUM(A1)")
	f("+1", `"'+1"`, "'+1")
	f("-1", `"'-1"`, "'-1")
	f("@x", `"'@x"`, "'@x")
	f("x=1", `x=1`, "x=1")

	s, err := SelectFields([]string{"a", "token0.symbol"}, nil)
	if got := string(s.AppendCSV(nil, []byte(`{"a":null,"token0":{"symbol":null}}`))); err != nil || got != ",\r\n" {
		t.Errorf("unknown values are %q, %v", got, err)
	}
	if got := string(s.AppendCSVHeader(nil)); got != "a,token0.symbol\r\n" {
		t.Errorf("the header is %q", got)
	}

	// A blank line would be no row for a reader.
	s, err = SelectFields([]string{"a", "b"}, []string{"a"})
	if got := string(s.AppendCSV([]byte("x\r\n"), []byte(`{"a":null,"b":1}`))); err != nil || got != "x\r\n\"\"\r\n" {
		t.Errorf("an unknown value alone is %q, %v", got, err)
	}
}

func TestExportEndGolden(t *testing.T) {
	end := AppendExportEnd(nil, &ExportEnd{Rows: 12, Generations: "1:7,42161:9"})
	golden(t, "export_end.json", end)
	golden(t, "export_end_more.json", AppendExportEnd(nil, &ExportEnd{
		Rows: 100, Generations: "1:7", More: true, Stale: true, AsOf: 1_700_000_000_000,
	}))
	golden(t, "export_cut.json", AppendExportCut(nil, `the "reason"`))
}
