package accountstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/database"
)

// Lost is the error of a store that lacks acknowledged batches, or whose
// proof file is missing. Options.AcceptLost opens it nevertheless.
type Lost struct {
	Dir  string
	What string // what is missing, as a sentence
}

func (l *Lost) Error() string { return fmt.Sprintf("accounts in %s: %s", l.Dir, l.What) }

// checkProof refuses a store that lacks acknowledged batches, and opens the proof
// file for the next batch.
func (s *Store) checkProof(acknowledged *acknowledgement, o *Options) error {
	stored := storedProof{}
	value, found, err := s.get(proofKey)
	if found {
		err = stored.decode(value)
	}
	if err != nil {
		return err
	}

	marks, err := database.ReadMarks(s.db, batchMarks, batchMarksEnd)
	if err != nil {
		return err
	}
	// A build before marks leaves an old mark where it is.
	var older []uint64 // than the last batch, which has a mark
	if n := len(marks); n > 0 && marks[n-1] == stored.sequence {
		marks = marks[:n-1]
		older = marks
	}

	missing := s.findLoss(&stored, acknowledged, older)
	if missing != nil && !o.AcceptLost {
		return missing
	}
	s.head, s.proven = stored.proof, stored.proof.sequence
	if o.ReadOnly {
		return nil
	}
	if err := s.openProof(acknowledged, missing); err != nil {
		return err
	}
	return errors.Join(s.updateProof(), s.deleteMarks(marks))
}

// openProof opens the proof file for the next batch. A store without one, or with an
// accepted loss, gets a new file. Otherwise the store may be one batch ahead of the file,
// after a crash.
func (s *Store) openProof(acknowledged *acknowledgement, missing error) (err error) {
	if missing != nil || acknowledged == nil {
		if err := replaceProof(s.fs, s.proofPath, &s.head); err != nil {
			return err
		}
	} else {
		s.proven = acknowledged.sequence
	}

	s.proof, err = s.fs.OpenReadWrite(s.proofPath, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", s.proofPath, err)
	}
	if missing != nil {
		s.opts.Logger.Warn("accounts: loss of data accepted", "batch", s.head.sequence, "loss", missing)
	}
	return nil
}

// deleteMarks deletes marks of earlier batches.
func (s *Store) deleteMarks(marks []uint64) error {
	if len(marks) == 0 {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	for _, number := range marks {
		b.Delete(appendBatchMark(nil, number), nil)
	}
	return s.commit(b)
}

// findLoss returns Lost if the store lacks acknowledged batches. older are the
// marks besides that of the last batch, which deletes the one before it.
func (s *Store) findLoss(
	stored *storedProof, acknowledged *acknowledgement, older []uint64,
) error {
	switch {
	case acknowledged == nil && stored.sequence == 0:
		return nil // an earlier build without proofs made it
	case acknowledged == nil:
		return s.lossError("the file %s is gone, which proves that the store, at batch %d, is complete",
			s.proofPath, stored.sequence)
	case stored.follows(acknowledged.proof) && len(older) > 0:
		return s.lossError("batches between %d and %d of accounts, keys and usage are missing",
			older[0], stored.sequence)
	case stored.follows(acknowledged.proof):
		return nil
	case stored.sequence < acknowledged.sequence:
		return s.lossError("the store ends at batch %d and batch %d was written at %s: %d batches of "+
			"accounts, keys and usage are missing", stored.sequence, acknowledged.sequence,
			timeOf(acknowledged), acknowledged.sequence-stored.sequence)
	}

	return s.lossError("batch %d of the store does not continue batch %d, which was written at %s: "+
		"the directory is of another time or another node", stored.sequence, acknowledged.sequence,
		timeOf(acknowledged))
}

func (s *Store) lossError(format string, args ...any) error {
	return &Lost{s.dir, fmt.Sprintf(format, args...)}
}

func timeOf(a *acknowledgement) string { return a.at.UTC().Format(time.RFC3339) }
