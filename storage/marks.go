package storage

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// A flush moves commits from the log to a table, and a record of the MANIFEST says so.
// If that record is damaged, Pebble opens the version before it without an error. The
// flushed commits are then missing, and those after them are read from the next log:
// the store is a mixture of cuts, with the number of the newest.
//
// So every commit sets a mark with its number and deletes the mark of the commit before
// it, and the first commit of a chain also sets a mark with the number 0, which stays.
// A whole chain has these two. With a gap in the middle there are more, because the
// deletion of the last mark before the gap is among what is missing. With a gap at the
// beginning there is no mark 0. Batches of accounts have marks too; the first of them is
// known by the format.

// markCommit moves the mark to a commit.
func (w *writer) markCommit(number uint64) {
	if w.mark == 0 {
		w.setKey(appendNumber(w.key[:0], w.chain, kindMark, 0), nil)
	} else {
		// It is not that of number-1 after a rollback, when numbers go on from the
		// acknowledged one.
		w.deleteKey(appendNumber(w.key[:0], w.chain, kindMark, w.mark))
	}
	w.setKey(appendNumber(w.key[:0], w.chain, kindMark, number), nil)
}

// checkMarks returns an error if the marks of a chain show a gap. A chain without marks
// is empty, or in a format before them.
func checkMarks(marks []uint64) error {
	switch {
	case len(marks) == 0 || len(marks) == 2 && marks[0] == 0:
		return nil
	case marks[0] != 0 || len(marks) == 1:
		return fmt.Errorf("the first commits of %d are missing", marks[len(marks)-1])
	}
	return fmt.Errorf("commits between %d and %d are missing", marks[1], marks[len(marks)-1])
}

// findGaps reports the chains with missing commits as damaged.
func (s *Store) findGaps() error {
	chains, err := s.Chains()
	for _, chain := range chains {
		err = errors.Join(err, s.findGap(chain))
	}
	if isDamage(err) {
		return nil // it is known, and the chains are built again
	}
	return err
}

// findGap returns a Damage if commits of a chain are missing.
func (s *Store) findGap(chain market.ChainID) error {
	marks, err := s.readChainMarks(chain)
	if err == nil {
		err = checkMarks(marks)
	}
	if err != nil {
		return s.reportDamage(chain, "commits", err)
	}
	return nil
}

func (s *Store) readChainMarks(chain market.ChainID) ([]uint64, error) {
	return database.ReadMarks(s.db, appendKind(nil, chain, kindMark), appendKind(nil, chain, kindMark+1))
}

// sortChains sorts chains as their keys are sorted.
func sortChains(chains []market.ChainID) []market.ChainID {
	slices.SortFunc(chains, func(a, b market.ChainID) int {
		return slices.Compare(appendChain(nil, a), appendChain(nil, b))
	})
	return slices.Compact(chains)
}
