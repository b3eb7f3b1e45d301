package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"
)

// mostPacket is the most bytes of one packet that a program captures, in libpcap, and mostBlock what is read of a pcapng block
// with a packet and its options.
const (
	mostPacket = 256 << 10
	mostBlock  = mostPacket + 64<<10
)

// A record is a packet as a file has it.
type record struct {
	at     time.Time // zero if the file does not say
	link   uint16    // LINKTYPE_
	length uint32    // on the wire
	data   []byte    // until the next record is read
}

// errCut says that a file ends inside a packet.
var errCut = errors.New("the file is cut short")

func damaged(format string, args ...any) error {
	return fmt.Errorf("damaged from here on: "+format, args...)
}

// readFull fills b. The end of the file inside b, or before it if more is due, is errCut.
func readFull(r io.Reader, b []byte, due bool) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || due && errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}

// A classic is a file of tcpdump(8): a header, and records one after the other.
type classic struct {
	in    *bufio.Reader
	order binary.ByteOrder
	link  uint16
	tick  time.Duration // of the second number of a time
	data  []byte
}

func newClassic(in *bufio.Reader) (*classic, error) {
	var head [24]byte
	if err := readFull(in, head[:], true); err != nil {
		return nil, err
	}
	c := &classic{in: in, order: binary.LittleEndian, tick: time.Microsecond}
	if head[0] == 0xa1 {
		c.order = binary.BigEndian
	}
	if c.order.Uint32(head[:]) == 0xa1b23c4d {
		c.tick = time.Nanosecond
	}
	c.link = uint16(c.order.Uint32(head[20:])) // above it are flags
	return c, nil
}

func (c *classic) next() (record, error) {
	var head [16]byte
	if err := readFull(c.in, head[:], false); err != nil {
		return record{}, err
	}
	size := c.order.Uint32(head[8:])
	if size > mostPacket {
		return record{}, damaged("a packet of %d bytes", size)
	}
	c.data = resized(c.data, size)
	return record{
		at:     time.Unix(int64(c.order.Uint32(head[:])), int64(c.order.Uint32(head[4:]))*int64(c.tick)),
		link:   c.link,
		length: c.order.Uint32(head[12:]),
		data:   c.data,
	}, readFull(c.in, c.data, true)
}

