package openflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// A TLV says which tunnel option a tun_metadata field stands for: a line of
// ovs-ofctl dump-tlv-map.
type TLV struct {
	Class  uint16
	Type   uint8
	Length int // bytes
	Field  *flow.Field
}

// ParseTLVMap reads what dump-tlv-map prints. Lines about other things are
// passed over.
func ParseTLVMap(text string) []TLV {
	var list []TLV
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		class, err1 := number(f[0], 16, 0)
		kind, err2 := number(f[1], 8, 0)
		length, err3 := number(f[2], 8, 0)
		field, ok := flow.Lookup(f[3])
		if err1 == nil && err2 == nil && err3 == nil && ok {
			list = append(list, TLV{uint16(class), uint8(kind), int(length), field})
		}
	}
	return list
}

// A PortDesc is a port of a bridge: a paragraph of ovs-ofctl dump-ports-desc.
type PortDesc struct {
	Port   flow.PortID // number and name; names are cut to 15 bytes
	Addr   string      // Ethernet address
	Config []string    // "PORT_DOWN"; none for 0
	State  []string    // "LIVE", "LINK_DOWN"; none for 0
}

// ParsePortDescs reads what dump-ports-desc (or show) prints.
func ParsePortDescs(text string) []PortDesc {
	var list []PortDesc
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, addr, ok := strings.Cut(line, "): addr:"); ok {
			number, name, _ := strings.Cut(head, "(")
			port, err := flow.ParsePort(number)
			if err != nil || port.Name != "" {
				continue
			}
			port.Name = name
			list = append(list, PortDesc{Port: port, Addr: addr})
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		words := strings.Fields(value)
		if len(list) == 0 || len(words) == 1 && words[0] == "0" {
			continue
		}
		switch last := &list[len(list)-1]; key {
		case "config":
			last.Config = words
		case "state":
			last.State = words
		}
	}
	return list
}
