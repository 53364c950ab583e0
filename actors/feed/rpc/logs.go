package rpc

import (
	"fmt"

	"tidemark/actors/feed/endpoint"
)

// maxLogs is where nodes begin to cut an answer, some without saying so.
const maxLogs = 10_000

// maxTopics is how many a log can have; one more is kept to be refused.
const maxTopics = 4

// logReader reads the answer to eth_getLogs for the blocks from..to one log at a
// time: an answer of 10,000 logs is 10 MB, what is kept of it a third.
type logReader struct {
	assembly
	feed  *Feed
	none  bool  // the answer was null
	wrong error // the first thing that is wrong with the answer
	log   logBuffer
}

// ReadJSON implements endpoint.Stream.
func (r *logReader) ReadJSON(from *endpoint.Reader) error {
	r.blocks, r.logs, r.wrong = nil, 0, nil
	first := from.Next()
	r.none = first == 'n'
	if first != '[' {
		if !r.none {
			r.wrong = fmt.Errorf("the answer begins with %q; want an array of logs", first)
		}
		return from.Skip()
	}
	return from.Elements(func() error { return r.readNext(from) })
}

// readNext reads one log. After the first that is wrong, and where there are too
// many, the rest is skipped.
func (r *logReader) readNext(from *endpoint.Reader) error {
	if r.wrong != nil || r.isCut() {
		r.logs++
		return from.Skip()
	}

	wrong, err := r.log.read(from)
	if err != nil {
		return err
	}
	if r.wrong = wrong; wrong == nil {
		r.wrong = r.feed.assemble(&r.assembly, &r.log.wireLog)
	}
	if r.wrong != nil || r.isCut() {
		r.blocks = nil
	}
	return from.Keep(logBytes)
}

// isCut reports whether nodes may have cut the answer. One block cannot be asked
// for in parts.
func (r *logReader) isCut() bool { return r.logs >= maxLogs && r.from < r.to }

// logBuffer is a log with the room for its fields, which the next one uses again.
type logBuffer struct {
	wireLog
	block, time, txIndex, logIndex quantity
	hash, txHash                   word
}

// read reads the next value as a log. What is wrong with it does not keep the
// reader from going on.
func (b *logBuffer) read(from *endpoint.Reader) (wrong, err error) {
	b.wireLog = wireLog{Topics: b.Topics[:0], Data: b.Data[:0]}
	if c := from.Next(); c != '{' {
		return fmt.Errorf("a log begins with %q; want an object", c), from.Skip()
	}

	err = from.Fields(func(name []byte) error {
		if field := fieldOf(name); field != topicsField {
			return b.readField(from, field, &wrong)
		}
		return b.readTopics(from, &wrong)
	})
	return wrong, err
}

// logField is a field of a log that is read.
type logField uint8

const (
	otherField logField = iota
	addressField
	topicsField
	dataField
	blockField
	hashField
	timeField
	txHashField
	txIndexField
	logIndexField
	removedField
)

func fieldOf(name []byte) logField {
	switch string(name) {
	case "address":
		return addressField
	case "topics":
		return topicsField
	case "data":
		return dataField
	case "blockNumber":
		return blockField
	case "blockHash":
		return hashField
	case "blockTimestamp":
		return timeField
	case "transactionHash":
		return txHashField
	case "transactionIndex":
		return txIndexField
	case "logIndex":
		return logIndexField
	case "removed":
		return removedField
	}
	return otherField
}

func (b *logBuffer) readField(from *endpoint.Reader, field logField, wrong *error) error {
	if field == otherField {
		return from.Skip()
	}
	v, err := from.Value()
	if err != nil || v[0] == 'n' {
		return err
	}

	switch field {
	case addressField:
		err = b.Address.UnmarshalJSON(v)
	case dataField:
		err = b.Data.UnmarshalJSON(v)
	case blockField:
		b.Block, err = &b.block, b.block.UnmarshalJSON(v)
	case hashField:
		b.Hash, err = &b.hash, b.hash.UnmarshalJSON(v)
	case timeField:
		b.Time, err = &b.time, b.time.UnmarshalJSON(v)
	case txHashField:
		b.TxHash, err = &b.txHash, b.txHash.UnmarshalJSON(v)
	case txIndexField:
		b.TxIndex, err = &b.txIndex, b.txIndex.UnmarshalJSON(v)
	case logIndexField:
		b.LogIndex, err = &b.logIndex, b.logIndex.UnmarshalJSON(v)
	case removedField:
		b.Removed = v[0] != 'f'
	}
	if *wrong == nil && err != nil {
		*wrong = fmt.Errorf("a log's field: %w", err)
	}
	return nil
}

func (b *logBuffer) readTopics(from *endpoint.Reader, wrong *error) error {
	if c := from.Next(); c != '[' {
		if *wrong == nil && c != 'n' {
			*wrong = fmt.Errorf("the topics of a log begin with %q; want an array", c)
		}
		return from.Skip()
	}

	return from.Elements(func() error {
		v, err := from.Value()
		if err != nil {
			return err
		}
		var t word
		if err := t.UnmarshalJSON(v); err != nil && *wrong == nil {
			*wrong = fmt.Errorf("a log's topic: %w", err)
		}
		if len(b.Topics) <= maxTopics {
			b.Topics = append(b.Topics, t)
		}
		return nil
	})
}
