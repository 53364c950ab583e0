package rpc

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/actors/feed/endpoint"
)

// gasReader reads what a receipt says of its transaction's gas. Its logs and bloom
// filter, most of its bytes, are skipped.
type gasReader struct {
	wireReceipt
	found bool  // the answer was not null
	wrong error // the first field that cannot be read

	used  quantity
	price wide
	block word
}

// ReadJSON implements endpoint.Stream.
func (r *gasReader) ReadJSON(dec *jsontext.Decoder) error {
	*r = gasReader{found: dec.PeekKind() != 'n'}
	if kind := dec.PeekKind(); kind != '{' {
		if r.found {
			r.wrong = fmt.Errorf("a receipt is a %s; want an object", kind)
		}
		return dec.SkipValue()
	}

	return endpoint.ReadEach(dec, func() error {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		return r.readField(dec, name.String())
	})
}

// readField reads a field. Values that are not wanted are read whole too, which costs
// less than to skip them token by token.
func (r *gasReader) readField(dec *jsontext.Decoder, name string) error {
	v, err := dec.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return err
	}

	switch name {
	case "transactionHash":
		err = r.TxHash.UnmarshalJSON(v)
	case "blockHash":
		r.Block, err = &r.block, r.block.UnmarshalJSON(v)
	case "gasUsed":
		r.GasUsed, err = &r.used, r.used.UnmarshalJSON(v)
	case "effectiveGasPrice":
		r.GasPrice, err = &r.price, r.price.UnmarshalJSON(v)
	}
	if r.wrong == nil && err != nil {
		r.wrong = fmt.Errorf("a receipt's %s: %w", name, err)
	}
	return nil
}
