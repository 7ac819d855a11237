// Package blobs packs the contents of blobs for the database and unpacks them.
package blobs

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"hecate/domain/event"
	"hecate/eventstore"
)

// Codecs, as numbers in the database.
const (
	codecRaw  = 0
	codecZstd = 1
)

// packMin is the size in bytes below which packing does not pay.
const packMin = 1 << 10

// Packed is a blob as the database keeps it.
type Packed struct {
	event.Blob
	Codec int
	Bytes []byte // the content under the codec
}

var encoder = sync.OnceValue(func() *zstd.Encoder {
	// No options that can fail, so no error. One worker: callers are many already.
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*eventstore.BlobMax))
	return d
})

// Pack compresses the content where that makes it smaller.
func Pack(b event.Blob) Packed {
	if len(b.Content) >= packMin {
		if z := encoder().EncodeAll(b.Content, nil); len(z) < len(b.Content) {
			return Packed{Blob: b, Codec: codecZstd, Bytes: z}
		}
	}
	return Packed{Blob: b, Codec: codecRaw, Bytes: b.Content}
}

// Unpack returns the content that was packed under digest. It returns an error
// that wraps eventstore.ErrTampered if the stored bytes are not those.
func Unpack(digest string, salt, packed []byte, codec int) ([]byte, error) {
	content := packed
	if codec == codecZstd {
		var err error
		if content, err = decoder().DecodeAll(packed, nil); err != nil {
			return nil, fmt.Errorf("%w: unpack blob %s: %w", eventstore.ErrTampered, digest, err)
		}
	}
	var s [16]byte
	if copy(s[:], salt) != len(s) || event.BlobDigest(s, content) != digest {
		return nil, fmt.Errorf("%w: blob %s does not match its digest", eventstore.ErrTampered, digest)
	}
	return content, nil
}
