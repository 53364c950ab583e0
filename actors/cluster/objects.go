package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/rankings/market"
	"tidemark/storage"
)

// Snapshots are objects in a JetStream object store, in the form that its clients know: a
// subject with the chunks of an object, and one with what it is. Chunks are stored one
// after the other, each with an acknowledgement, and what it is comes last. So a snapshot
// whose writer ended is not there, and one that is being stored takes little memory.
const (
	snapshotsBucket = "TIDEMARK_SNAPSHOTS"
	snapshotsStream = "OBJ_" + snapshotsBucket
	chunkSubjects   = "$O." + snapshotsBucket + ".C."
	infoSubjects    = "$O." + snapshotsBucket + ".M."
)

// Snapshot is a snapshot of a chain in the object store.
type Snapshot struct {
	Place    Place
	Format   int
	Bytes    uint64
	Unpacked uint64
	Made     time.Time // by this node's clock
	Node     string    // that made it
	SHA256   string

	whole  bool // all of its chunks are there
	nuid   string
	name   string
	chunks uint32
}

// Names of the metadata of an object.
const (
	metaPlace, metaFormat, metaUnpacked, metaNode = "place", "format", "unpacked", "node"
)

func (c *Cluster) openObjects(ctx context.Context) (err error) {
	if c.objects, err = c.js.Stream(ctx, snapshotsStream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = c.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: snapshotsBucket, Description: "snapshots of chains of tidemark nodes",
		Storage: jetstream.FileStorage, Replicas: c.copies(),
	})
	if err == nil {
		c.objects, err = c.js.Stream(ctx, snapshotsStream)
	}
	return err
}

// PutSnapshot stores a snapshot of the chain as it was after the cut of a stored place.
// export writes what the store has.
func (ch *Chain) PutSnapshot(ctx context.Context, stored []byte, export func(io.Writer) error) (*Snapshot, error) {
	at, err := DecodePlace(stored)
	if err != nil {
		return nil, err
	}

	started := time.Now()
	info := jetstream.ObjectInfo{Bucket: snapshotsBucket, NUID: rand.Text()}
	info.Name = fmt.Sprintf("%d.%d.%x", ch.id, at.Number, at.Hash[:8])
	info.Opts = &jetstream.ObjectMetaOptions{ChunkSize: PartBytes}
	chunks := &chunkWriter{ctx: ctx, c: ch.c, nuid: info.NUID, sum: sha256.New()}
	buffer := bufio.NewWriterSize(chunks, PartBytes)

	w, err := newSnapshotWriter(buffer, ch.id, at)
	if err == nil {
		err = export(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		info.Size, info.Chunks = w.bytes, chunks.count
		info.Digest = "SHA-256=" + base64.URLEncoding.EncodeToString(chunks.sum.Sum(nil))
		info.Metadata = map[string]string{
			metaPlace: hex.EncodeToString(at.Encode()), metaFormat: strconv.Itoa(storage.Format),
			metaUnpacked: strconv.FormatUint(w.unpacked, 10), metaNode: ch.c.cfg.Name,
		}
		err = ch.c.putInfo(ctx, &info)
	}
	if err != nil {
		ch.c.forgetChunks(ctx, info.NUID)
		return nil, fmt.Errorf("cannot store snapshot %s: %w", info.Name, err)
	}

	ch.metrics.snapshot.Update(time.Since(started).Seconds())
	info.ModTime = time.Now()
	s, err := decodeInfo(&info)
	if err == nil {
		ch.NoteSnapshot(s)
	}
	return s, err
}

// forgetChunks deletes what was stored of a snapshot that is given up, also by a node
// that stops. If that fails, another node does it later.
func (c *Cluster) forgetChunks(ctx context.Context, nuid string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	if err := c.purgeObjects(ctx, chunkSubjects+nuid); err != nil {
		c.cfg.Log.Warn("a part of a snapshot stays for now", "error", err)
	}
}

// infoSubject has what the object of a name is.
func infoSubject(name string) string {
	return infoSubjects + base64.URLEncoding.EncodeToString([]byte(name))
}

// putInfo stores what an object is. From then on it is there.
func (c *Cluster) putInfo(ctx context.Context, info *jetstream.ObjectInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}

	m := nats.NewMsg(infoSubject(info.Name))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.Data = data
	_, err = c.publish(ctx, m, jetstream.WithMsgID(info.NUID), jetstream.WithExpectStream(snapshotsStream))
	return err
}

// chunkWriter stores what is written to it, a chunk for each call.
type chunkWriter struct {
	ctx   context.Context
	c     *Cluster
	nuid  string
	sum   hash.Hash
	count uint32
}

func (w *chunkWriter) Write(chunk []byte) (int, error) {
	ctx, cancel := context.WithTimeout(w.ctx, appendTimeout)
	defer cancel()
	_, err := w.c.publish(ctx, &nats.Msg{Subject: chunkSubjects + w.nuid, Data: chunk},
		jetstream.WithMsgID(fmt.Sprintf("%s.%d", w.nuid, w.count)),
		jetstream.WithExpectStream(snapshotsStream))
	if err != nil {
		return 0, err
	}
	w.sum.Write(chunk)
	w.count++
	return len(chunk), nil
}

// Snapshots returns the snapshots of the chain, the newest first.
func (ch *Chain) Snapshots(ctx context.Context) ([]*Snapshot, error) {
	l, err := ch.c.listSnapshots(ctx)
	if err != nil {
		return nil, err
	}
	return l.all[ch.id], nil
}

