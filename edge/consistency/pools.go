package consistency

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

var poolOrders = []*order{
	{name: "tvl", value: byMetric("tvlUsd")},
	{name: "volume", value: byMetric("volumeUsd24h")},
	{name: "fees", value: byMetric("feesUsd24h")},
	{name: "fee_apr", value: byMetric("feeApr"), cut: true},
	{name: "age", value: func(r row) float64 { return number(r, "createdAtTimestamp") }, ascending: true},
}

var tvlFloors = []filter{
	{"", anyRow},
	{"minTvlUsd=1000", atLeast("metrics.tvlUsd", 1000)},
	{"minTvlUsd=1.5e6", atLeast("metrics.tvlUsd", 1.5e6)},
	{"minTvlUsd=-3", anyRow},
}

// manySearches bounds how many words are searched for.
const manySearches = 120

// poolLists asks every order with every filter, whole, and searches.
func (c *checker) poolLists(chain int64) error {
	for _, o := range poolOrders {
		for _, f := range eachWith(risks, tvlFloors) {
			if err := c.walkList(chain, poolQuestion(f, o), 30, true); err != nil {
				return err
			}
		}
	}

	for n, f := range spread(c.snapshots[chain].keyFilters(), manyKeys) {
		f = tvlFloors[n%2].both(risks[n/2%2]).both(f)
		q := poolQuestion(f, poolOrders[n%len(poolOrders)])
		if err := c.walkList(chain, q, 25, false); err != nil {
			return fmt.Errorf("pools of %s: %w", f.query, err)
		}
	}

	for n, word := range spread(c.snapshots[chain].searchWords(), manySearches) {
		floor := tvlFloors[n%2]
		f := floor.both(filter{
			"search=" + url.QueryEscape(word), func(r row) bool { return hasWord(r, word) },
		})
		q := poolQuestion(f, poolOrders[n%len(poolOrders)])
		if err := c.walkList(chain, q, 25, false); err != nil {
			return fmt.Errorf("pools with %q: %w", word, err)
		}
	}
	return nil
}

func poolQuestion(f filter, o *order) question {
	return question{"pools", strings.Trim(f.query+"&sort="+o.name, "&"), o, f.admits}
}

// searchWords returns what to search for: parts of symbols, of addresses and of ids, in
// upper and in lower case. A symbol that was cut or cleaned is not searched
// for: the row does not show what is compared.
func (s *snapshot) searchWords() (words []string) {
	add := func(word string) {
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}

	for n, r := range s.pools {
		for _, leg := range legs {
			symbol := text(r, "token"+leg+".symbol")
			if isPlain(symbol) {
				add(strings.ToLower(symbol))
				add(symbol[len(symbol)/3:])
			}
			address := text(r, "token"+leg+".address")
			add(address[2+n%30 : 8+n%30])
		}

		if one, other := text(r, "token0.symbol"), text(r, "token1.symbol"); isPlain(one) && isPlain(other) {
			pair := []string{one + "/" + other, other + " " + one, one + " - " + other}[n%3]
			add(strings.ToLower(pair))
		}

		id := text(r, "poolId")
		add(strings.ToUpper(id[2+n%50 : 8+n%50]))
	}
	add("no pool has this")
	return words
}

func isPlain(symbol string) bool {
	return symbol != "" && len(symbol) < 60 && strings.IndexFunc(symbol, func(r rune) bool {
		return r > unicode.MaxASCII
	}) < 0
}

// hasWord reports whether a pool answers to a word.
func hasWord(r row, word string) bool {
	word = strings.ToLower(word)
	for _, at := range []string{
		"token0.symbol", "token1.symbol", "token0.address", "token1.address", "poolId",
	} {
		if strings.Contains(strings.ToLower(text(r, at)), word) {
			return true
		}
	}

	one, other := strings.ToLower(text(r, "token0.symbol")), strings.ToLower(text(r, "token1.symbol"))
	return isPair(word, one, other) || isPair(word, other, one)
}

// isPair reports whether a word is two symbols with a divider between them.
func isPair(word, first, last string) bool {
	rest, begins := strings.CutPrefix(word, first)
	rest, ends := strings.CutSuffix(rest, last)
	return begins && ends && first != "" && last != "" && rest != "" && strings.Trim(rest, "/- ") == ""
}
