package chain

import (
	"errors"
	"slices"

	"tidemark/actors/feed"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// refusal is a span that the ledger could not apply: some event before or in it
// is missing, wrong, or not understood.
type refusal struct {
	to    uint64 // its last block; 0: none
	tries int
	deep  bool // everything that can be taken back was
	// certain: the same events were read again with proof, so the pools that refuse
	// them are quarantined.
	certain bool
}

// maxUnproven is how often a span without proof is read again before its events
// are taken as certain.
const maxUnproven = 20

// Refused decides what follows an error of Advance, and reports whether the
// chain goes on. What the ledger refused is read again with proof; then, since
// the event that is missing may lie further back, with everything before it that
// can be taken back. What is refused even so stops the chain.
func (c *Chain) Refused(step feed.Step, err error) bool {
	if !mayBeReadBetter(err) || step.Span == nil || c.WantsState {
		return false
	}

	r := &c.refused
	r.to = max(r.to, step.Span.To)
	if r.tries++; r.tries == 1 {
		c.Log.Warn("the ledger refuses a span; its blocks are read again", "chain", c.ID(),
			"from", step.Span.From, "to", step.Span.To, "reason", err)
	}
	if !step.Proven && r.tries <= maxUnproven || c.goBack() {
		return true
	}
	again := !r.certain
	r.certain = true
	return again
}

// mayBeReadBetter reports whether what the ledger refused may have been read wrongly: an
// event that contradicts those before it, or blocks that do not follow one another, as
// when they were replaced meanwhile.
func mayBeReadBetter(err error) bool {
	var mismatch *ledger.Mismatch
	return errors.As(err, &mismatch) || errors.Is(err, ledger.ErrOutOfOrder) || errors.Is(err, ledger.ErrNotNext)
}

// TryAgain has what stopped the chain read again as if for the first time: a provider may have
// been wrong, or a reorganisation may have replaced the block.
func (c *Chain) TryAgain() { c.refused = refusal{to: c.refused.to} }

// goOn ends a stop once the blocks that were refused are indexed.
func (c *Chain) goOn() {
	if !c.status.Stopped {
		return
	}
	c.Log.Info("the chain goes on", "chain", c.ID(), "block", c.ledger.Head().Number)
	c.status.Stopped, c.status.StopReason = false, ""
}

// goBack takes back all that can be, once.
func (c *Chain) goBack() bool {
	anchors := c.ledger.Anchors()
	if c.refused.deep || len(anchors) == 1 {
		return false
	}
	c.refused.deep, c.corrected = true, true
	return c.goBackTo(anchors[len(anchors)-1])
}

// goBackTo takes the ledger back to a block, and reports whether it went back.
func (c *Chain) goBackTo(at market.Head) bool {
	if err := c.revert(at); err != nil {
		c.Log.Error("cannot go back to read blocks again", "chain", c.ID(), "error", err)
		return false
	}
	return true
}

// Reread takes the ledger back to before a block, or as far as it can, and has
// everything up to another read again with proof. It reports whether the ledger
// went back.
func (c *Chain) Reread(from, to uint64) bool {
	older := c.ledger.Anchors()[1:]
	if len(older) == 0 {
		return false
	}

	at := older[len(older)-1]
	if i := slices.IndexFunc(older, func(a market.Head) bool { return a.Number < from }); i >= 0 {
		at = older[i]
	}
	c.refused, c.corrected = refusal{to: to}, true
	return c.goBackTo(at)
}
