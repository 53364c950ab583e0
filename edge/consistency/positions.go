package consistency

import (
	"fmt"
	"strings"
)

func byMetric(name string) func(row) float64 {
	return func(r row) float64 { return number(r, "metrics."+name) }
}

// isValued leaves out what has no return: closed rows, and those without value.
func isValued(r row) bool {
	v := number(r, "metrics.underlyingValueUsd")
	return flag(r, "isActive") && known(v) && v != 0
}

var positionOrders = []*order{
	{name: "apr", value: byMetric("apr"), cut: true, wants: isValued},
	{name: "fee_apr", value: byMetric("feeApr"), cut: true, wants: isValued},
	{name: "roi", value: byMetric("roi"), cut: true, wants: isValued},
	{name: "pnl", value: byMetric("pnlUsd")},
	{name: "underlying_value", value: byMetric("underlyingValueUsd")},
	{name: "age", value: byMetric("ageSeconds"), ascending: true},
	{name: "nft_id_asc", value: positionNumber, ascending: true},
	{name: "nft_id_desc", value: positionNumber},
}

func positionNumber(r row) float64 { return digits(text(r, "positionId")) }

// filter is one choice of a list's parameters, and the rows that it admits.
type filter struct {
	query  string
	admits func(row) bool
}

// both admits what two filters admit.
func (f filter) both(g filter) filter {
	query := strings.Trim(f.query+"&"+g.query, "&")
	return filter{query, func(r row) bool { return f.admits(r) && g.admits(r) }}
}

// eachWith returns every choice of one parameter with every choice of another.
func eachWith(some, others []filter) (all []filter) {
	for _, f := range some {
		for _, g := range others {
			all = append(all, f.both(g))
		}
	}
	return all
}

func anyRow(row) bool { return true }

// atLeast is a floor: an unknown value passes none above 0.
func atLeast(path string, floor float64) func(row) bool {
	return func(r row) bool {
		x := number(r, path)
		return floor <= 0 || known(x) && x >= floor
	}
}

func isSafe(r row) bool { return !flag(r, "token0.risky") && !flag(r, "token1.risky") }

// The choices of each parameter of the positions' list; the first of each is
// what holds without it.
var (
	statuses = []filter{
		{"", func(r row) bool { return flag(r, "isActive") }},
		{"status=inactive", func(r row) bool { return !flag(r, "isActive") }},
		{"status=all", anyRow},
	}
	ranges = []filter{
		{"", anyRow},
		{"range=in", func(r row) bool { return flag(r, "metrics.inRange") }},
		{"range=out", func(r row) bool { return !flag(r, "metrics.inRange") }},
	}
	risks      = []filter{{"", isSafe}, {"includeRisky=true", anyRow}}
	poolFloors = []filter{
		{"", atLeast("poolStats.tvlUsd", 1000)},
		{"minPoolTvl=0", anyRow},
		{"minPoolTvl=250000.5", atLeast("poolStats.tvlUsd", 250000.5)},
	}
	valueFloors = []filter{
		{"", anyRow},
		{"minValueUsd=100", atLeast("metrics.underlyingValueUsd", 100)},
		{"minValueUsd=2.5e4", atLeast("metrics.underlyingValueUsd", 25_000)},
	}
)

// standardPositions is the list without parameters.
var standardPositions = statuses[0].both(risks[0]).both(poolFloors[0])

// manyOwners and manyPools bound how many questions ask for one owner, or one position,
// and for one pool: the largest, and others spread over the rest.
const (
	manyOwners = 60
	manyPools  = 60
)

// positionLists asks every order, whole, and a battery of filters.
func (c *checker) positionLists(chain int64) error {
	all := filter{everyPosition, anyRow}
	for _, o := range positionOrders {
		for _, f := range []filter{all, standardPositions} {
			if err := c.walkList(chain, positionQuestion(f, o), pageLength, true); err != nil {
				return err
			}
		}
	}

	filters := statuses
	for _, choices := range [][]filter{ranges, risks, poolFloors, valueFloors} {
		filters = eachWith(filters, choices)
	}
	for n, f := range filters {
		q := positionQuestion(f, positionOrders[n%len(positionOrders)])
		if err := c.walkList(chain, q, 7+(n+1)%30, false); err != nil {
			return err
		}
	}
	return c.narrowLists(chain)
}

func positionQuestion(f filter, o *order) question {
	return question{"positions", strings.Trim(f.query+"&sort="+o.name, "&"), o, f.admits}
}

// narrowLists asks for the positions of an owner, of a pool, and for single
// ones.
func (c *checker) narrowLists(chain int64) error {
	s := c.snapshots[chain]
	all := filter{everyPosition, anyRow}
	var narrow []filter
	add := func(name, value, asked string) {
		narrow = append(narrow, filter{name + "=" + asked, func(r row) bool {
			return text(r, name) == value
		}})
	}
	for _, owner := range spread(s.ownersBySize(), manyOwners) {
		add("owner", owner, "0x"+strings.ToUpper(owner[2:]))
	}
	for _, pool := range spread(s.pools, manyPools) {
		add("poolId", text(pool, "poolId"), "0x"+strings.ToUpper(text(pool, "poolId")[2:]))
	}
	for _, r := range spread(s.positions, manyOwners) {
		add("positionId", text(r, "positionId"), text(r, "positionId"))
	}
	add("positionId", "none", "none")
	add("poolId", "none", "0x"+strings.Repeat("0", 64))

	for _, f := range spread(s.keyFilters(), manyKeys) {
		narrow = append(narrow, c.ofPool(chain, f))
	}

	for n, f := range narrow {
		o := positionOrders[n%len(positionOrders)]
		if err := c.walkList(chain, positionQuestion(all.both(f), o), 10, false); err != nil {
			return fmt.Errorf("positions of %s: %w", f.query, err)
		}
	}
	return nil
}

// spread returns at most n of all: the first half of them from the front, the
// others evenly from the rest.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	front := n / 2
	some := append([]T(nil), all[:front]...)
	rest := all[front:]
	for i := range n - front {
		some = append(some, rest[i*len(rest)/(n-front)])
	}
	return some
}
