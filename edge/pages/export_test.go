package pages

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/edge/render"
)

// TestExportsAtOnce checks how many exports may be under way: of an account those of one
// cut, and of all accounts no more than there is room for.
func TestExportsAtOnce(t *testing.T) {
	e := &exports{byAccount: map[uint64]*accountExports{}}
	a, b := new(cut), new(cut)
	f := func(account uint64, c *cut, want *render.Error) {
		t.Helper()
		if got := e.begin(account, c); got != want {
			t.Errorf("with %d exports, of account %d: got %v; want %v", e.all, account, got, want)
		}
	}

	f(1, a, nil)
	f(1, b, errOtherExport)
	f(2, b, nil)
	for range maxAccountExports - 1 {
		f(1, a, nil)
	}
	f(1, a, errManyExports)
	f(2, b, nil)
	e.end(1)
	f(1, a, nil)
	for range maxAccountExports {
		e.end(1)
	}
	f(1, b, nil)
	e.end(1)
	e.end(2)
	e.end(2)
	if e.all != 0 || len(e.byAccount) != 0 {
		t.Errorf("%d exports of %d accounts are counted after the last", e.all, len(e.byAccount))
	}

	for n := range uint64(maxExports) {
		f(n, a, nil)
	}
	f(maxExports, a, errManyExports)
	e.end(0)
	f(maxExports, a, nil)
}

// TestRequiredLimits checks that pages without room for anything are refused, naming the
// limits.
func TestRequiredLimits(t *testing.T) {
	f := func(change func(*Limits), want string) {
		t.Helper()
		l := DefaultLimits()
		l.TotalCap, l.Selections, l.Pins, l.ExportRows = 2, 3, 4, 5
		change(&l)
		if _, err := New(&Config{Limits: l}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v; want %s", err, want)
		}
	}

	f(func(l *Limits) { l.TotalCap = 0 }, "limits.total-cap is 0, limits.selections is 3, limits.pins is 4 and limits.export-rows is 5")
	f(func(l *Limits) { l.Selections = 0 }, "limits.selections is 0")
	f(func(l *Limits) { l.Pins = 0 }, "limits.pins is 0")
	f(func(l *Limits) { l.ExportRows = 0 }, "limits.export-rows is 0")
}

// TestSetLimits checks that every limit changes but for those that are fixed at the start.
func TestSetLimits(t *testing.T) {
	first := DefaultLimits()
	p := crowded(t, func(c *Config) { c.Limits = first }, crowd(1, 1))
	changed := first
	all := reflect.ValueOf(&changed).Elem()
	for i := range all.NumField() {
		all.Field(i).SetInt(all.Field(i).Int() + 1)
	}
	p.SetLimits(changed)

	now, was := reflect.ValueOf(*p.Limits()), reflect.ValueOf(first)
	for i := range now.NumField() {
		name := now.Type().Field(i).Name
		stays := slices.Contains([]string{"UnavailableAfter", "Selections", "Queue"}, name)
		if got := now.Field(i).Int() == was.Field(i).Int(); got != stays {
			t.Errorf("%s stays as it was: %t; want %t", name, got, stays)
		}
	}
}
