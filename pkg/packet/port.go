package packet

import (
	"strconv"
	"strings"
)

// OpenFlow's reserved port numbers (OpenFlow 1.0, 16 bits; like Open vSwitch, the 32-bit numbers of later versions are
// mapped to these).
const (
	PortMax        = 0xff00
	PortUnset      = 0xfff7
	PortInPort     = 0xfff8
	PortTable      = 0xfff9
	PortNormal     = 0xfffa
	PortFlood      = 0xfffb
	PortAll        = 0xfffc
	PortController = 0xfffd
	PortLocal      = 0xfffe
	PortAny        = 0xffff // also called NONE
)

// reservedPorts are the reserved ports. A port is printed by its first name.
var reservedPorts = [...]struct {
	name   string
	number uint32
}{
	{"UNSET", PortUnset}, {"IN_PORT", PortInPort}, {"TABLE", PortTable}, {"NORMAL", PortNormal}, {"FLOOD", PortFlood},
	{"ALL", PortAll}, {"CONTROLLER", PortController}, {"LOCAL", PortLocal}, {"ANY", PortAny}, {"NONE", PortAny},
}

// reservedPort returns the number of the reserved port with that name, in letters of any case.
func reservedPort(name string) (uint32, bool) {
	for _, p := range reservedPorts {
		if strings.EqualFold(p.name, name) {
			return p.number, true
		}
	}
	return 0, false
}

// A PortID is a bridge port as named in text: by number or by name; reserved ports by number. With a Name, Number may
// be 0 for "unknown".
type PortID struct {
	Number uint32
	Name   string
}

// String returns the name if known, quoted unless it is a plain word, else the number or the reserved name.
func (p PortID) String() string {
	if p.Name != "" {
		return QuoteName(p.Name)
	}
	for _, r := range reservedPorts {
		if r.number == p.Number {
			return r.name
		}
	}
	return strconv.FormatUint(uint64(p.Number), 10)
}

// ParsePort parses a port: a number, a reserved name in any case, or a port name, quoted or not.
func ParsePort(s string) (PortID, error) {
	if n, ok := reservedPort(s); ok {
		return PortID{Number: n}, nil
	}
	if v, ok := parseNumber(s); ok {
		n := v.Lo
		if n >= 0xffffff00 && n <= 0xffffffff {
			n &= 0xffff // OpenFlow 1.1 and later have 32-bit reserved ports
		}
		if v.BitLen() > 64 || n > 0xffff {
			return PortID{}, &SyntaxError{Text: s, Msg: "port number out of range"}
		}
		return PortID{Number: uint32(n)}, nil
	}
	name, err := UnquoteName(s)
	if err != nil {
		return PortID{}, err
	}
	return PortID{Name: name}, nil
}
