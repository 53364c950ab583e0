package consistency

import (
	"encoding/json"
	"testing"
)

// TestEntryGas values the gas of an entry whose first leg is the native currency. A
// leg that only its own pool prices has no price; gas has one all the same.
func TestEntryGas(t *testing.T) {
	f := func(gasNative, gasUsd, price string, different int64) {
		t.Helper()
		var entry, position map[string]any
		decode(t, `{"token0":{"isNative":true,"decimals":18},"token1":{"isNative":false,"decimals":6}}`, &position)
		decode(t, `{"valueUsd":0,"gasNative":`+gasNative+`,"gasUsd":`+gasUsd+
			`,"token0PriceUsd":`+price+`,"token1PriceUsd":1}`, &entry)

		report := newReport()
		h := history{judge: judge{report: report}, row: position}
		h.entryUsd(h.judge, "entry", entry, "transfer")
		if report.Different != different {
			t.Errorf("gas of %s at %s is %s: %d differences; want %d: %v",
				gasNative, price, gasUsd, report.Different, different, report.Listed)
		}
	}

	f(`"0.5"`, `1000`, `2000`, 0)
	f(`"0.5"`, `1001`, `2000`, 1)
	f(`"0.5"`, `null`, `2000`, 1)
	f(`"0"`, `0`, `2000`, 0)
	f(`"0.5"`, `1000`, `null`, 0)
	f(`"0.5"`, `null`, `null`, 0)
	f(`null`, `null`, `2000`, 0)
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}
