package load

import "testing"

// The numbers of a body are those of JSON and exact decimals, and nothing else.
func TestNumbersOf(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		got := ""
		for _, n := range NumbersOf([]byte(body)) {
			got += string(n.Append(nil)) + " "
		}
		if got != want {
			t.Errorf("%s has %q; want %q", body, got, want)
		}
	}

	f(`{"a1":12,"b":[-0.5,3e2],"c":null}`, "12 0.5 300 ")
	f(`{"id":"0x12","hash":"9ab","a":"12.5","b":"-7","text":"1 of 2","t\"7":8}`, "125 7 8 ")
	f(`["123456789012345678954321"]`, "123456789012345678954321 ")
	f(`[7]`, "7 ")
	f(``, "")
}
