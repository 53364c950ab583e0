package storage

import (
	"tidemark/rankings/ledger"
)

// codeUndo leaves out To, which is its key.
func codeUndo(c *coder, u *ledger.Undo) {
	codeBlock(c, &u.Before)
	c.fixed("hash", u.Hash[:])
	codeLens(c, &u.Lens)
	codeSaved(c, "tokens", &u.Tokens, codeToken)
	codeSaved(c, "pools", &u.Pools, codePool)
	codeSaved(c, "days", &u.Days, codeDay)
	codeSaved(c, "minutes", &u.Minutes, codeMinutes)
	codeSaved(c, "ticks", &u.Ticks, codeTick)
	codeSaved(c, "positions", &u.Positions, codePosition)
	codeSaved(c, "wides", &u.Wides, codeWide)
	codeSaved(c, "directs", &u.Directs, codeDirect)
	codeSaved(c, "hours", &u.Hours, codeHour)
	n := c.count("drops", len(u.Drops))
	if c.read && n > 0 {
		u.Drops = make([]ledger.Op, n)
	}
	for i := range u.Drops {
		codeOp(c, &u.Drops[i])
	}
}

func codeSaved[T any](c *coder, field string, rows *[]ledger.Saved[T], code func(*coder, *T)) {
	n := c.count(field, len(*rows))
	if c.read && n > 0 {
		*rows = make([]ledger.Saved[T], n)
	}
	for i := range *rows {
		c.u32(field, &(*rows)[i].Index)
		code(c, &(*rows)[i].Row)
		if c.bad != "" {
			return
		}
	}
}
