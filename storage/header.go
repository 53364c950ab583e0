package storage

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// header is what no chain owns: the format, the identity and the chains that are
// offline. It is kept in memory, so that it can be read whatever happens to the disk,
// and twice on the disk: under its keys, and in the file HEADER in the directory of
// the store. Where the keys cannot be read, or the whole database, the file replaces
// them: a market that is built again is the same market, and a chain that was offline
// stays so.
//
// The file is JSON in one line, and the CRC-32C of that line.
type header struct {
	Format   int
	Update   uint64 // number of changes so far; at least 1
	Identity []Pair // by name
	Offline  []market.ChainID
	// Excised is only in the file: the keys are being removed, and written again from it. If
	// they are not there at the next start, no commit of them was lost.
	Excised bool `json:",omitempty"`
}

// headerName is the name of the file.
const headerName = "HEADER"

// maxHeaderFile is far more than the identity of hundreds of chains takes.
const maxHeaderFile = 1 << 20

// openHeader reads what chains share. It refuses a store in another format, and makes
// a new store one of this format.
func (s *Store) openHeader() error {
	stored, err := s.readHeaderKeys()
	if err != nil && !isDamage(err) {
		return fmt.Errorf("cannot read format of store %s: %w", s.dir, err)
	}
	damage := err
	copied, err := s.readHeaderFile()
	if err != nil {
		return err
	}

	if err := s.chooseHeader(&stored, copied, damage); err != nil {
		return err
	}
	if err := s.checkFormat(); err != nil {
		return err
	}

	s.headerDamage = damage
	if s.opts.ReadOnly {
		return nil
	}
	return s.repairHeader(&stored, copied)
}

// chooseHeader takes what the keys have, or where they are damaged or have lost a commit,
// what the file has. copied is nil if there is no file.
func (s *Store) chooseHeader(stored, copied *header, damage error) error {
	if damage == nil && copied != nil && stored.Format == 0 && !copied.Excised {
		if empty, err := s.isEmpty(); err != nil || !empty {
			return fmt.Errorf("cannot open store %s: %w: its first commits are missing", s.dir,
				errors.Join(ErrDamaged, err))
		}
	}
	switch {
	case damage != nil && copied == nil:
		return fmt.Errorf("cannot read format of store %s: %w", s.dir, asStoreDamage(damage))
	case damage != nil, copied != nil && copied.Update > stored.Update:
		s.header = *copied
	default:
		s.header = *stored
	}
	return nil
}

// repairHeader brings the keys and the file to what was chosen, in the present format.
func (s *Store) repairHeader(stored, copied *header) error {
	damaged := s.headerDamage != nil
	if damaged {
		s.opts.Logger.Error("the records that chains share are damaged and are written again",
			"error", s.headerDamage)
		if _, err := s.excise(0); err != nil {
			return err
		}
	}

	if s.header.Format != Format {
		s.header.Format = Format
		s.header.Update++
	}
	if damaged || !sameHeader(&s.header, stored) {
		return s.writeHeader()
	}
	if copied == nil || !sameHeader(&s.header, copied) {
		return s.writeHeaderFile()
	}
	return nil
}

// refuseNewer refuses a store whose file names a later format than this program's, before
// Pebble opens its database: what Pebble does then, such as reading its log into tables,
// is for the program that knows the format.
func (s *Store) refuseNewer() error {
	copied, err := s.readHeaderFile()
	if err != nil || copied == nil || copied.Format <= Format {
		return nil // openHeader has the keys too
	}
	return s.errFormat(copied.Format)
}

func sameHeader(a, b *header) bool {
	return a.Format == b.Format && a.Update == b.Update && a.Excised == b.Excised &&
		slices.Equal(a.Identity, b.Identity) && slices.Equal(a.Offline, b.Offline)
}

// readHeaderKeys reads the keys. The format is 0 if there is none.
func (s *Store) readHeaderKeys() (c header, err error) {
	it := database.Iterate(s.db, headerPrefix, headerEnd)
	defer func() { err = errors.Join(err, it.Close()) }()

	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = c.readKey(it.Key(), value)
		}
		if err != nil {
			return c, err
		}
	}
	return c, it.Error()
}

// readKey reads a key of what chains share. It takes keys that it does not know to
// be those of a later format.
func (c *header) readKey(key, value []byte) (err error) {
	name, isIdentity := bytes.CutPrefix(key, identityPrefix)
	encoded, isOffline := bytes.CutPrefix(key, offlinePrefix)

	switch {
	case isIdentity:
		c.Identity = append(c.Identity, Pair{Name: string(name), Value: string(value)})
	case isOffline:
		if chain, _, ok := parseChain(append(encoded, 0)); ok {
			c.Offline = append(c.Offline, chain)
		}
	case string(key) == string(updateKey):
		if len(value) == 8 {
			c.Update = binary.BigEndian.Uint64(value)
		}
	case string(key) == string(formatKey):
		if c.Format, err = strconv.Atoi(string(value)); err != nil || c.Format < 1 {
			return fmt.Errorf("%w %.20q; this program reads %d to %d", ErrFormat, value, OldestFormat, Format)
		}
	}
	return nil
}

// writeHeader writes the keys, then the file. The file is never ahead of the keys,
// unless a commit of them was lost.
func (s *Store) writeHeader() error {
	b := s.db.NewBatch()
	defer b.Close()

	c := &s.header
	must(b.DeleteRange(headerPrefix, headerEnd, nil))
	must(b.Set(formatKey, strconv.AppendInt(nil, int64(c.Format), 10), nil))
	must(b.Set(updateKey, binary.BigEndian.AppendUint64(nil, c.Update), nil))
	for _, p := range c.Identity {
		must(b.Set(appendIdentityKey(nil, p.Name), []byte(p.Value), nil))
	}
	for _, chain := range c.Offline {
		must(b.Set(appendOffline(nil, chain), nil, nil))
	}

	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("cannot write what chains share to store %s: %w", s.dir, err)
	}
	c.Excised = false
	return s.writeHeaderFile()
}

// updateHeader changes what chains share.
func (s *Store) updateHeader(change func(*header)) error {
	if err := s.checkWritable(); err != nil {
		return err
	}
	s.headerMu.Lock()
	defer s.headerMu.Unlock()
	next := s.header
	change(&next)
	next.Update++

	was := s.header
	s.header = next
	if err := s.writeHeader(); err != nil {
		s.header = was
		return err
	}
	return nil
}

func (s *Store) headerPath() string { return s.fs.PathJoin(s.dir, headerName) }

func (s *Store) writeHeaderFile() error {
	line, err := json.Marshal(&s.header)
	must(err)
	content := fmt.Appendf(line, "\n%08x\n", crc32.Checksum(line, castagnoli))
	return database.ReplaceFile(s.fs, s.headerPath(), content)
}

// readHeaderFile returns nil if there is no file or it is damaged.
func (s *Store) readHeaderFile() (*header, error) {
	f, err := s.fs.Open(s.headerPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", s.headerPath(), err)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxHeaderFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", s.headerPath(), err)
	}

	line, sum, _ := bytes.Cut(content, []byte("\n"))
	c := new(header)
	if fmt.Sprintf("%08x\n", crc32.Checksum(line, castagnoli)) != string(sum) ||
		json.Unmarshal(line, c) != nil {
		return nil, nil
	}
	return c, nil
}
