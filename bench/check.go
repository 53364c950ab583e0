package bench

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/edge/consistency"
)

// checkAnswer looks at one answer, which may be packed.
func checkAnswer(status int, target string, body []byte) error {
	plain, err := unpack(body)
	if err != nil {
		return fmt.Errorf("a packed body cannot be read: %w", err)
	}
	return consistency.CheckAnswer(status, target, plain)
}

var zstdReader, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)) // fails for bad options alone

// unpack returns a body without its coding, of which the first bytes tell.
func unpack(body []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(body, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstdReader.DecodeAll(body, nil)
	}
	return body, nil
}

// isFree reports whether an answer says that it is not whole: such ones cost nothing.
func isFree(body []byte) bool {
	return bytes.Contains(body, []byte(`"transactionsDegraded":true`)) ||
		bytes.Contains(body, []byte(`"partial":true`))
}
