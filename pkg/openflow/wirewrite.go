package openflow

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// AppendWire appends actions in wire format, as OVN nests them in the userdata of controller actions, OpenFlow 1.5. It
// reports false if it knows no format for one of them.
func AppendWire(b []byte, actions Actions) ([]byte, bool) {
	for _, a := range actions {
		body, ok := wireBody(a)
		if !ok {
			return b, false
		}
		at := len(b)
		b = append(b, body...)
		for (len(b)-at)%8 != 0 {
			b = append(b, 0)
		}
		binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at))
	}
	return b, true
}

// wireBody is an action without its length and padding.
func wireBody(a Action) ([]byte, bool) {
	switch a := a.(type) {
	case SetField:
		return wireSetBody(a)
	case Move:
		src, ok1 := WireHeader(a.Src.Field, false)
		dst, ok2 := WireHeader(a.Dst.Field, false)
		b := wireStart(wireCopyField, uint16(a.Src.Bits), uint16(a.Src.Lo), uint16(a.Dst.Lo), 0)
		return append(append(b, src...), dst...), ok1 && ok2
	case Push:
		return wireStack(wirePush, a.Src)
	case Pop:
		return wireStack(wirePop, a.Dst)
	case Resubmit:
		port := uint16(packet.PortInPort)
		if a.Port != nil {
			port = uint16(a.Port.Number)
		}
		b := binary.BigEndian.AppendUint16(wireExtended(wireResubmit), port)
		return append(b, byte(a.Table.Number), 0, 0, 0), a.Table.Number >= 0 && !a.CT
	case Note:
		return append(wireExtended(wireNote), a.Data...), true
	case Controller:
		return wireControllerBody(a), true
	}
	return nil, false
}

// wireStart begins an action of OpenFlow itself.
func wireStart(kind uint16, rest ...uint16) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 32), kind)
	b = append(b, 0, 0)
	for _, n := range rest {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

// wireExtended begins one of Open vSwitch's actions.
func wireExtended(kind uint16) []byte {
	return wireStart(wireExperimenter, nicira>>16, nicira&0xffff, kind)
}

func wireStack(kind uint16, s packet.Subfield) ([]byte, bool) {
	header, ok := extensionHeader(s.Field)
	b := binary.BigEndian.AppendUint16(wireExtended(kind), uint16(s.Lo))
	return append(binary.BigEndian.AppendUint16(append(b, header...), uint16(s.Bits)), 0), ok
}

func wireSetBody(a SetField) ([]byte, bool) {
	masked := a.Mask != a.Field.Mask()
	header, ok := WireHeader(a.Field, masked)
	size := (a.Field.Bits + 7) / 8
	b := append(wireStart(wireSetField), header...)
	b = append(b, a.Value.Bytes(size)...)
	if masked {
		b = append(b, a.Mask.Bytes(size)...)
	}
	return b, ok
}

// Properties of a controller action, beside its userdata.
const (
	wireMaxLen = 0
	wireID     = 1
	wirePause  = 4
	wireMeter  = 5
)

func wireControllerBody(a Controller) []byte {
	b := append(wireExtended(wireController), 0, 0, 0, 0, 0, 0)
	property := func(kind uint16, data []byte) {
		b = binary.BigEndian.AppendUint16(b, kind)
		b = append(binary.BigEndian.AppendUint16(b, uint16(4+len(data))), data...)
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
	}
	if a.MaxLen != 0xffff {
		property(wireMaxLen, binary.BigEndian.AppendUint16(nil, a.MaxLen))
	}
	if a.ID != 0 {
		property(wireID, binary.BigEndian.AppendUint16(nil, a.ID))
	}
	if len(a.Userdata) > 0 {
		property(wireUserdata, a.Userdata)
	}
	if a.Pause {
		property(wirePause, nil)
	}
	if a.MeterID != 0 {
		property(wireMeter, binary.BigEndian.AppendUint32(nil, a.MeterID))
	}
	return b
}

// WireHeader is the header of a field, as WireField reads it: OpenFlow's own where it has one.
func WireHeader(f *packet.Field, masked bool) ([]byte, bool) {
	class, number, ok := wireNumber(f)
	size := (f.Bits + 7) / 8
	bit := byte(0)
	if masked {
		size, bit = 2*size, 1
	}
	return append(binary.BigEndian.AppendUint16(nil, class), byte(number)<<1|bit, byte(size)), ok
}

// extensionHeader is the header of a field as Open vSwitch's own actions have it: the extension's before OpenFlow's.
func extensionHeader(f *packet.Field) ([]byte, bool) {
	header, ok := WireHeader(f, false)
	for _, class := range []uint16{0, 1} {
		for number, name := range wireNames.Get()[class] {
			if g, known := packet.Lookup(name); known && g == f {
				return append(binary.BigEndian.AppendUint16(nil, class), byte(number)<<1, header[3]), true
			}
		}
	}
	return header, ok
}

func wireNumber(f *packet.Field) (class uint16, number int, ok bool) {
	for _, series := range []struct {
		prefix string
		class  uint16
		first  int
	}{{"tun_metadata", 1, 40}, {"xxreg", 1, 111}, {"xreg", 0x8001, 0}, {"reg", 1, 0}} {
		if text, is := strings.CutPrefix(f.Name, series.prefix); is {
			n, err := strconv.Atoi(text)
			return series.class, series.first + n, err == nil
		}
	}
	for _, class := range []uint16{0x8000, 1, 0} {
		for number, name := range wireNames.Get()[class] {
			if g, known := packet.Lookup(name); known && g == f && f.Name != "in_port" {
				return class, number, true
			}
		}
	}
	return 0, 0, f.Name == "in_port"
}
