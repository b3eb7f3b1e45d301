package openflow

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A TLV maps a tunnel option to a tun_metadata field: a line of ovs-ofctl dump-tlv-map.
type TLV struct {
	Class  uint16
	Type   uint8
	Length int // bytes
	Field  *packet.Field
}

// OVNTunnelOption is the Geneve option of logical ports as ovn-controller maps it, on every bridge and in every release
// (ovn-architecture(7), "Tunnel Encapsulations").
var OVNTunnelOption = TLV{Class: 0x102, Type: 0x80, Length: 4, Field: packet.TunMetadata(0)}

// ParseTLVMap parses the output of dump-tlv-map. Other lines are skipped.
func ParseTLVMap(text string) []TLV {
	var list []TLV
	for line := range strings.Lines(text) {
		if t, ok := parseTLV(line); ok {
			list = append(list, t)
		}
	}
	return list
}

func parseTLV(line string) (TLV, bool) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return TLV{}, false
	}
	field, ok := packet.Lookup(f[3])
	t := TLV{Field: field}
	var length uint8
	err := cmp.Or(read(&t.Class, f[0], 0), read(&t.Type, f[1], 0), read(&length, f[2], 0))
	t.Length = int(length)
	return t, err == nil && ok
}

// String writes the line as dump-tlv-map does, without the leading space.
func (t TLV) String() string {
	return fmt.Sprintf("%6s  %4s  %6d  %s", hexadecimal(uint64(t.Class)), hexadecimal(uint64(t.Type)), t.Length, t.Field)
}

// hexadecimal writes a number like printf(3)'s %#x.
func hexadecimal(n uint64) string { return packet.Uint(n).Hex() }

// A TLVTable is the body of dump-tlv-map's output.
type TLVTable struct {
	MaxSpace  int // bytes available for options
	MaxFields int
	Space     int // bytes used by the table's options
	TLVs      []TLV
}

const tlvHeading = "\n mapping table:\n  class  type  length  match field\n ------  ----  ------  --------------\n"

// String writes the table as dump-tlv-map does.
func (t TLVTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, " max option space=%d max fields=%d\n allocated option space=%d\n", t.MaxSpace, t.MaxFields, t.Space)
	b.WriteString(tlvHeading)
	for _, tlv := range t.TLVs {
		b.WriteString(" " + tlv.String() + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func parseTLVTable(text string) (TLVTable, error) {
	var t TLVTable
	_, err := fmt.Sscanf(text, " max option space=%d max fields=%d\n allocated option space=%d\n", &t.MaxSpace, &t.MaxFields, &t.Space)
	_, rows, ok := strings.Cut(text+"\n", tlvHeading)
	if err != nil || !ok {
		return t, fault(0, "table of tunnel options expected")
	}
	at := len(text) + 1 - len(rows)
	for line := range strings.Lines(rows) {
		tlv, ok := parseTLV(line)
		if !ok {
			return t, fault(at, "class, type, length and field expected")
		}
		t.TLVs = append(t.TLVs, tlv)
		at += len(line)
	}
	return t, nil
}

// A PortDesc is a port of a bridge: a paragraph of ovs-ofctl dump-ports-desc.
type PortDesc struct {
	Port   packet.PortID // number and name; names are cut to 15 bytes
	Addr   string        // Ethernet address
	Config []string      // "PORT_DOWN"; none for 0
	State  []string      // "LIVE", "LINK_DOWN"; none for 0

	// Features in use, advertised, supported, and the peer's: "10GB-FD", "COPPER"; empty if unknown.
	Current, Advertised, Supported, Peer []string
	Speed, MaxSpeed                      uint32 // Mb/s; 0: unknown
}

// ParsePortDescs reads what dump-ports-desc (or show) prints.
func ParsePortDescs(text string) []PortDesc {
	var list []PortDesc
	for line := range strings.Lines(text) {
		if p, ok := portHead(line); ok {
			list = append(list, p)
		} else if len(list) > 0 {
			list[len(list)-1].line(line)
		}
	}
	return list
}

func portHead(line string) (PortDesc, bool) {
	head, addr, ok := strings.Cut(strings.TrimSpace(line), "): addr:")
	number, name, _ := strings.Cut(head, "(")
	port, err := packet.ParsePort(number)
	if !ok || err != nil || port.Name != "" {
		return PortDesc{}, false
	}
	port.Name = name
	return PortDesc{Port: port, Addr: addr}, true
}

// line reads a line below the port's first one, and reports whether it could.
func (p *PortDesc) line(line string) bool {
	key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
	if key == "speed" {
		n, err := fmt.Sscanf(value, "%d Mbps now, %d Mbps max", &p.Speed, &p.MaxSpeed)
		return n == 2 && err == nil
	}
	words := strings.Fields(value)
	if len(words) == 1 && words[0] == "0" {
		words = nil
	}
	for _, f := range p.lines() {
		if f.key == key {
			*f.words = words
			return true
		}
	}
	return false
}

// portLine is a line of the paragraph about a port.
type portLine struct {
	key    string
	words  *[]string
	always bool // printed as 0 if empty
}

func (p *PortDesc) lines() []portLine {
	return []portLine{{"config", &p.Config, true}, {"state", &p.State, true}, {"current", &p.Current, false},
		{"advertised", &p.Advertised, false}, {"supported", &p.Supported, false}, {"peer", &p.Peer, false}}
}

func parsePortDesc(text string) (PortDesc, error) {
	head, rest, _ := strings.Cut(text, "\n")
	p, ok := portHead(head)
	if !ok {
		return p, fault(0, "port expected")
	}
	at := len(head) + 1
	for line := range strings.Lines(rest) {
		if !p.line(line) {
			return p, fault(at, "property of a port expected")
		}
		at += len(line)
	}
	return p, nil
}

// String writes the paragraph as dump-ports-desc does, without the leading space.
func (p PortDesc) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s): addr:%s\n", packet.PortID{Number: p.Port.Number}, p.Port.Name, p.Addr)
	for _, f := range p.lines() {
		switch {
		case len(*f.words) > 0:
			fmt.Fprintf(&b, "     %-11s %s\n", f.key+":", strings.Join(*f.words, " "))
		case f.always:
			fmt.Fprintf(&b, "     %-11s 0\n", f.key+":")
		}
	}
	fmt.Fprintf(&b, "     speed: %d Mbps now, %d Mbps max", p.Speed, p.MaxSpeed)
	return b.String()
}

