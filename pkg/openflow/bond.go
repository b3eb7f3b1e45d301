package openflow

import (
	"strconv"
	"strings"
)

// A Bond is a port with several interfaces, as listed by bond/show (ovs-vswitchd(8)).
type Bond struct {
	Name     string
	Mode     string // active-backup, balance-slb or balance-tcp
	LACP     string // off, configured or negotiated
	Fallback bool   // active-backup, unless LACP is negotiated
	Recirc   uint32 // by which the datapath chooses a member; 0: it does not
	Output   uint32 // the number of lb_output, by which it does
	Basis    uint32 // of the hash
	Members  []BondMember
}

// A BondMember is an interface of a bond.
type BondMember struct {
	Name    string
	Enabled bool
	Active  bool    // gets what is not balanced
	Hashes  []uint8 // that sent more than a kB by it of late
}

// ParseBonds parses bond/show. Other lines are skipped.
func ParseBonds(text string) []Bond {
	var bonds []Bond
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "---- "); ok {
			bonds = append(bonds, Bond{Name: strings.TrimSuffix(name, " ----")})
		}
		if len(bonds) > 0 {
			bonds[len(bonds)-1].read(line)
		}
	}
	return bonds
}

// read takes what a line says of the bond.
func (b *Bond) read(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	words := strings.Fields(name)
	switch {
	case len(words) == 2 && (words[0] == "member" || words[0] == "slave"): // slave: before 2.15
		b.Members = append(b.Members, BondMember{Name: words[1], Enabled: value == "enabled"})
		return
	case name == "bond_mode":
		b.Mode = value
	case name == "lacp_status":
		b.LACP = value
	case name == "lacp_fallback_ab":
		b.Fallback = value == "true"
	case name == "bond may use recirculation":
		b.Recirc = chooser(value, "yes")
	case name == "bond-hash-basis":
		n, _ := strconv.ParseUint(value, 10, 32)
		b.Basis = uint32(n)
	case name == "lb_output action":
		b.Output = chooser(value, "enabled")
	}
	if len(b.Members) == 0 {
		return
	}
	m := &b.Members[len(b.Members)-1]
	switch {
	case line == "active member" || line == "active slave":
		m.Active = true
	case len(words) == 2 && words[0] == "hash":
		if n, err := strconv.ParseUint(words[1], 10, 8); err == nil {
			m.Hashes = append(m.Hashes, uint8(n))
		}
	}
}

// chooser returns the number in "yes, Recirc-ID : 1" if the datapath chooses, else 0.
func chooser(text, yes string) uint32 {
	use, id, _ := strings.Cut(text, ",")
	if use != yes {
		return 0
	}
	_, id, _ = strings.Cut(id, ":")
	n, _ := strconv.ParseUint(strings.TrimSpace(id), 10, 32) // -1 is none
	return uint32(n)
}
