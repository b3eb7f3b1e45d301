package microflow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// A writer writes actions as a release of OVN writes them after parsing: defaults filled in, redundant parts left out.
type writer struct{ version release.Series }

// all writes a list of actions.
func (w writer) all(list ovnexpr.Actions, at logicalflow.Table) string {
	s := make([]string, 0, len(list))
	for _, a := range list {
		if _, dropped := a.(*ovnexpr.Drop); !dropped {
			s = append(s, w.action(a, at))
		}
	}
	if len(s) == 0 {
		return "drop;"
	}
	return strings.Join(s, " ")
}

// action writes one action.
func (w writer) action(a ovnexpr.Action, at logicalflow.Table) string {
	switch a := a.(type) {
	case *ovnexpr.Next:
		return formatNext(a, at)
	case *ovnexpr.Nested:
		return a.Name + " { " + w.all(a.Actions, at) + " };"
	case *ovnexpr.CTCommit:
		if len(a.Actions) == 0 && len(a.Old) == 0 {
			return "ct_commit;"
		}
		if a.Nested {
			return "ct_commit { " + w.all(a.Actions, at) + " };"
		}
	case *ovnexpr.CTNext:
		if a.Zone == "" && w.version.Has(release.ZoneNamed) {
			return "ct_next(dnat);"
		}
	case *ovnexpr.CTCommitTo:
		if a.Zone == "" && w.version.Has(release.ZoneNamed) {
			return a.Name + "(dnat);"
		}
	case *ovnexpr.Select:
		return formatSelect(a)
	case *ovnexpr.PutOptions:
		return a.Result.String() + " = " + a.Name + "(" + formatOptions(a.Options) + ");"
	case *ovnexpr.TriggerEvent:
		s := "trigger_event(event = \"" + a.Event + "\""
		if len(a.Options) > 0 {
			s += ", " + formatOptions(a.Options)
		}
		return s + ");"
	case *ovnexpr.Log:
		return formatLog(a)
	case *ovnexpr.Sample:
		return formatSample(a)
	case *ovnexpr.ForwardGroup:
		b := *a
		if b.Liveness == "false" {
			b.Liveness = ""
		}
		return b.String()
	}
	return a.String()
}

// target returns the table where next continues.
func target(a *ovnexpr.Next, at logicalflow.Table) logicalflow.Table {
	if a.Pipeline != "" {
		at.Pipeline = a.Pipeline
	}
	if a.HasTable {
		at.ID = a.Table
	} else {
		at.ID++
	}
	return at
}

func formatNext(a *ovnexpr.Next, at logicalflow.Table) string {
	to := target(a, at)
	switch {
	case to.Pipeline != at.Pipeline:
		return fmt.Sprintf("next(pipeline=%s, table=%d);", to.Pipeline, to.ID)
	case to.ID != at.ID+1:
		return fmt.Sprintf("next(%d);", to.ID)
	}
	return "next;"
}

func formatSelect(a *ovnexpr.Select) string {
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

// formatOptions writes parameters.
func formatOptions(list []ovnexpr.Parameter) string {
	s := make([]string, len(list))
	for i, p := range list {
		v := p.Values
		v.Braces = v.Braces || len(v.Items) != 1
		s[i] = p.Name + " = " + v.String()
	}
	return strings.Join(s, ", ")
}

func formatLog(a *ovnexpr.Log) string {
	s := "log("
	if a.Name != "" {
		s += "name=\"" + a.Name + "\", "
	}
	s += "verdict=" + a.Verdict + ", severity=" + severity(a)
	if a.Meter != "" {
		s += ", meter=\"" + a.Meter + "\""
	}
	return s + ");"
}

func severity(a *ovnexpr.Log) string {
	if a.Severity == "" {
		return "info"
	}
	return a.Severity
}

func formatSample(a *ovnexpr.Sample) string {
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

// hex returns a number as OVS writes the value of a sub-field.
func hex(v packet.Value) string { return "0x" + strings.TrimPrefix(v.Hex(), "0x") }

// value returns the value of a whole field.
func value(f *packet.Field, v packet.Value) string {
	if f.Format == packet.Hex {
		return hex(v)
	}
	return f.Print(v)
}
