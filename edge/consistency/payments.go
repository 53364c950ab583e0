package consistency

import (
	"fmt"
	"math/big"
)

// payments are what transactions paid for gas, as the entries share it out: the
// shares of the gas used, at the price, and those of what was paid.
type payments map[string]*payment

type payment struct {
	total, shared *big.Int // used times price, and native
	position      string   // the last one that shares it
	known         bool
}

func (p payments) add(entries []map[string]any, position string) {
	for _, e := range entries {
		used, price := integerOf(text(e, "gasUsed")), integerOf(text(e, "gasPrice"))
		hash := text(e, "txHash")
		if p[hash] == nil {
			p[hash] = &payment{total: new(big.Int), shared: new(big.Int), known: true}
		}

		if used == nil || price == nil {
			p[hash].known = false
			continue
		}
		p[hash].total.Add(p[hash].total, used.Mul(used, price))
		p[hash].shared.Add(p[hash].shared, weiOf(e))
		p[hash].position = position
	}
}

// checkPayments checks that the shares of a transaction's gas are all of it.
func (c *checker) checkPayments(chain int64) {
	for hash, p := range c.payments[chain] {
		if p.known {
			where := fmt.Sprintf("transaction %d/%s of position %s", chain, hash, p.position)
			j := c.judge("gas shares", where)
			j.equal("gasNative of all positions", p.shared.String(), p.total.String())
		}
	}
}
