package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
)

// Incoming is the export of another store in tables of its own, beside the data of this
// one. Nothing of it is read before Install.
type Incoming struct {
	s     *Store
	chain market.ChainID
	dir   string
	paths []string

	file    *sstable.Writer
	written int // bytes in the present table
	options pebble.Options
}

const (
	// incomingTable is about how large a table of an import is. Compactions take whole
	// tables, so that they are not much larger than those of Pebble.
	incomingTable = 32 << 20
	// maxValue bounds a value of an export: that of a directory of tens of millions of
	// positions.
	maxValue = 256 << 20
)

// Receive reads an Export and writes it beside the data. The reader has to end with
// io.EOF only if all of it came as it was sent: no more than the form is checked here.
func (s *Store) Receive(chain market.ChainID, from io.Reader) (in *Incoming, err error) {
	if err := s.checkWritable(); err != nil {
		return nil, err
	}
	options := s.opts.pebble(nil)
	options.EnsureDefaults()
	in = &Incoming{
		s: s, chain: chain, options: *options,
		dir: s.opts.fs.PathJoin(s.dir, fmt.Sprintf("%s%d", incomingName, chain)),
	}
	err = s.opts.fs.RemoveAll(in.dir) // of an earlier attempt
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = s.opts.fs.MkdirAll(in.dir, 0o755)
	}
	if err == nil {
		err = in.readAll(bufio.NewReader(from))
	}

	if in.file != nil {
		err = errors.Join(err, in.file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot receive chain %d: %w", chain, err), in.Close())
	}
	return in, nil
}

// incomingName begins the names of the directories of imports.
const incomingName = "incoming-"

// removeIncoming removes the imports that an earlier process did not end. Nothing needs
// them, so a failure only leaves less space.
func (s *Store) removeIncoming() {
	names, err := s.opts.fs.List(s.dir)
	for _, name := range names {
		if strings.HasPrefix(name, incomingName) {
			err = errors.Join(err, s.opts.fs.RemoveAll(s.opts.fs.PathJoin(s.dir, name)))
		}
	}
	if err != nil {
		s.opts.Logger.Error("cannot remove what is left of imports", "store", s.dir, "error", err)
	}
}

func (in *Incoming) readAll(from *bufio.Reader) error {
	prefix := appendChain(nil, in.chain)
	key, last, value := bytes.Clone(prefix), []byte{}, bytes.Buffer{}
	for {
		n, err := binary.ReadUvarint(from)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case n == 0 || n > maxKeyLen:
			return fmt.Errorf("a key has %d bytes; want 1 to %d", n, maxKeyLen)
		}

		key = append(key[:len(prefix)], make([]byte, n)...)
		if _, err := io.ReadFull(from, key[len(prefix):]); err != nil {
			return unended(err)
		}
		if bytes.Compare(key, last) <= 0 || key[len(prefix)] == 0xff {
			return fmt.Errorf("the key %x does not follow %x", key, last)
		}
		last = append(last[:0], key...)
		if err := readValue(from, &value); err != nil {
			return err
		}
		if err := in.add(key, value.Bytes()); err != nil {
			return err
		}
	}
}

// readValue reads a value with its length. Memory grows with what there is, not with
// what the length says.
func readValue(from *bufio.Reader, value *bytes.Buffer) error {
	n, err := binary.ReadUvarint(from)
	if err != nil {
		return unended(err)
	}
	if n > maxValue {
		return fmt.Errorf("a value has %d bytes; at most %d are allowed", n, maxValue)
	}
	value.Reset()
	_, err = io.CopyN(value, from, int64(n))
	return unended(err)
}

// unended is the error of an end within a record.
func unended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// add adds a key to the present table, or to the next one.
func (in *Incoming) add(key, value []byte) error {
	if in.file != nil && in.written > incomingTable {
		err := in.file.Close()
		in.file = nil
		if err != nil {
			return err
		}
	}
	if in.file == nil {
		if err := in.s.checkWritable(); err != nil {
			return err
		}
		if err := in.nextTable(); err != nil {
			return err
		}
	}

	in.written += len(key) + len(value)
	return in.file.Set(key, value)
}

func (in *Incoming) nextTable() error {
	fsys := in.options.FS // with pauses
	path := fsys.PathJoin(in.dir, fmt.Sprintf("%06d.sst", len(in.paths)))
	f, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	in.file = sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		in.options.MakeWriterOptions(0, in.s.db.TableFormat()))
	in.written = 0
	in.paths = append(in.paths, path)
	return nil
}

// Install replaces all that the store has of the chain by the import. A State that was
// restored from it may only be read afterwards if it is warm. If the process ends
// meanwhile, the chain is empty.
func (in *Incoming) Install() error {
	if err := in.s.ForgetChain(in.chain); err != nil {
		return err
	}
	w := in.s.writerOf(in.chain)
	w.mu.Lock()
	defer w.mu.Unlock()

	err := in.s.db.Ingest(context.Background(), in.paths)
	w.known, w.state = false, nil
	if err == nil {
		err = in.s.acknowledgeFollowed(w)
	}
	if err != nil {
		return fmt.Errorf("cannot install chain %d: %w", in.chain, err)
	}
	return nil
}

// Close removes what was not installed.
func (in *Incoming) Close() error {
	err := in.s.opts.fs.RemoveAll(in.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", in.dir, err)
	}
	return nil
}
