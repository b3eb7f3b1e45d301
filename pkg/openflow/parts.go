package openflow

import (
	"strconv"
	"strings"
)

// A Part is a piece of an action as ovs-ofctl(8) writes it: text, or nested actions. Printing part by part allows
// annotating values, for example with their names.
type Part struct {
	Text    string
	Of      any     // what Text stands for: an [Action], [Table], [Zone], [Userdata] or [LearnArg]; nil if nothing
	Actions Actions // instead of Text
}

type (
	// A Zone is a conntrack zone, as a [Part].
	Zone uint16
	// Userdata is the bytes for the controller, as a [Part].
	Userdata []byte
)

// String writes the bytes as ovs-ofctl(8) does.
func (u Userdata) String() string { return dotted(u) }

// Parts returns the pieces of an action in order. Most actions are one piece.
func Parts(a Action) []Part {
	if p, ok := a.(interface{ parts() []Part }); ok {
		return p.parts()
	}
	return []Part{{Text: a.String(), Of: a}}
}

// An argList collects the arguments of an action.
type argList []Part

// add adds an argument if given.
func (l *argList) add(given bool, text string, of any) {
	if given {
		l.comma()
		*l = append(*l, Part{Text: text, Of: of})
	}
}

func (l *argList) comma() {
	if len(*l) > 0 {
		*l = append(*l, Part{Text: ","})
	}
}

// of returns the action of that name with these arguments.
func (l argList) of(name string) []Part {
	parts := append(make([]Part, 0, len(l)+2), Part{Text: name + "("})
	return append(append(parts, l...), Part{Text: ")"})
}

// join concatenates parts.
func join(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Actions != nil {
			b.WriteString(p.Actions.join())
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func (c Controller) parts() []Part {
	if c.Short {
		return []Part{{Text: "CONTROLLER:" + strconv.Itoa(int(c.MaxLen)), Of: c}}
	}
	var l argList
	l.add(c.Reason != "", "reason="+c.Reason, nil)
	l.add(c.MaxLen != 65535, "max_len="+decimal(uint64(c.MaxLen)), nil)
	l.add(c.ID != 0, "id="+decimal(uint64(c.ID)), nil)
	l.add(c.Userdata != nil, "userdata="+Userdata(c.Userdata).String(), Userdata(c.Userdata))
	l.add(c.Pause, "pause", nil)
	l.add(c.MeterID != 0, "meter_id="+decimal(uint64(c.MeterID)), Meter{c.MeterID})
	return l.of("controller")
}

func (a CT) parts() []Part {
	var l argList
	l.add(a.Commit, "commit", nil)
	l.add(a.Force, "force", nil)
	l.add(a.Table != NoTable, "table="+a.Table.String(), a.Table)
	switch {
	case a.ZoneSrc != nil:
		l.add(true, "zone="+a.ZoneSrc.String(), nil)
	case a.HasZone:
		l.add(true, "zone="+decimal(uint64(a.Zone)), Zone(a.Zone))
	}
	if a.NAT != nil {
		l.add(true, a.NAT.String(), nil)
	}
	if a.Exec != nil {
		l.comma()
		l = append(l, Part{Text: "exec("}, Part{Actions: a.Exec}, Part{Text: ")"})
	}
	l.add(a.Alg != "", "alg="+a.Alg, nil)
	return l.of("ct")
}

func (a Clone) parts() []Part        { return argList{{Actions: a.Actions}}.of("clone") }
func (a WriteActions) parts() []Part { return argList{{Actions: a.Actions}}.of("write_actions") }

func (a Learn) parts() []Part {
	var l argList
	for _, arg := range a.Args {
		l.add(true, arg.String(), arg)
	}
	return l.of("learn")
}

func (c Controller) String() string { return join(c.parts()) }

func (a CT) String() string { return join(a.parts()) }

func (a Clone) String() string { return join(a.parts()) }

func (a WriteActions) String() string { return join(a.parts()) }

func (a Learn) String() string { return join(a.parts()) }
