package packet

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/lazy"
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

// allFields returns all fields.
func allFields() []*Field {
	all := slices.Clone(fixedFields[:])
	for _, list := range [][]Field{options[:], registers[:], doubles[:], quadruples[:]} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// byName finds fields by any of their names.
var byName = lazy.Value[map[string]*Field]{Make: func() map[string]*Field {
	names := make(map[string]*Field, 512)
	for _, f := range allFields() {
		for _, name := range append([]string{f.Name, f.NXM, f.OXM}, f.Aliases...) {
			if name != "" {
				names[name] = f
			}
		}
	}
	return names
}}
