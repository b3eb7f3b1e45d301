package packet

// A Format is how a field's values are written (ovs-fields(7), "Data Types and Formats").
type Format uint8

// The field formats.
const (
	Decimal     Format = iota
	Hex                // 0x5
	Ethernet           // 0a:00:00:00:00:01
	IPv4               // 192.0.2.1, 192.0.2.0/24
	IPv6               // fd00::1, fd00::/64
	Port               // an OpenFlow port: 5, "eth0", LOCAL
	Frag               // no, yes, first, later, not_later
	StateNames         // new|trk, +new-est
	TCPNames           // syn|ack, +syn-ack
	TunnelNames        // oam, +df-csum
	TypePair           // (1,0x800)
)

// A Prereq is a requirement on the packet for a field to exist.
type Prereq uint8

// The prerequisites (ovs-fields(7), "Prerequisites").
const (
	None Prereq = iota
	NeedsEthernet
	NeedsVLAN
	NeedsMPLS
	NeedsIPv4
	NeedsIPv6
	NeedsIP // either version
	NeedsARP
	NeedsNSH
	NeedsCT
	NeedsTCP
	NeedsUDP
	NeedsSCTP
	NeedsICMPv4
	NeedsICMPv6
	NeedsND
	NeedsNDSolicit
	NeedsNDAdvert
)

// A Field is a field of a packet or of its metadata. Each has exactly one *Field, so == compares fields.
type Field struct {
	Name     string   // as in Open vSwitch's set_field: "eth_src"
	Aliases  []string // the other names it accepts: "dl_src"
	NXM, OXM string   // "NXM_OF_ETH_SRC", "OXM_OF_ETH_SRC"; either may be ""
	Bits     int      // width
	Format   Format
	Needs    Prereq
	Maskable bool
	ReadOnly bool // actions cannot write

	label  string // as printed in matches: "dl_src"; "" means Name
	digits int    // hexadecimal digits in matches, if fixed
	sub    int    // bits that subfields can name, if not all
	place  place
	tun    int // 1 for tun_metadata0 and so on, else 0
}

// A place is where a field's bits are in a Flow.
type place struct {
	offset, size int // bytes
	shift        int // bits of the last byte below the field
}

// Label is the name used when printing matches and flows: nw_src for ip_src.
func (f *Field) Label() string {
	if f.label != "" {
		return f.label
	}
	return f.Name
}

// header is the name used by move, load, push and learn: the NXM name if any, else the OXM name, else the plain name.
func (f *Field) header() string {
	switch {
	case f.NXM != "":
		return f.NXM
	case f.OXM != "":
		return f.OXM
	}
	return f.Name
}

// subBits is the number of bits that subfields can name: vlan_vid has one more, which marks the tag as present.
func (f *Field) subBits() int {
	if f.sub != 0 {
		return f.sub
	}
	return f.Bits
}

// IsOption reports whether the field is a tunnel option, which may be absent.
func (f *Field) IsOption() bool { return f.tun != 0 }

// Mask returns a mask of all of the field's bits.
func (f *Field) Mask() Value { return Ones(f.Bits) }

// Decides returns the bits of a mask that count: nw_tos is written as eight bits, of which the two of nw_ecn do not.
func (f *Field) Decides(mask Value) Value {
	if f == &NWTOS {
		return mask.AndNot(Uint(3))
	}
	return mask
}

// String returns the field's name.
func (f *Field) String() string { return f.Name }

// Lookup finds a field by its name, an alias, or its NXM or OXM name.
func Lookup(name string) (*Field, bool) {
	f, ok := byName.Get()[name]
	return f, ok
}

// Reg returns the field reg0 to reg31.
func Reg(n int) *Field { return &registers[n] }

// TunMetadata returns the field tun_metadata0 to tun_metadata63.
func TunMetadata(n int) *Field { return &options[n] }

// MustField returns the field of a name that is known to be one.
func MustField(name string) *Field {
	f, ok := Lookup(name)
	if !ok {
		panic("packet: no field " + name)
	}
	return f
}
