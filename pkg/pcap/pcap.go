// Package pcap reads packet captures, pcap and pcapng, and formats each packet as a line like those of tcpdump(8).
// The packet in a Geneve or VXLAN tunnel follows the tunnel's header and OVN's option. It needs no system library.
package pcap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Magic is how many bytes [Is] needs.
const Magic = 4

// magics begin packet captures: pcapng, and pcap in either byte order with microseconds or nanoseconds.
var magics = [...]string{"\x0a\x0d\x0d\x0a", "\xa1\xb2\xc3\xd4", "\xd4\xc3\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x4d\x3c\xb2\xa1"}

// Is reports whether a file that begins so has packets.
func Is(begin []byte) bool {
	for _, m := range magics {
		if bytes.HasPrefix(begin, []byte(m)) {
			return true
		}
	}
	return false
}

// A Reader reads the packets of a file.
type Reader struct {
	source interface{ next() (record, error) }
}

// NewReader reads a file's header.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReader(r)
	begin, err := in.Peek(Magic)
	if err != nil {
		return nil, err
	}
	if !Is(begin) {
		return nil, fmt.Errorf("not a capture of packets: it begins with % x", begin)
	}
	if begin[0] == magics[0][0] {
		return &Reader{&sections{in: in}}, nil
	}
	old, err := newClassic(in)
	if err != nil {
		return nil, err
	}
	return &Reader{old}, nil
}

// Next returns the next packet as a line; io.EOF after the last. A truncated file ends with another error.
func (r *Reader) Next() (line string, err error) {
	p, err := r.source.next()
	if err != nil {
		return "", err
	}
	line = text(p)
	if !p.at.IsZero() {
		line = p.at.UTC().Format("2006-01-02T15:04:05.000000Z") + " " + line
	}
	return line, nil
}
