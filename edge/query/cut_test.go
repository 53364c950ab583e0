package query

import (
	"reflect"
	"testing"
)

func TestCut(t *testing.T) {
	f := func(raw string, want Cut) {
		t.Helper()
		var o, p Options
		if _, err := chains.Positions([]byte(raw), &o); err != nil || !reflect.DeepEqual(o.Cut, want) {
			t.Errorf("positions?%s: got %+v, %v; want %+v", raw, o.Cut, err, want)
		}
		if _, err := chains.Pools([]byte(raw), &p); err != nil || !reflect.DeepEqual(p.Cut, want) {
			t.Errorf("pools?%s: got %+v, %v; want %+v", raw, p.Cut, err, want)
		}
	}

	f("", Cut{})
	f("generation=pin", Cut{Pin: true})
	f("generation=pin&chainId=1", Cut{Pin: true})
	f("generation=1:17", Cut{Named: []Generation{{1, 17}}})
	f("chainId=1&generation=1:17", Cut{Named: []Generation{{1, 17}}})
	f("generation=1%3A17%2C42161%3A18", Cut{Named: []Generation{{1, 17}, {42161, 18}}})
	f("generation=43114:0,1:999999999999999999", Cut{Named: []Generation{{1, 999999999999999999}, {43114, 0}}})
}

func TestCutRefused(t *testing.T) {
	f := refusedByBothLists(t)

	const form = "allowed are pin, and generations as X-Generation has them"
	f("generation=", "parameter generation has no value")
	f("generation=PIN", form)
	f("generation=17", form)
	f("generation=1:17,", form)
	f("generation=,1:17", form)
	f("generation=1:17,pin", form)
	f("generation=1:", `generation: number "" is not an integer`)
	f("generation=1:-1", `generation: number "-1" is not an integer`)
	f("generation=1:17:18", `generation: number "17:18" is not an integer`)
	f("generation=1:1000000000000000000", "is too large")
	f("generation=5:17", "generation: chain 5 is not registered")
	f("generation=10:17", "generation: chain 10 has no enabled protocol")
	f("generation=1:17,1:18", "generation names chain 1 twice")
	f("generation=1:17&generation=pin", "parameter generation is given more than once")
	f("chainId=42161&generation=1:17", "generation names chains 1; the question is about chain 42161")
	f("generation=1:17,42161:18&chainId=1", "generation names chains 1, 42161; the question is about chain 1")
}
