package ovntrace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/lflow"
)

// formatAll writes actions as OVN does after it has read them.
func formatAll(list expr.Actions, at lflow.Table) string {
	s := make([]string, 0, len(list))
	for _, a := range list {
		if _, dropped := a.(*expr.Drop); !dropped {
			s = append(s, format(a, at))
		}
	}
	if len(s) == 0 {
		return "drop;"
	}
	return strings.Join(s, " ")
}

// format writes an action as OVN does after it has read it: with what was left out, and without what goes without
// saying.
func format(a expr.Action, at lflow.Table) string {
	switch a := a.(type) {
	case *expr.Next:
		return formatNext(a, at)
	case *expr.Nested:
		return a.Name + " { " + formatAll(a.Actions, at) + " };"
	case *expr.CTCommit:
		if len(a.Actions) == 0 && len(a.Old) == 0 {
			return "ct_commit;"
		}
		if a.Nested {
			return "ct_commit { " + formatAll(a.Actions, at) + " };"
		}
	case *expr.CTNext:
		if a.Zone == "" && a.Span.End > 0 {
			return a.String()
		}
	case *expr.Select:
		return formatSelect(a)
	case *expr.PutOptions:
		return a.Result.String() + " = " + a.Name + "(" + formatOptions(a.Options) + ");"
	case *expr.TriggerEvent:
		s := "trigger_event(event = \"" + a.Event + "\""
		if len(a.Options) > 0 {
			s += ", " + formatOptions(a.Options)
		}
		return s + ");"
	case *expr.Log:
		return formatLog(a)
	case *expr.Sample:
		return formatSample(a)
	case *expr.ForwardGroup:
		b := *a
		if b.Liveness == "false" {
			b.Liveness = ""
		}
		return b.String()
	}
	return a.String()
}

// target is the table where next goes on.
func target(a *expr.Next, at lflow.Table) lflow.Table {
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

func formatNext(a *expr.Next, at lflow.Table) string {
	to := target(a, at)
	switch {
	case to.Pipeline != at.Pipeline:
		return fmt.Sprintf("next(pipeline=%s, table=%d);", to.Pipeline, to.ID)
	case to.ID != at.ID+1:
		return fmt.Sprintf("next(%d);", to.ID)
	}
	return "next;"
}

func formatSelect(a *expr.Select) string {
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

// formatOptions writes parameters. A set with one member is written as the member.
func formatOptions(list []expr.Parameter) string {
	s := make([]string, len(list))
	for i, p := range list {
		v := p.Values
		v.Braces = len(v.Items) > 1
		s[i] = p.Name + " = " + v.String()
	}
	return strings.Join(s, ", ")
}

func formatLog(a *expr.Log) string {
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

func severity(a *expr.Log) string {
	if a.Severity == "" {
		return "info"
	}
	return a.Severity
}

func formatSample(a *expr.Sample) string {
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

// hex writes a number as OVS writes the value of a sub-field.
func hex(v flow.Value) string {
	if v.IsZero() {
		return "0x0"
	}
	return v.Hex()
}

// value writes the value of a whole field.
func value(f *flow.Field, v flow.Value) string {
	if f.Format == flow.Hex {
		return hex(v)
	}
	return f.Print(v)
}
