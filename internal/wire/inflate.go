package wire

import (
	"bytes"
	"compress/gzip"
	"io"
)

// Inflate returns at most limit bytes of what a gzip stream holds that begins
// with prefix. The stream may break off anywhere; what was read until then is
// returned. Input that is not gzip yields nothing.
func Inflate(prefix []byte, limit int) []byte {
	z, err := gzip.NewReader(bytes.NewReader(prefix))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, int64(limit)))
	return out
}
