package decode

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// NamedEntry returns the match and actions of a bridge's flow with names. f is what [Namer.Entry] returned for it.
func (n *Namer) NamedEntry(ctx context.Context, bridge string, e *openflow.FlowEntry, f *Flow) (match, actions NamedText) {
	at := Context{Bridge: bridge, OVN: mentionsDatapath(e)}
	for _, t := range e.Match.Terms { // the datapath may come after terms that depend on it
		switch {
		case t.Field == nil || t.Mask != t.Field.Mask():
		case t.Field.Name == "metadata":
			at.Metadata = t.Value.Lo
		case t.Field.Name == "tun_id":
			at.TunID = t.Value.Lo
		}
	}
	m := writer{Namer: n, ctx: ctx}
	m.match(e.Match, at)
	a := writer{Namer: n, ctx: ctx, flow: f}
	if len(e.Actions) == 0 {
		a.text.WriteString(e.Actions.String())
	}
	a.actions(e.Actions, at)
	return m.named(), a.named()
}

// A writer formats parsed flows as Open vSwitch does and collects the names.
type writer struct {
	*Namer
	ctx   context.Context
	flow  *Flow // the actions' flow; nil if not OVN's
	text  strings.Builder
	names []Name
}

func (w *writer) named() NamedText { return NamedText{w.text.String(), w.names} }

// name adds a name after what is written so far, unless it is empty.
func (w *writer) name(field, value, name string) {
	if name != "" {
		w.names = append(w.names, Name{At: w.text.Len(), Field: field, Value: value, Name: name})
	}
}

func (w *writer) match(m openflow.Match, at Context) {
	for i, t := range m.Terms {
		if i > 0 {
			w.text.WriteByte(',')
		}
		text := t.String()
		w.text.WriteString(text)
		if t.Field == nil || t.Absent || !HasNames(t.Field) {
			continue
		}
		_, value, _ := strings.Cut(text, "=")
		if t.Field.Name == "in_port" {
			w.name("in_port", value, w.PortName(at.Bridge, t.Port))
		} else {
			w.name(t.Field.Name, value, w.Value(t.Field, t.Value, t.Mask, 0, at))
		}
	}
}

// actions writes actions that start at a place; each may change it for the next.
func (w *writer) actions(list openflow.Actions, at Context) {
	for i, a := range list {
		if i > 0 {
			w.text.WriteByte(',')
		}
		for _, p := range openflow.Parts(a) {
			if p.Actions != nil {
				w.actions(p.Actions, at)
				continue
			}
			w.text.WriteString(p.Text)
			if p.Of != nil {
				w.name(w.nameOf(p.Of, &at))
			}
		}
	}
}

