package consistency

import (
	"fmt"
	"strings"
)

// manyKeys bounds how many filters by the key of a pool each list is asked with.
const manyKeys = 60

// keyFilters returns filters of pools by tokens, fee and hooks. Each admits some
// pool, but for the pairs of a token that is not there.
func (s *snapshot) keyFilters() (all []filter) {
	seen := map[string]bool{}
	add := func(query string, admits func(pool row) bool) {
		if !seen[query] {
			seen[query] = true
			all = append(all, filter{query, admits})
		}
	}
	has := func(pool row, token string) bool {
		return text(pool, "token0.address") == token || text(pool, "token1.address") == token
	}

	add("hooks=none", func(pool row) bool { return !isHooked(text(pool, "hooks")) })
	add("hooks=any", func(pool row) bool { return isHooked(text(pool, "hooks")) })
	for n, pool := range s.pools {
		one, other := text(pool, "token0.address"), text(pool, "token1.address")
		add("tokens="+one, func(p row) bool { return has(p, one) })
		add(fmt.Sprintf("tokens=%s,0x%s", other, strings.ToUpper(one[2:])),
			func(p row) bool { return has(p, one) && has(p, other) })

		hooks := text(pool, "hooks")
		add("hooks="+hooks, func(p row) bool { return text(p, "hooks") == hooks })
		if fee := number(pool, "fee"); known(fee) {
			add(fmt.Sprint("fee=", int64(fee)), func(p row) bool { return number(p, "fee") == fee })
			add(fmt.Sprintf("fee=%d&tokens=%s&hooks=%s", int64(fee), one, hooks), func(p row) bool {
				return number(p, "fee") == fee && has(p, one) && text(p, "hooks") == hooks
			})
		}
		if n == 0 {
			add("tokens=0x"+strings.Repeat("9", 40)+","+one, func(row) bool { return false })
		}
	}
	return all
}

func isHooked(hooks string) bool { return strings.Trim(hooks, "0x") != "" }

// ofPool turns a filter of pools into the filter of their positions. A pool's row is
// that of the newest snapshot, like the position's.
func (c *checker) ofPool(chain int64, f filter) filter {
	return filter{f.query, func(r row) bool {
		return f.admits(c.snapshots[chain].pool[text(r, "poolId")])
	}}
}
