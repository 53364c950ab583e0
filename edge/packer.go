package edge

import (
	"sync/atomic"
	"time"

	"tidemark/edge/pages"
)

// packer is a long answer that may be compressed. Every Flush sends all that was
// written before it as bytes that a client can unpack at once.
//
// Bytes are compressed only when they are to be sent: what an answer that has to end
// drops was never part of the compressed body, so that its last words can be read.
type packer struct {
	*longWriter
	coding  pages.Coding
	encoder pages.Encoder // nil: bytes are sent as they are
	raw     []byte        // not compressed yet
}

// packers counts the encoders of a server's answers.
type packers struct{ open atomic.Int64 }

// choose returns the coding of a long answer to a client that asked for one. With
// maxPackers open it is sent as it is, which every client accepts.
func (p *packers) choose(headers [][]byte) pages.Coding {
	how := chooseCoding(headers)
	if how != pages.Identity && p.open.Add(1) > maxPackers {
		p.open.Add(-1)
		return pages.Identity
	}
	return how
}

// pack begins the body of an answer in a coding that choose returned.
func (p *packers) pack(w *longWriter, how pages.Coding) *packer {
	out := &packer{longWriter: w, coding: how}
	if how != pages.Identity {
		w.step = longFlush
		out.encoder = pages.OpenEncoder(how, collector{w})
		out.raw = make([]byte, 0, longFlush+rowRoom)
	}
	return out
}

// close gives the encoder back.
func (p *packers) close(out *packer) {
	if out.encoder != nil {
		pages.CloseEncoder(out.coding, out.encoder)
		p.open.Add(-1)
	}
}

// collector takes what an encoder writes into the buffer of a longWriter.
type collector struct{ *longWriter }

func (c collector) Write(p []byte) (int, error) {
	c.collect(p)
	return len(p), nil
}

// AvailableBuffer, Write, Flush and End are those of a longWriter.
func (p *packer) AvailableBuffer() []byte {
	if p.encoder == nil {
		return p.longWriter.AvailableBuffer()
	}
	return p.raw[len(p.raw):]
}

func (p *packer) Write(b []byte) (int, error) {
	if p.encoder == nil {
		return p.longWriter.Write(b)
	}
	if p.raw = append(p.raw, b...); len(p.raw) < longFlush {
		return len(b), nil
	}
	return len(b), p.Flush()
}

func (p *packer) Flush() error {
	if p.encoder == nil || len(p.raw) == 0 {
		return p.longWriter.Flush()
	}

	p.check(time.Now())
	if err := p.Reason(); err != nil {
		p.raw = p.raw[:0]
		return err
	}

	// The collector takes all, so that an encoder cannot fail.
	_, _ = p.encoder.Write(p.raw)
	_ = p.encoder.Flush()
	p.raw = p.raw[:0]
	return p.send("")
}

func (p *packer) End(last []byte, trailer string) error {
	if p.encoder == nil {
		return p.longWriter.End(last, trailer)
	}
	_, _ = p.encoder.Write(append(p.raw, last...))
	_ = p.encoder.Close()
	return p.longWriter.End(nil, trailer)
}
