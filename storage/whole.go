package storage

import (
	"context"
	"errors"
	"fmt"

	"tidemark/storage/database"
)

// Compact rewrites the whole store, so that no compaction is left to do.
func (s *Store) Compact() error {
	if err := s.checkWritable(); err != nil {
		return err
	}
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("cannot flush store %s: %w", s.dir, err)
	}

	if err := s.db.Compact(context.Background(), nil, storeEnd, true); err != nil {
		return fmt.Errorf("cannot compact store %s: %w", s.dir, err)
	}
	return nil
}

// ReadAll reads every record once, in key order, without decoding it. It is the
// lower bound for the time that loading everything takes.
func (s *Store) ReadAll() (records, bytes int64, err error) {
	it := database.Iterate(s.db, nil, nil)
	defer func() { err = errors.Join(err, it.Close()) }()

	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return records, bytes, fmt.Errorf("cannot read store %s: %w", s.dir, err)
		}
		records++
		bytes += int64(len(it.Key()) + len(value))
	}
	return records, bytes, it.Error()
}
