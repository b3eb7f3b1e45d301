package openflow

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An Action is one OpenFlow action or instruction, of one of the types in this file. String writes it as ovs-ofctl(8)
// does; ParseActions reads that back as an equal value.
type Action interface{ String() string }

// Actions is a list of actions. The empty list is "drop".
type Actions []Action

// Output sends the packet to a port, or to the port numbered in Src.
type Output struct {
	Port   packet.PortID // when Src is nil
	Src    *packet.Subfield
	MaxLen uint32 // 0: not truncated
}

// Controller sends the packet to the controller (CONTROLLER:65535 or controller(…)). With Pause the packet stops there
// until the controller resumes it.
type Controller struct {
	Short    bool   // written CONTROLLER:MaxLen
	MaxLen   uint16 // bytes to send; 65535: all
	Reason   string // "": action
	ID       uint16 // of the connection
	Userdata []byte // nil: none
	Pause    bool
	MeterID  uint32 // 0: none
}

// SetField writes the bits of Field set in Mask (set_field:VALUE/MASK->dst).
type SetField struct {
	Field       *packet.Field
	Value, Mask packet.Value
	Name        string // the field's name as written, if not Name
	masked      bool   // a full mask was written explicitly
}

// Load writes a number to a subfield (load:VALUE->dst).
type Load struct {
	Value packet.Value
	Dst   packet.Subfield
}

// Move copies a subfield to one of the same width (move:src->dst).
type Move struct{ Src, Dst packet.Subfield }

// Push pushes a subfield.
type Push struct{ Src packet.Subfield }

// Pop pops the stack into a subfield.
type Pop struct{ Dst packet.Subfield }

// Modify is an OpenFlow 1.0 action that writes one field: mod_dl_src, mod_vlan_vid, mod_nw_tos, mod_tp_dst, set_tunnel,
// set_mpls_ttl and the like.
type Modify struct {
	Name  string
	Field *packet.Field
	Value packet.Value // as written: mod_nw_tos counts in fours
	paren bool         // written NAME(VALUE)
}

// Resubmit looks the packet up in a table and executes the result.
type Resubmit struct {
	Port  *packet.PortID // in_port for the lookup; nil: the packet's own
	Table Table          // NoTable: the current one
	CT    bool           // look up by the connection's original tuple
	bare  bool           // written resubmit:PORT
}

// GotoTable jumps to a later table.
type GotoTable struct{ Table Table }

// CT sends the packet to conntrack. With a table, a copy comes back there afterwards, and the original continues
// untracked.
type CT struct {
	Commit, Force bool
	Table         Table            // NoTable: nothing comes back
	Zone          uint16           // when ZoneSrc is nil
	ZoneSrc       *packet.Subfield // the zone's source
	HasZone       bool             // a zone was given
	NAT           *NAT
	Exec          Actions // writes to ct_mark and ct_label
	Alg           string  // "ftp", "tftp", "sip" or a number
}

// NAT is ct's nat argument. Without Src and Dst it only applies what an earlier commit set up.
type NAT struct {
	Src, Dst                 bool
	Min, Max                 netip.Addr // invalid: none; Max is Min for a single address
	MinPort, MaxPort         uint16     // 0: none
	Persistent, Hash, Random bool
}

// CTClear clears the conntrack state.
type CTClear struct{}

// Clone executes actions on a copy of the packet and its metadata.
type Clone struct{ Actions Actions }

// Group sends the packet to a group.
type Group struct{ ID uint32 }

// Conjunction marks a flow as clause Clause (from 1) of N of conjunction ID.
type Conjunction struct {
	ID        uint32
	Clause, N int
}

// Note carries bytes and does nothing.
type Note struct{ Data []byte }

// CheckPktLarger writes 1 to a bit if the packet is longer than Size bytes.
type CheckPktLarger struct {
	Size uint16
	Dst  packet.Subfield
}

// Meter applies a meter.
type Meter struct{ ID uint32 }

// SetQueue sets the queue of later outputs; PopQueue restores the packet's original one.
type SetQueue struct{ Queue uint32 }

// PopQueue ends SetQueue's effect.
type PopQueue struct{}

// DecTTL decrements an IP packet's TTL. A packet with TTL 0 or 1 goes to the controllers in IDs instead, and its
// actions end.
type DecTTL struct {
	IDs   []uint16
	paren bool // written with parentheses
}

// Controllers are the connections that receive packets whose TTL has expired: dec_ttl alone means id 0, dec_ttl() none.
func (a DecTTL) Controllers() []uint16 {
	if !a.paren && len(a.IDs) == 0 {
		return []uint16{0}
	}
	return a.IDs
}

// PushVLAN adds a VLAN tag.
type PushVLAN struct{ EthType uint16 }

// PopVLAN removes the outer VLAN tag, if any (pop_vlan, strip_vlan).
type PopVLAN struct{ strip bool }

// WriteMetadata writes the bits of metadata set in Mask.
type WriteMetadata struct{ Value, Mask packet.Value }

// WriteActions adds actions to the action set, which is executed last.
type WriteActions struct{ Actions Actions }

// ClearActions empties the action set.
type ClearActions struct{}

// Learn adds a flow made from the packet.
type Learn struct {
	Args []LearnArg
}

// A LearnArg is an argument of learn: a property of the new flow (table=68, delete_learned), a term of its match, or
// one of its actions.
type LearnArg struct {
	Key   string // "table", "NXM_OF_IP_SRC[]", "load", "output"
	Value string // "68", "NXM_OF_IP_DST[]", "0x1"; "" if none
	Dst   string // of load
	Form  LearnForm
}

// A LearnForm is how a learn argument is written.
type LearnForm uint8

// The forms of learn arguments.
const (
	LearnFlag   LearnForm = iota // key
	LearnAssign                  // key=value
	LearnAction                  // key:value or key:value->dst
)

// Exit ends the execution of actions.
type Exit struct{}

// Drop is the word for an empty action list.
type Drop struct{}

// Other is an action kept as written: encap, bundle, sample, multipath, enqueue, and those of future versions.
type Other struct {
	Name string
	Args []Arg
	Dst  string // after ->
	form form
}

// An Arg is an argument of an Other action: "key=value", "key:value", "value", or "key(args)".
type Arg struct {
	Key, Value string
	Sub        []Arg
	sep        byte // '=', ':', '(', 0 for a bare value
}

// form is how an action's arguments look.
type form uint8

const (
	formBare  form = iota // name
	formColon             // name:args
	formParen             // name(args)
)

// A Table is a table by number, or by name if names are shown.
type Table struct {
	Number int
	Name   string
}

// NoTable means no table was given.
var NoTable = Table{Number: -1}

// LoadedBits is the same as an action, written as a SetField if it sets bits of a field: dumps of old and new OpenFlow
// versions write them differently.
func LoadedBits(a Action) (SetField, bool) {
	switch a := a.(type) {
	case SetField:
		return SetField{Field: a.Field, Value: a.Value.And(a.Mask), Mask: a.Mask}, true
	case Load:
		return SetField{Field: a.Dst.Field, Value: a.Value.Shl(a.Dst.Lo), Mask: a.Dst.Mask()}, true
	case Modify:
		if a.Field != nil {
			return SetField{Field: a.Field, Value: a.Value, Mask: a.Field.Mask()}, true
		}
	}
	return SetField{}, false
}
