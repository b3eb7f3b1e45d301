package ovnexpr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/release"
)

// A Place is the table that a logical flow is in.
type Place struct {
	Pipeline string // "ingress" or "egress"
	Table    int
}

// Canonical writes an action as a release of OVN writes it after parsing, whatever its author wrote: defaults filled in,
// redundant parts left out. It depends on where the flow is: next to the next table needs no number.
func Canonical(a Action, version release.Series, at Place) string {
	return writer{version}.action(a, at)
}

// Target returns the table where a flow's next continues.
func (a *Next) Target(at Place) Place {
	if a.Pipeline != "" {
		at.Pipeline = a.Pipeline
	}
	if a.HasTable {
		at.Table = a.Table
	} else {
		at.Table++
	}
	return at
}

// A writer writes actions as a release does.
type writer struct{ version release.Series }

// all writes a list of actions.
func (w writer) all(list Actions, at Place) string {
	s := make([]string, 0, len(list))
	for _, a := range list {
		if _, dropped := a.(*Drop); !dropped {
			s = append(s, w.action(a, at))
		}
	}
	if len(s) == 0 {
		return "drop;"
	}
	return strings.Join(s, " ")
}

// first returns the first of some actions; nil if there is none. A drop is always alone.
func first(list Actions) Action {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// action writes one action.
func (w writer) action(a Action, at Place) string {
	switch a := a.(type) {
	case *Next:
		return formatNext(a, at)
	case *Nested:
		return a.Name + " { " + w.all(a.Actions, at) + " };"
	case *CTCommit:
		if _, drops := first(a.Actions).(*Drop); len(a.Old) == 0 && (len(a.Actions) == 0 || drops) {
			return "ct_commit;"
		}
		if a.Nested {
			return "ct_commit { " + w.all(a.Actions, at) + " };"
		}
	case *CTNext:
		if a.Zone == "" && w.version.Has(release.ZoneNamed) {
			return "ct_next(dnat);"
		}
	case *CTCommitTo:
		if a.Zone == "" && w.version.Has(release.ZoneNamed) {
			return a.Name + "(dnat);"
		}
	case *Select:
		return formatSelect(a)
	case *PutOptions:
		return a.Result.String() + " = " + a.Name + "(" + FormatOptions(a.Options) + ");"
	case *TriggerEvent:
		s := "trigger_event(event = \"" + a.Event + "\""
		if len(a.Options) > 0 {
			s += ", " + FormatOptions(a.Options)
		}
		return s + ");"
	case *Log:
		return formatLog(a)
	case *Sample:
		return formatSample(a)
	case *ForwardGroup:
		b := *a
		if b.Liveness == "false" {
			b.Liveness = ""
		}
		if b.Liveness == "" && len(b.Ports) == 0 {
			return "fwd_group();" // which OVN itself cannot read
		}
		return b.String()
	}
	return a.String()
}

func formatNext(a *Next, at Place) string {
	to := a.Target(at)
	switch {
	case to.Pipeline != at.Pipeline:
		return fmt.Sprintf("next(pipeline=%s, table=%d);", to.Pipeline, to.Table)
	case to.Table != at.Table+1:
		return fmt.Sprintf("next(%d);", to.Table)
	}
	return "next;"
}

func formatSelect(a *Select) string {
	members := make([]string, len(a.Members))
	for i, m := range a.Members {
		if m.Weight == 0 {
			m.Weight = 100
		}
		members[i] = fmt.Sprintf("%d=%d", m.ID, m.Weight)
	}
	list := strings.Join(members, ", ")
	if a.HashFields != "" {
		return fmt.Sprintf("%s = select(values=(%s); hash_fields=\"%s\");", a.To, list, a.HashFields)
	}
	return fmt.Sprintf("%s = select(%s);", a.To, list)
}

// FormatOptions writes options as OVN does: several values in braces.
func FormatOptions(list []Parameter) string {
	s := make([]string, len(list))
	for i, p := range list {
		v := p.Values
		v.Braces = v.Braces || len(v.Items) != 1
		s[i] = p.Name + " = " + v.String()
	}
	return strings.Join(s, ", ")
}

func formatLog(a *Log) string {
	s := "log("
	if a.Name != "" {
		s += "name=\"" + a.Name + "\", "
	}
	s += "verdict=" + a.Verdict + ", severity=" + word(a.Severity == "", "info", a.Severity)
	if a.Meter != "" {
		s += ", meter=\"" + a.Meter + "\""
	}
	return s + ");"
}

func formatSample(a *Sample) string {
	point := strconv.FormatUint(uint64(a.Point), 10)
	switch {
	case a.Cookie:
		point = "$cookie"
	case a.PointField != nil:
		point = a.PointField.String()
	}
	return fmt.Sprintf("sample(probability=%d,collector_set=%d,obs_domain=%d,obs_point=%s);",
		a.Probability, a.CollectorSet, a.Domain, point)
}
