package consistency

import (
	"fmt"
	"math"
	"math/big"
)

// ticksLength is the most ticks that a page may have.
const ticksLength = 1000

// poolTicks asks for all ticks of a pool, and holds them against its row and its
// positions.
func (c *checker) poolTicks(chain int64, id, path string) error {
	for range c.Tries {
		t := ticksOf{net: new(big.Int), inRange: new(big.Int)}
		whole, err := c.readTicks(chain, path, &t)
		if err != nil {
			return err
		}

		if whole {
			t.judge, t.pool, t.ends = c.judge("ticks", path+"/ticks"), t.s.pool[id], t.s.endsOf(id)
			t.checkAll()
			return nil
		}
	}
	return unfinished("the ticks of %s are of several generations, %d times", path, c.Tries)
}

// ticksOf is the ticks of a pool in one generation.
type ticksOf struct {
	judge
	s            *snapshot
	pool         row
	pages        []row
	net, inRange *big.Int
	ends         rangeEnds
	found        int // of those
}

// readTicks reads all pages; false when the generation changed on the way.
func (c *checker) readTicks(chain int64, path string, t *ticksOf) (whole bool, err error) {
	whole = true
	for page, more := 1, true; more && whole && err == nil; page++ {
		asked := fmt.Sprintf("%s/ticks?page=%d&limit=%d", path, page, ticksLength)
		more = false
		err = c.with(chain, asked, func(s *snapshot, a *answer) {
			if t.s != nil && t.s != s {
				whole = false
				return
			}

			p := group(a.object(), "pagination")
			c.judge("ticks", asked).uncapped().checkPagination(p, int(number(p, "total")),
				len(list(a.object(), "ticks")), page, ticksLength)
			t.s, t.pages, more = s, append(t.pages, a.object()), flag(p, "hasMore")
		})
	}
	return whole && t.s != nil, err
}

// rangeEnds is the liquidity of the ranges that begin or end at a tick.
type rangeEnds map[float64]*big.Int

// endsOf returns the ends of the ranges of a pool's positions.
func (s *snapshot) endsOf(pool string) rangeEnds {
	if s.ends != nil {
		return s.ends[pool]
	}

	s.ends = map[string]rangeEnds{}
	for _, r := range s.positions {
		id, liquidity := text(r, "poolId"), integerOf(text(r, "liquidity"))
		if liquidity == nil || liquidity.Sign() == 0 {
			continue
		}
		if s.ends[id] == nil {
			s.ends[id] = rangeEnds{}
		}
		s.ends[id].add(number(r, "tickLower"), liquidity)
		s.ends[id].add(number(r, "tickUpper"), liquidity)
	}
	return s.ends[pool]
}

func (e rangeEnds) add(tick float64, liquidity *big.Int) {
	if e[tick] == nil {
		e[tick] = new(big.Int)
	}
	e[tick].Add(e[tick], liquidity)
}

// checkAll checks each tick, and what all of them add up to.
func (t *ticksOf) checkAll() {
	last := math.Inf(-1)
	for _, page := range t.pages {
		for _, name := range []string{"currentTick", "liquidity", "asOfBlock"} {
			t.equal(name, page[name], t.pool[name])
		}
		for i, each := range list(page, "ticks") {
			t.checkTick(fmt.Sprintf("ticks[%d]", i), each, last)
			last = number(each, "tick")
		}
	}

	// A pool in quarantine stands at what it was before the event that cannot be.
	t.equal("liquidityNet of all ticks", t.net.String(), "0")
	if !isQuarantined(t.pool) {
		t.equal("liquidityNet up to currentTick", t.inRange.String(), text(t.pool, "liquidity"))
		t.equal("ticks of positions", t.found, len(t.ends))
	}
}

var tickFields = map[string]kind{
	"tick": isInteger, "price": isNumber, "liquidityGross": isDigits, "liquidityNet": isDigits,
}

// checkTick checks one tick, which stands after another one.
func (t *ticksOf) checkTick(at string, m map[string]any, last float64) {
	t.fieldsOf(at, m, tickFields)
	tick := number(m, "tick")
	t.holds(at+".tick", tick > last, tick, "above the tick before it")
	price := math.NaN()
	if known(number(t.pool, "metrics.currentPrice")) {
		price = tickPrice(t.pool, tick)
	}
	t.near(at+".price", number(m, "price"), price, 0)

	net, _ := new(big.Int).SetString(text(m, "liquidityNet"), 10)
	gross := integerOf(text(m, "liquidityGross"))
	if net == nil || gross == nil {
		return
	}
	t.holds(at+".liquidityNet", net.CmpAbs(gross) <= 0, net, "at most liquidityGross")
	if own := t.ends[tick]; own != nil {
		t.found++
		t.holds(at+".liquidityGross", gross.Cmp(own) >= 0, gross,
			"at least that of positions: "+own.String())
	}

	t.net.Add(t.net, net)
	if tick <= number(t.pool, "currentTick") {
		t.inRange.Set(t.net)
	}
}