// resized returns a slice of n bytes, b if it is large enough.
func resized(b []byte, n uint32) []byte {
	if uint32(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// The types of pcapng blocks that are read; others are passed over.
const (
	blockInterface = 1
	blockOldPacket = 2
	blockSimple    = 3
	blockPacket    = 6
	blockSection   = 0x0a0d0d0a
)

// A sections is a pcapng file: sections, each with a byte order and interfaces of its own.
type sections struct {
	in    *bufio.Reader
	order binary.ByteOrder
	links []link
	data  []byte
}

// A link is an interface that was captured on.
type link struct {
	kind   uint16
	most   uint32 // bytes of a packet that were captured; 0 means all
	ticks  uint64 // a second
	offset int64  // seconds
}

func (s *sections) next() (record, error) {
	for {
		var head [12]byte
		if err := readFull(s.in, head[:8], false); err != nil {
			return record{}, err
		}
		kind := binary.LittleEndian.Uint32(head[:])
		if kind == blockSection { // the same in both byte orders
			if err := readFull(s.in, head[8:], true); err != nil {
				return record{}, err
			}
			if err := s.begin(head); err != nil {
				return record{}, err
			}
			continue
		}
		if s.order == nil {
			return record{}, damaged("no section")
		}
		kind = s.order.Uint32(head[:])
		size := s.order.Uint32(head[4:])
		if size < 12 || size%4 != 0 {
			return record{}, damaged("a block of %d bytes", size)
		}
		var read func([]byte) (record, error)
		switch kind {
		case blockInterface:
			if err := s.body(size - 8); err != nil {
				return record{}, err
			}
			if err := s.addLink(s.data); err != nil {
				return record{}, err
			}
			continue
		case blockOldPacket:
			read = s.oldPacket
		case blockSimple:
			read = s.simple
		case blockPacket:
			read = s.packet
		default:
			if err := s.skip(size - 8); err != nil {
				return record{}, err
			}
			continue
		}
		if err := s.body(size - 8); err != nil {
			return record{}, err
		}
		return read(s.data)
	}
}

// begin starts a section.
func (s *sections) begin(head [12]byte) error {
	switch {
	case binary.LittleEndian.Uint32(head[8:]) == 0x1a2b3c4d:
		s.order = binary.LittleEndian
	case binary.BigEndian.Uint32(head[8:]) == 0x1a2b3c4d:
		s.order = binary.BigEndian
	default:
		return damaged("a section in no known byte order")
	}
	s.links = nil
	size := s.order.Uint32(head[4:])
	if size < 28 || size%4 != 0 {
		return damaged("a section header of %d bytes", size)
	}
	return s.skip(size - 12)
}

func (s *sections) skip(n uint32) error {
	_, err := io.CopyN(io.Discard, s.in, int64(n))
	if errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}

// body reads what remains of a block, and drops the length at its end.
func (s *sections) body(n uint32) error {
	if n > mostBlock {
		return damaged("a block of %d bytes", n)
	}
	s.data = resized(s.data, n)
	if err := readFull(s.in, s.data, true); err != nil {
		return err
	}
	s.data = s.data[:n-4]
	return nil
}

// mostLinks is how many interfaces of a section are remembered.
const mostLinks = 1 << 16

// Options of an interface.
const (
	optionResolution = 9
	optionOffset     = 14
)

func (s *sections) addLink(b []byte) error {
	if len(b) < 8 || len(s.links) == mostLinks {
		return damaged("an interface of %d bytes", len(b))
	}
	l := link{kind: s.order.Uint16(b), most: s.order.Uint32(b[4:]), ticks: 1e6}
	for b = b[8:]; len(b) >= 4; {
		kind, size := s.order.Uint16(b), int(s.order.Uint16(b[2:]))
		b = b[4:]
		if size > len(b) {
			return damaged("an option of %d bytes", size)
		}
		switch value := b[:size]; {
		case kind == optionResolution && size == 1:
			if l.ticks = ticks(value[0]); l.ticks == 0 {
				return damaged("times of resolution %d", value[0])
			}
		case kind == optionOffset && size == 8:
			l.offset = int64(s.order.Uint64(value))
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	s.links = append(s.links, l)
	return nil
}

// ticks returns how many a second has: a power of ten, or of two with the highest bit; 0 if out of range.
func ticks(resolution byte) uint64 {
	base, n := uint64(10), resolution&0x7f
	if resolution&0x80 != 0 {
		base = 2
	}
	t := uint64(1)
	for range n {
		if t > math.MaxUint64/base {
			return 0
		}
		t *= base
	}
	return t
}

// at returns the time that is so many ticks after the epoch.
func (l link) at(n uint64) time.Time {
	high, low := bits.Mul64(n%l.ticks, uint64(time.Second))
	nanoseconds, _ := bits.Div64(high, low, l.ticks)
	return time.Unix(int64(n/l.ticks)+l.offset, int64(nanoseconds))
}

// packet reads a block: interface, time, sizes, data.
func (s *sections) packet(b []byte) (record, error) {
	if len(b) < 20 {
		return record{}, damaged("a block of %d bytes", len(b))
	}
	return s.record(s.order.Uint32(b), b[4:])
}

// oldPacket reads a block of old programs, with 16 bits for the interface.
func (s *sections) oldPacket(b []byte) (record, error) {
	if len(b) < 20 {
		return record{}, damaged("a block of %d bytes", len(b))
	}
	return s.record(uint32(s.order.Uint16(b)), b[4:])
}

func (s *sections) record(on uint32, b []byte) (record, error) {
	if uint64(on) >= uint64(len(s.links)) {
		return record{}, damaged("a packet of interface %d, of %d", on, len(s.links))
	}
	l, size := s.links[on], s.order.Uint32(b[8:])
	if uint64(size) > uint64(len(b)-16) {
		return record{}, damaged("a packet of %d bytes", size)
	}
	return record{
		at:     l.at(uint64(s.order.Uint32(b))<<32 | uint64(s.order.Uint32(b[4:]))),
		link:   l.kind,
		length: s.order.Uint32(b[12:]),
		data:   b[16:][:size],
	}, nil
}

// simple reads a block without a time, of the first interface.
func (s *sections) simple(b []byte) (record, error) {
	if len(b) < 4 || len(s.links) == 0 {
		return record{}, damaged("a packet without an interface")
	}
	length := s.order.Uint32(b)
	size := min(uint64(length), uint64(len(b)-4))
	if most := s.links[0].most; most > 0 {
		size = min(size, uint64(most))
	}
	return record{link: s.links[0].kind, length: length, data: b[4:][:size]}, nil
}
