package packet

import (
	"strconv"
	"sync"
)

// Byte offsets of the fields in a Flow. The registers are contiguous so that xreg and xxreg fields overlap them.
const (
	atReg       = 0
	atCTLabel   = atReg + 4*32
	atMetadata  = atCTLabel + 16
	atTunID     = atMetadata + 8
	atTunSrc    = atTunID + 8
	atTunDst    = atTunSrc + 4
	atTunIPv6   = atTunDst + 4
	atTunGBP    = atTunIPv6 + 32
	atTunErspan = atTunGBP + 3
	atTunGTPU   = atTunErspan + 7
	atTunFlags  = atTunGTPU + 2
	atTunTOS    = atTunFlags + 2
	atInPort    = atTunTOS + 2
	atSkb       = atInPort + 4
	atMark      = atSkb + 4
	atActset    = atMark + 4
	atPktType   = atActset + 4
	atRecirc    = atPktType + 4
	atDPHash    = atRecirc + 4
	atConj      = atDPHash + 4
	atCTState   = atConj + 4
	atCTZone    = atCTState + 4
	atCTMark    = atCTZone + 2
	atCTNW      = atCTMark + 4
	atCTIPv6    = atCTNW + 8
	atCTProto   = atCTIPv6 + 32
	atCTTP      = atCTProto + 1
	atEth       = atCTTP + 4
	atEthType   = atEth + 12
	atVLAN      = atEthType + 2
	atMPLS      = atVLAN + 4
	atNW        = atMPLS + 12
	atIPv6      = atNW + 8
	atLabel     = atIPv6 + 32
	atProto     = atLabel + 4 // 16 bits: also holds arp_op
	atTOS       = atProto + 2
	atTTL       = atTOS + 1
	atFrag      = atTTL + 1
	atARP       = atFrag + 1
	atND        = atARP + 12
	atTP        = atND + 16
	atTCPFlags  = atTP + 4
	atNDRes     = atTCPFlags + 2
	atNDOpt     = atNDRes + 4
	atNSH       = atNDOpt + 1
	flowBytes   = (atNSH + 27 + 7) &^ 7 // whole words; see Pattern
)

// The fields with a number in their name.
var (
	options    [64]Field // tun_metadata
	registers  [32]Field
	doubles    [16]Field // xreg
	quadruples [8]Field  // xxreg
)

func init() {
	for i := range options {
		n := strconv.Itoa(i)
		options[i] = Field{Name: "tun_metadata" + n, NXM: "NXM_NX_TUN_METADATA" + n, Bits: maxBits, Format: Hex, Maskable: true, tun: i + 1}
	}
	for i := range registers {
		registers[i] = register("reg", "NXM_NX_REG", "NXOXM_ET_REG", i, 4)
	}
	for i := range doubles {
		doubles[i] = register("xreg", "", "", i, 8)
	}
	for i := range quadruples {
		quadruples[i] = register("xxreg", "NXM_NX_XXREG", "NXOXM_ET_XXREG", i, 16)
	}
}

// allFields returns all fields.
func allFields() []*Field {
	var all []*Field
	for _, list := range [][]Field{fixedFields, options[:], registers[:], doubles[:], quadruples[:]} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// byName finds fields by any of their names.
var byName = sync.OnceValue(func() map[string]*Field {
	names := make(map[string]*Field, 512)
	for _, f := range allFields() {
		for _, name := range append([]string{f.Name, f.NXM, f.OXM}, f.Aliases...) {
			if name != "" {
				names[name] = f
			}
		}
	}
	return names
})

// register builds the i-th register of size bytes. The upper half came with Open vSwitch 3.7 and has names of another
// class; xreg has only OXM names.
func register(name, lower, upper string, i, size int) Field {
	n := strconv.Itoa(i)
	f := Field{Name: name + n, Bits: 8 * size, Format: Hex, Maskable: true, place: place{atReg + size*i, size, 0}}
	switch {
	case lower == "":
		f.OXM = "OXM_OF_PKT_REG" + n
	case i*size < 64:
		f.NXM = lower + n
	default:
		f.NXM = upper + n
	}
	return f
}