// nameOf names a part of an action, and updates the place as the action does.
func (w *writer) nameOf(of any, at *Context) (field, value, name string) {
	switch v := of.(type) {
	case openflow.SetField:
		return w.written(packet.Whole(v.Field), v.Value, v.Mask, v.Field.PrintMasked(v.Value, v.Mask), at)
	case openflow.Load:
		mask := v.Dst.Mask()
		return w.written(v.Dst, v.Value.Shl(v.Dst.Lo).And(mask), mask, v.Value.Hex(), at)
	case openflow.Resubmit:
		return w.target(v.Table, *at)
	case openflow.GotoTable:
		return w.target(v.Table, *at)
	case openflow.Table:
		return w.target(v, *at)
	case openflow.Output:
		if v.Src == nil {
			return "output", v.Port.String(), w.PortName(at.Bridge, v.Port)
		}
	case openflow.Zone:
		zone := &packet.CTZone
		return "ct_zone", strconv.Itoa(int(v)), w.Value(zone, packet.Uint(uint64(v)), zone.Mask(), 0, *at)
	case openflow.Group:
		if w.IsOVN(*at) {
			return "group", number(v.ID), w.GroupName(v.ID, w.flow.Balances())
		}
	case openflow.Meter:
		if w.IsOVN(*at) {
			return "meter", number(v.ID), w.MeterName(v.ID)
		}
	case openflow.Userdata:
		return "userdata", v.String(), w.UserdataText(w.ctx, v, *at)
	case openflow.LearnArg:
		return w.learned(v, at)
	}
	return "", "", ""
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// written names a value written to a field.
func (w *writer) written(dst packet.Subfield, value, mask packet.Value, text string, at *Context) (field, shown, name string) {
	f := dst.Field
	if dst.Lo == 0 && (mask == f.Mask() || dst.Bits < f.Bits) {
		switch f.Name {
		case "metadata":
			at.Metadata, at.Bridge = value.Lo, w.Bridge
		case "tun_id":
			at.TunID = value.Lo
		}
	}
	switch {
	case !HasNames(f):
		return "", "", ""
	case f.Name == "in_port":
		return f.Name, text, w.PortName(at.Bridge, packet.PortID{Number: uint32(value.Lo)})
	}
	return f.Name, text, w.Written(f, value, mask, dst.Lo, *at)
}

// target names a table that the packet is sent to.
func (w *writer) target(t openflow.Table, at Context) (field, value, name string) {
	if t.Name != "" || t.Number < 0 || !w.IsOVN(at) {
		return "", "", ""
	}
	return "table", t.String(), w.Target(w.ctx, t.Number, at.Metadata)
}

// learned names an argument of learn: the table of the new flow, or a value that the flow writes.
func (w *writer) learned(a openflow.LearnArg, at *Context) (field, value, name string) {
	switch {
	case a.Form == openflow.LearnAssign && a.Key == "table":
		if n, err := strconv.Atoi(a.Value); err == nil {
			return w.target(openflow.Table{Number: n}, *at)
		}
	case a.Form == openflow.LearnAction && a.Key == "load" && a.Dst != "":
		if action, err := openflow.ParseAction(a.String()); err == nil {
			return w.nameOf(action, at)
		}
	}
	return "", "", ""
}

// NamedMegaflow returns the key and actions of a megaflow with names.
func (n *Namer) NamedMegaflow(ctx context.Context, key, actions openflow.Attrs) (match, does NamedText) {
	return n.namedAttrs(ctx, key, false), n.namedAttrs(ctx, actions, true)
}

func (n *Namer) namedAttrs(ctx context.Context, list openflow.Attrs, actions bool) NamedText {
	var names []Name
	at := Context{VXLAN: mentions(list, "vxlan")}
	text := list.Print(func(list openflow.Attrs, i, depth, end int) {
		field, value, name := n.attrName(ctx, list, i, &at)
		if a := list[i]; actions && depth == 0 && a.Name == "" && a.List == nil {
			field, value, name = "output", a.Value, n.DatapathPort(a.Value)
		}
		if name != "" {
			names = append(names, Name{At: end, Field: field, Value: value, Name: name})
		}
	})
	return NamedText{text, names}
}

// mentions reports whether an attribute has that name.
func mentions(list openflow.Attrs, name string) bool {
	for _, a := range list {
		if a.Name == name || mentions(a.List, name) {
			return true
		}
	}
	return false
}

// attrName names item i of a list of attributes.
func (n *Namer) attrName(ctx context.Context, list openflow.Attrs, i int, at *Context) (field, value, name string) {
	a := list[i]
	value = a.Value
	if a.List != nil {
		value = a.List.String()
	}
	switch a.Name {
	case "in_port":
		return a.Name, value, n.DatapathPort(value)
	case "userdata":
		if data, err := hex.DecodeString(strings.ReplaceAll(value, ".", "")); err == nil {
			return a.Name, value, n.UserdataText(ctx, data, *at)
		}
	case "":
		if i >= 3 && list[i-3].String() == "class=0x102" && list[i-2].String() == "type=0x80" && list[i-1].String() == "len=4" {
			option, _, _ := strings.Cut(value, "/")
			if bits, err := strconv.ParseUint(option, 0, 32); err == nil {
				return "geneve", value, n.Option(uint32(bits), true, *at)
			}
		}
	}
	f := datapathField(a.Name)
	if f == nil {
		return "", "", ""
	}
	v, mask, err := f.ParseValue(value)
	if err != nil {
		return "", "", ""
	}
	if f.Name == "tun_id" {
		at.TunID = v.Lo
	}
	return f.Name, value, n.Value(f, v, mask, 0, *at)
}

// datapathField returns the field that the OVS datapath calls name; nil if its values have no names.
func datapathField(name string) *packet.Field {
	switch name {
	case "zone":
		name = "ct_zone"
	case "mark":
		name = "ct_mark"
	case "label", "labels":
		name = "ct_label"
	case "vni":
		name = "tun_id"
	case "ct_zone", "ct_mark", "ct_label", "tun_id":
	default:
		return nil
	}
	f, _ := packet.Lookup(name)
	return f
}
