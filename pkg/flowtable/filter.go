package flowtable

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// A Filter selects the flows that satisfy all fields that are set.
type Filter struct {
	Table  *int
	Stage  string // a stage or a table of ovn-controller, case-insensitive; if none has that name, a prefix of several
	Cookie *uint64
	Object string   // all or part of the name, owner or UUID of what the flow was made for
	Rows   []string // UUIDs of what flows were made for, instead of Object
	Ports  []Port   // any of them
	Drops  bool
}

// A Port is a port with all its numbers.
type Port struct {
	Name          string // the logical port, or an interface
	Datapath, Key uint64 // 0 if it has no logical port
	Numbers       []int  // OpenFlow ports in the bridge
}

// FindPorts finds ports by an operator's name for them: the name of a logical port, its owner, such as NAMESPACE/POD,
// or an interface of the bridge.
func FindPorts(names *decode.Names, bridge, text string) []Port {
	var ports []Port
	for _, p := range names.PortsCalled(text) {
		port := Port{Name: p.Name, Key: p.Key}
		if p.Datapath != nil {
			port.Datapath = p.Datapath.Key
		}
		for _, of := range names.OFPorts(bridge) {
			if of.LogicalPort == p.Name {
				port.Numbers = append(port.Numbers, of.Number)
			}
		}
		ports = append(ports, port)
	}
	for _, of := range names.OFPorts(bridge) {
		if of.Interface == text {
			ports = append(ports, Port{Name: text, Numbers: []int{of.Number}})
		}
	}
	return ports
}

// Select returns the flows that pass the filter.
func (x Filter) Select(flows []Flow) []Flow {
	inStage := func(f *Flow) bool { return f.Decoded != nil && f.Decoded.StageName() == strings.ToLower(x.Stage) }
	// ls_in_acl must not match ls_in_acl_hint too. But since 23.06 it stands for ls_in_acl_eval and others.
	if !slices.ContainsFunc(flows, func(f Flow) bool { return inStage(&f) }) {
		inStage = func(f *Flow) bool {
			return f.Decoded != nil && strings.HasPrefix(f.Decoded.StageName(), strings.ToLower(x.Stage))
		}
	}
	return slices.DeleteFunc(slices.Clone(flows), func(f Flow) bool {
		return x.Stage != "" && !inStage(&f) || !x.passes(&f)
	})
}

// passes checks everything but the stage.
func (x Filter) passes(f *Flow) bool {
	switch {
	case x.Drops && !f.Drop,
		x.Table != nil && max(f.Entry.Table.Number, 0) != *x.Table,
		x.Cookie != nil && f.Entry.Cookie != *x.Cookie,
		x.Object != "" && !x.madeFor(f),
		len(x.Ports) > 0 && !slices.ContainsFunc(x.Ports, f.concerns):
		return false
	}
	return true
}

func (x Filter) madeFor(f *Flow) bool {
	if f.Decoded == nil {
		return false
	}
	for _, o := range f.Decoded.Objects {
		if len(x.Rows) > 0 {
			if slices.Contains(x.Rows, string(o.UUID)) {
				return true
			}
			continue
		}
		for _, text := range []string{o.Name, o.Owner.String(), o.Text} {
			if strings.Contains(strings.ToLower(text), strings.ToLower(x.Object)) {
				return true
			}
		}
		if len(x.Object) >= 4 && strings.HasPrefix(string(o.UUID), strings.ToLower(x.Object)) {
			return true
		}
	}
	return false
}

// concerns reports whether the flow matches on a port, sends packets to it, or was made for it.
func (f *Flow) concerns(p Port) bool {
	if f.Decoded != nil && slices.ContainsFunc(f.Decoded.Objects, func(o decode.Object) bool { return o.Name == p.Name && strings.Contains(o.Kind, "port") }) {
		return true
	}
	t, _ := f.Entry.Match.Field("metadata")
	metadata := t.Value.Lo
	for _, t := range f.Entry.Match.Terms {
		switch {
		case t.Field == nil:
		case t.Field.Name == "in_port" && (slices.Contains(p.Numbers, int(t.Port.Number)) && t.Port.Name == "" || t.Port.Name == p.Name):
			return true
		case (t.Field.Name == "reg14" || t.Field.Name == "reg15") && p.is(metadata, t.Value.Lo):
			return true
		}
	}
	return p.in(f.Entry.Actions, metadata)
}

func (p Port) is(datapath, key uint64) bool {
	return p.Key != 0 && datapath == p.Datapath && key == p.Key
}

// in reports whether actions on a datapath's packet send it to the port.
func (p Port) in(list openflow.Actions, metadata uint64) bool {
	for _, action := range list {
		found := false
		switch a := action.(type) {
		case openflow.Output:
			found = a.Src == nil && (a.Port.Name == "" && slices.Contains(p.Numbers, int(a.Port.Number)) || a.Port.Name == p.Name)
		case openflow.SetField:
			found = p.written(a.Field.Name, a.Value.Lo, &metadata)
		case openflow.Load:
			found = p.written(a.Dst.Field.Name, a.Value.Lo, &metadata)
		case openflow.Clone:
			found = p.in(a.Actions, metadata)
		}
		if found {
			return true
		}
	}
	return false
}

// written reports whether writing a value to a field makes this the packet's port. It keeps track of the datapath.
func (p Port) written(field string, value uint64, metadata *uint64) bool {
	if field == "metadata" {
		*metadata = value
	}
	return (field == "reg14" || field == "reg15") && p.is(*metadata, value)
}
