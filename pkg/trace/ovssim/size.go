package ovssim

import (
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// mostActions is how many bytes of datapath actions still let a lookup happen, as Netlink attributes (linux/openvswitch.h). A flood to
// some hundred tunnels takes more.
const mostActions = 0xffff

// attrHeader is what a Netlink attribute takes besides its value.
const attrHeader = 4

// mostParsed is how long actions around others may be that are parsed for their size: they may be too long for that, and too deep.
const mostParsed = 1024

// valueSizes are the bytes of values that are not 4, by the names of actions and of what is in them.
var valueSizes = lazy.Value[map[string]int]{Make: func() map[string]int {
	return map[string]int{
		"pop_vlan": 0, "pop_eth": 0, "pop_nsh": 0, "ct_clear": 0, "hash": 8, "push_mpls": 8, "add_mpls": 8, "push_eth": 12, "push_nsh": 36, "userspace": 60,
		"eth": 12, "ipv4": 12, "ipv6": 40, "icmp": 2, "icmpv6": 2, "arp": 24, "nd": 28, "nd_ext": 8, "nsh": 36,
		"tun_id": 8, "ipv6_src": 16, "ipv6_dst": 16, "vxlan": 8, "erspan": 12, "df": 0, "csum": 0, "oam": 0, "key": -attrHeader,
		"commit": 0, "force_commit": 0, "mark": 8, "label": 32, "persistent": 0, "random": 0,
	}
}}

// mostOf returns a bound for the size of a datapath action, which costs less than the size.
func mostOf(action string) int { return 16 + 8*len(action) }

// size returns how many bytes a datapath action takes.
func size(action string) int {
	if !strings.Contains(action, "(") {
		return sizeOf(openflow.Attr{Value: action})
	}
	list, err := openflow.ParseAttrs(action)
	if err != nil { // too long, or too deep
		return len(action)
	}
	return sizeOfAll(list)
}

func sizeOfAll(list openflow.Attrs) int {
	n := 0
	for _, a := range list {
		n += sizeOf(a)
	}
	return n
}

func sizeOf(a openflow.Attr) int {
	switch a.Name {
	case "clone", "sample", "actions", "check_pkt_len", "gt", "le", "ct", "nat", "tunnel":
		return attrHeader + sizeOfAll(a.List)
	case "set":
		return attrHeader + sizeOfSet(a.List)
	case "tnl_push": // four numbers and the headers
		header, _ := a.List.Get("header")
		length, _ := strconv.Atoi(header.List.Value("size"))
		return align(attrHeader + 4*4 + length)
	case "flags":
		n := 0
		for flag := range strings.SplitSeq(a.List.String(), "|") {
			n += sizeOf(openflow.Attr{Name: flag})
		}
		return n
	case "geneve":
		n := attrHeader
		for _, option := range a.List {
			length, _ := strconv.Atoi(option.List.Value("len"))
			n += attrHeader + length
		}
		return n
	case "src", "dst": // of nat
		if strings.Count(a.Value, ":") > 1 {
			return attrHeader + 2*(attrHeader+16)
		}
		return attrHeader + 2*(attrHeader+4)
	}
	name := a.Name
	if name == "" {
		name = a.Value
	}
	n, known := valueSizes.Get()[name]
	if !known {
		n = 4
	}
	return align(attrHeader + n)
}

// align rounds up to where an attribute may begin.
func align(n int) int { return (n + 3) &^ 3 }

// sizeOfSet adds a mask to a value, unless all of it is written.
func sizeOfSet(list openflow.Attrs) int {
	n := sizeOfAll(list)
	for _, key := range list {
		if len(key.List) < partsOf(key.Name) || strings.Contains(key.String(), "/") {
			n += sizeOf(key) - attrHeader
		}
	}
	return n
}

// partsOf returns how many parts a value has that may be written in part.
func partsOf(name string) int {
	switch name {
	case "eth", "tcp", "udp", "sctp":
		return 2
	case "nd":
		return 3
	case "arp":
		return 5
	case "ipv4":
		return 6
	case "ipv6":
		return 7
	}
	return 0
}
