package rpc

import (
	"context"
	"fmt"

	"tidemark/rankings/market"
)

// Header returns a block as a node has it, for a comparison with one that comes from
// elsewhere. It may be called while Next is not.
func (f *Feed) Header(ctx context.Context, number uint64) (h market.Head, err error) {
	err = f.trySources(ctx, Backfill, number, func(s *source) error {
		var header *wireHeader
		if err := s.Call(ctx, &header, "eth_getBlockByNumber", hex(number), false); err != nil {
			return err
		}
		if err := header.check(number); err != nil {
			return err
		}
		h = header.head()
		return nil
	})

	if err != nil {
		return h, fmt.Errorf("cannot read the header of block %d of chain %d: %w", number, f.cfg.Chain, err)
	}
	return h, nil
}
