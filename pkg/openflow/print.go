package openflow

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// String writes the actions as ovs-ofctl(8) does, "drop" for none.
func (list Actions) String() string {
	if len(list) == 0 {
		return "drop"
	}
	return list.join()
}

func (list Actions) join() string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}

func (o Output) String() string {
	switch {
	case o.Src != nil:
		return "output:" + o.Src.String()
	case o.MaxLen > 0:
		return fmt.Sprintf("output(port=%s,max_len=%d)", o.Port, o.MaxLen)
	case o.Port.Name == "" && o.Port.Number >= packet.PortMax:
		return o.reserved()
	}
	return "output:" + o.Port.String()
}

// reserved writes the port, a reserved one without "output:".
func (o Output) reserved() string {
	text := o.Port.String()
	if text[0] >= '0' && text[0] <= '9' || o.Port.Number == packet.PortController {
		return "output:" + text
	}
	return text
}

// dotted writes bytes as hex digits separated by dots.
func dotted(b []byte) string {
	digits := hex.EncodeToString(b)
	var s strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			s.WriteByte('.')
		}
		s.WriteString(digits[i : i+2])
	}
	return s.String()
}

func (a SetField) String() string {
	name := a.Name
	if name == "" {
		name = a.Field.Name
	}
	value := a.Field.PrintMasked(a.Value, a.Mask)
	switch {
	case a.masked:
		value += "/" + a.Mask.Hex()
	case a.Mask.IsZero() && a.Field.Format != packet.Port:
		value = anyBits
	}
	return "set_field:" + value + "->" + name
}

func (a Load) String() string { return "load:" + a.Value.Hex() + "->" + a.Dst.String() }

func (a Move) String() string { return "move:" + a.Src.String() + "->" + a.Dst.String() }

func (a Push) String() string { return "push:" + a.Src.String() }

func (a Pop) String() string { return "pop:" + a.Dst.String() }

func (a Modify) String() string {
	text := a.Field.Print(a.Value)
	if a.paren {
		return a.Name + "(" + text + ")"
	}
	return a.Name + ":" + text
}

func (a Resubmit) String() string {
	port := ""
	if a.Port != nil {
		port = a.Port.String()
	}
	if a.bare {
		return "resubmit:" + port
	}
	table := ""
	if a.Table != NoTable {
		table = a.Table.String()
	}
	if a.CT {
		return "resubmit(" + port + "," + table + ",ct)"
	}
	return "resubmit(" + port + "," + table + ")"
}

// String writes the table's name if known, else its number.
func (t Table) String() string {
	if t.Name != "" {
		return packet.QuoteName(t.Name)
	}
	return strconv.Itoa(t.Number)
}

func (a GotoTable) String() string { return "goto_table:" + a.Table.String() }

func (n NAT) String() string {
	var args []string
	add := func(ok bool, s string) {
		if ok {
			args = append(args, s)
		}
	}
	ends := ""
	if n.Min.IsValid() {
		ends = "=" + n.ends()
	}
	add(n.Src, "src"+ends)
	add(n.Dst, "dst"+ends)
	add(n.Persistent, "persistent")
	add(n.Hash, "hash")
	add(n.Random, "random")
	if len(args) == 0 {
		return "nat"
	}
	return "nat(" + strings.Join(args, ",") + ")"
}

// ends writes the address and port range.
func (n NAT) ends() string {
	addr := func(a netip.Addr) string {
		if a.Is6() && n.MinPort != 0 {
			return "[" + a.String() + "]"
		}
		return a.String()
	}
	s := addr(n.Min)
	if n.Max != n.Min {
		s += "-" + addr(n.Max)
	}
	if n.MinPort == 0 {
		return s
	}
	s += ":" + strconv.Itoa(int(n.MinPort))
	if n.MaxPort != n.MinPort {
		s += "-" + strconv.Itoa(int(n.MaxPort))
	}
	return s
}

func (CTClear) String() string { return "ct_clear" }

func (a Group) String() string { return "group:" + decimal(uint64(a.ID)) }

func (a Conjunction) String() string {
	return fmt.Sprintf("conjunction(%d,%d/%d)", a.ID, a.Clause, a.N)
}

func (a Note) String() string { return "note:" + dotted(a.Data) }

func (a CheckPktLarger) String() string {
	return fmt.Sprintf("check_pkt_larger(%d)->%s", a.Size, a.Dst)
}

func (a Meter) String() string { return "meter:" + decimal(uint64(a.ID)) }

func (a SetQueue) String() string { return "set_queue:" + decimal(uint64(a.Queue)) }

func (PopQueue) String() string { return "pop_queue" }

func (a DecTTL) String() string {
	if !a.paren && len(a.IDs) == 0 {
		return "dec_ttl"
	}
	ids := make([]string, len(a.IDs))
	for i, id := range a.IDs {
		ids[i] = strconv.Itoa(int(id))
	}
	return "dec_ttl(" + strings.Join(ids, ",") + ")"
}

func (a PushVLAN) String() string { return fmt.Sprintf("push_vlan:%#04x", a.EthType) }

func (a PopVLAN) String() string {
	if a.strip {
		return "strip_vlan"
	}
	return "pop_vlan"
}

func (a WriteMetadata) String() string {
	return "write_metadata:" + packet.Metadata.PrintMasked(a.Value, a.Mask)
}

func (ClearActions) String() string { return "clear_actions" }

// String writes the argument as ovs-ofctl(8) does.
func (a LearnArg) String() string {
	switch {
	case a.Form == LearnAssign:
		return a.Key + "=" + a.Value
	case a.Form == LearnAction && a.Dst != "":
		return a.Key + ":" + a.Value + "->" + a.Dst
	case a.Form == LearnAction:
		return a.Key + ":" + a.Value
	}
	return a.Key
}

func (Exit) String() string { return "exit" }

func (Drop) String() string { return "drop" }

func (a Other) String() string {
	s := a.Name
	switch a.form {
	case formColon:
		s += ":" + joinArgs(a.Args)
	case formParen:
		s += "(" + joinArgs(a.Args) + ")"
	}
	if a.Dst != "" {
		s += "->" + a.Dst
	}
	return s
}

func joinArgs(args []Arg) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}

// String writes the argument as read.
func (a Arg) String() string {
	switch a.sep {
	case 0:
		return a.Value
	case '(':
		return a.Key + "(" + joinArgs(a.Sub) + ")" + a.Value
	}
	return a.Key + string(a.sep) + a.Value
}