// listing is what the object store has.
type listing struct {
	all map[market.ChainID][]*Snapshot // the newest first
	// chunks is how many every object has, by subject. Where a snapshot of another build
	// cannot be understood, it is nil: whose they are is not known.
	chunks map[string]uint64
	// at is the time of the servers, as that of every message is. The clock of this node
	// may differ from theirs, so it does not tell how old a message is.
	at time.Time
}

// listSnapshots lists the snapshots of every chain.
func (c *Cluster) listSnapshots(ctx context.Context) (*listing, error) {
	infos, _, err := c.objectSubjects(ctx, infoSubjects)
	if err != nil {
		return nil, err
	}
	chunks, at, err := c.objectSubjects(ctx, chunkSubjects)
	if err != nil {
		return nil, err
	}
	now := time.Now()

	all := make(map[market.ChainID][]*Snapshot)
	unknown := false
	for subject := range infos {
		id, s, err := c.readInfo(ctx, subject)
		switch {
		case errors.Is(err, ErrBroken):
			unknown = true
			c.cfg.Log.Warn("cannot understand a snapshot", "object", subject, "error", err)
		case errors.Is(err, jetstream.ErrMsgNotFound): // it was deleted meanwhile
		case err != nil:
			return nil, err
		default:
			s.Made = now.Add(s.Made.Sub(at))
			s.whole = chunks[chunkSubjects+s.nuid] == uint64(s.chunks)
			all[id] = append(all[id], s)
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b *Snapshot) int {
			return cmp.Or(cmp.Compare(b.Place.Number, a.Place.Number), b.Made.Compare(a.Made))
		})
	}
	if unknown {
		chunks = nil
	}
	return &listing{all, chunks, at}, nil
}

// objectSubjects counts the messages by subject. at is the time of the servers.
func (c *Cluster) objectSubjects(ctx context.Context, prefix string) (
	counts map[string]uint64, at time.Time, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info, err := c.objects.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, at, fmt.Errorf("cannot list the snapshots: %w", err)
	}
	return info.State.Subjects, info.TimeStamp, nil
}

func (c *Cluster) readInfo(ctx context.Context, subject string) (id market.ChainID, s *Snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	m, err := c.objects.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return 0, nil, err
	}

	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return 0, nil, broken("what an object is: %w", err)
	}
	if _, err := fmt.Sscanf(info.Name, "%d.", &id); err != nil {
		return 0, nil, broken("the object %q belongs to no chain", info.Name)
	}
	info.ModTime = m.Time
	s, err = decodeInfo(&info)
	return id, s, err
}

func decodeInfo(info *jetstream.ObjectInfo) (*Snapshot, error) {
	s := &Snapshot{
		Bytes: info.Size, Made: info.ModTime, Node: info.Metadata[metaNode],
		SHA256: info.Digest, nuid: info.NUID, name: info.Name, chunks: info.Chunks,
	}

	place, err := hex.DecodeString(info.Metadata[metaPlace])
	if err == nil {
		s.Place, err = DecodePlace(place)
	}
	if err == nil {
		s.Format, err = strconv.Atoi(info.Metadata[metaFormat])
	}
	if err == nil {
		s.Unpacked, err = strconv.ParseUint(info.Metadata[metaUnpacked], 10, 64)
	}
	if err != nil {
		return nil, broken("the object %s: %w", info.Name, err)
	}
	return s, nil
}

// OpenSnapshot returns the export in a snapshot. The reader ends with io.EOF only if the
// snapshot is whole, as it was stored, and followed by the stream's cuts.
func (ch *Chain) OpenSnapshot(ctx context.Context, s *Snapshot) (io.Reader, error) {
	if !s.whole {
		return nil, broken("the snapshot is cut off")
	}
	fits, err := ch.continues(ctx, s.Place)
	if err != nil {
		return nil, err
	}
	if !fits {
		return nil, broken("the stream does not continue the cut %d of the snapshot", s.Place.Number)
	}
	chunks := &chunkReader{ctx: ctx, c: ch.c, subject: chunkSubjects + s.nuid, count: s.chunks}
	return newSnapshotReader(chunks, ch.id, s.Place)
}

// continues reports whether the stream goes on from a place.
func (ch *Chain) continues(ctx context.Context, at Place) (bool, error) {
	m, err := ch.messageAfter(ctx, at.Sequence)
	if err != nil {
		return false, err
	}
	if m != nil {
		h, _, err := decodeHeader(m.Data)
		return err == nil && h.number == at.Number+1 && h.before == at.Hash, nil
	}

	// It is the last cut of the stream, or there has been none.
	if at.Sequence == 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if m, err = ch.c.stream.GetMsg(ctx, at.Sequence); errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h, _, err := decodeHeader(m.Data)
	return err == nil && m.Subject == ch.subject && h.hash == at.Hash, nil
}

// chunkReader reads the chunks of an object, one at a time.
type chunkReader struct {
	ctx         context.Context
	c           *Cluster
	subject     string
	read, count uint32
	last        uint64 // sequence
	left        []byte
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.read == r.count {
			return 0, io.EOF
		}
		m, err := r.c.messageOf(r.ctx, r.c.objects, r.subject, r.last)
		if err != nil {
			return 0, fmt.Errorf("cannot read part %d of a snapshot: %w", r.read, err)
		}
		if m == nil {
			return 0, io.ErrUnexpectedEOF
		}

		r.read, r.last, r.left = r.read+1, m.Sequence, m.Data
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}
