package rankings

import "iter"

// PoolPositions returns the positions of a pool, ascending, and up to how many they are.
// A cold view answers ErrWarming.
func (v *View) PoolPositions(pool uint32) (positions iter.Seq[uint32], most int, err error) {
	if v.columns == nil {
		return nil, 0, ErrWarming
	}
	rows := v.columns.byPool.RowsOf(&v.columns.pool, pool)

	return func(yield func(uint32) bool) {
		for at := rows; ; {
			row, ok := at.Next()
			if !ok || !yield(row) {
				return
			}
		}
	}, rows.Left(), nil
}
