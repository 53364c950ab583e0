package rpc

import (
	"fmt"

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
func (r *gasReader) ReadJSON(from *endpoint.Reader) error {
	first := from.Next()
	*r = gasReader{found: first != 'n'}
	if first != '{' {
		if r.found {
			r.wrong = fmt.Errorf("a receipt begins with %q; want an object", first)
		}
		return from.Skip()
	}
	return from.Fields(func(name []byte) error { return r.readField(from, gasFieldOf(name)) })
}

// gasField is a field of a receipt that is read.
type gasField string

const (
	otherGasField gasField = ""
	txField       gasField = "transactionHash"
	inBlockField  gasField = "blockHash"
	gasUsedField  gasField = "gasUsed"
	gasPriceField gasField = "effectiveGasPrice"
)

func gasFieldOf(name []byte) gasField {
	for _, f := range [...]gasField{txField, inBlockField, gasUsedField, gasPriceField} {
		if string(name) == string(f) {
			return f
		}
	}
	return otherGasField
}

// readField reads a field.
func (r *gasReader) readField(from *endpoint.Reader, field gasField) error {
	if field == otherGasField {
		return from.Skip()
	}
	v, err := from.Value()
	if err != nil || v[0] == 'n' {
		return err
	}

	switch field {
	case txField:
		err = r.TxHash.UnmarshalJSON(v)
	case inBlockField:
		r.Block, err = &r.block, r.block.UnmarshalJSON(v)
	case gasUsedField:
		r.GasUsed, err = &r.used, r.used.UnmarshalJSON(v)
	case gasPriceField:
		r.GasPrice, err = &r.price, r.price.UnmarshalJSON(v)
	}
	if r.wrong == nil && err != nil {
		r.wrong = fmt.Errorf("a receipt's %s: %w", field, err)
	}
	return nil
}