// An FDBEntry maps a MAC address to a port of a bridge: a line of ovs-appctl fdb/show (ovs-vswitchd(8)).
type FDBEntry struct {
	Port   packet.PortID
	VLAN   uint16
	MAC    string
	Age    int  // seconds since last seen
	Static bool // added manually
}

// ParseFDBEntry reads a line of fdb/show.
func ParseFDBEntry(line string) (FDBEntry, error) {
	var e FDBEntry
	words := strings.Fields(line)
	if len(line) > maxMatch || len(words) != 4 {
		return e, &SyntaxError{Text: line, Msg: "port, VLAN, MAC and age expected"}
	}
	var err error
	if e.Port, err = packet.ParsePort(words[0]); err != nil {
		return e, in(within(err, 0), line)
	}
	if err = read(&e.VLAN, words[1], 0); err != nil {
		return e, in(err, line)
	}
	mac, ok := packet.ParseMAC(words[2])
	if e.MAC = words[2]; !ok || packet.EthSrc.Print(mac) != e.MAC {
		return e, &SyntaxError{Text: line, Msg: "bad MAC address " + e.MAC}
	}
	if e.Static = words[3] == "static"; !e.Static {
		e.Age, err = atoi(words[3])
	}
	return e, in(err, line)
}

// ParseFDB reads the entries of fdb/show; other lines are passed over.
func ParseFDB(text string) []FDBEntry {
	var entries []FDBEntry
	for line := range strings.Lines(text) {
		if e, err := ParseFDBEntry(strings.TrimSpace(line)); err == nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// String writes the line as fdb/show does.
func (e FDBEntry) String() string {
	age := "static"
	if !e.Static {
		age = fmt.Sprintf("%3d", e.Age)
	}
	return fmt.Sprintf("%5s  %4d  %s  %s", e.Port, e.VLAN, e.MAC, age)
}

// A DatapathPort is a bridge port with both of its numbers, as listed by dpif/show (ovs-vswitchd(8)).
type DatapathPort struct {
	Bridge, Name string
	OpenFlow     uint32
	Datapath     uint32
	Type         string // "geneve", "internal", "tap", "system"
}

// ParseDatapathPorts parses dpif/show: a line per datapath, bridge and port, each indented below the other. Patch
// ports, which have no number in the datapath, are left out.
func ParseDatapathPorts(text string) []DatapathPort {
	var ports []DatapathPort
	shownPorts(text, func(bridge, name string, number uint32, datapath, kind string) {
		if n, err := strconv.ParseUint(datapath, 10, 32); err == nil {
			kind, _, _ = strings.Cut(kind, ":")
			ports = append(ports, DatapathPort{bridge, name, number, uint32(n), kind})
		}
	})
	return ports
}

// A PatchPort is a port whose packets go to its peer in another bridge, as listed by dpif/show.
type PatchPort struct {
	Bridge, Name string
	OpenFlow     uint32
	Peer         string // the name of the other port
}

// ParsePatchPorts parses the patch ports of dpif/show.
func ParsePatchPorts(text string) []PatchPort {
	var ports []PatchPort
	shownPorts(text, func(bridge, name string, number uint32, _, kind string) {
		if peer, ok := strings.CutPrefix(kind, "patch: peer="); ok {
			ports = append(ports, PatchPort{bridge, name, number, peer})
		}
	})
	return ports
}

// shownPorts calls take with each port of dpif/show: its OpenFlow number, the one in the datapath and what is in brackets.
func shownPorts(text string, take func(bridge, name string, number uint32, datapath, kind string)) {
	bridge := ""
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		name, rest, ok := strings.Cut(strings.TrimRight(body, "\r\n"), " ")
		switch len(line) - len(body) {
		case 2:
			bridge = strings.TrimSuffix(name, ":")
		case 4:
			numbers, kind, _ := strings.Cut(rest, ":")
			of, datapath, both := strings.Cut(numbers, "/")
			number, err := strconv.ParseUint(of, 10, 32)
			if ok && both && err == nil {
				take(bridge, name, uint32(number), datapath, strings.TrimRight(strings.TrimLeft(kind, " ("), ")"))
			}
		}
	}
}
