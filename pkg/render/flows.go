package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flowtable"
)

// Flows writes a bridge's flows as a table; wide shows all columns.
func Flows(w io.Writer, s Style, wide bool, t flowtable.FlowTable) error {
	head := fmt.Sprintf("%s  bridge %s  %s", t.Node, t.Bridge, count(t.Found, "flow"))
	if t.Found != t.Total {
		head += fmt.Sprintf(" of %d", t.Total)
	}
	if len(t.Flows) < t.Found {
		head += fmt.Sprintf(", the first %d shown", len(t.Flows))
	}
	if _, err := fmt.Fprintln(w, s.paint(s.clean(head), Title)); err != nil {
		return err
	}
	if t.Expected != nil {
		return expectedFlows(w, s, wide, t)
	}
	rated := len(t.Flows) > 0 && t.Flows[0].Rate != nil
	table := &Table{Header: []string{"PACKETS"}}
	if rated {
		table.Header = append(table.Header, "PER SECOND")
	}
	if wide {
		table.Header = append(table.Header, "BYTES", "IDLE", "COOKIE")
	}
	table.Header = append(table.Header, "TABLE", "PRIORITY", "DOES", "FOR", "MATCH")
	if wide {
		table.Header = append(table.Header, "ACTIONS")
	}
	for _, f := range t.Flows {
		look := Plain
		if f.Drop && f.Packets > 0 {
			look = Bad
		}
		row := []Line{Text(strconv.FormatUint(f.Packets, 10), look)}
		if rated {
			row = append(row, Text(rate(f.Rate)))
		}
		if wide {
			idle, cookie := "", ""
			if f.Idle != nil {
				idle = strconv.Itoa(*f.Idle) + "s"
			}
			if f.Flow != nil {
				cookie = f.Flow.Cookie
			}
			row = append(row, Text(strconv.FormatUint(f.Bytes, 10)), Text(idle), Text(cookie))
		}
		row = append(row, Text(f.StageText()), Text(strconv.Itoa(f.Priority)), Text(f.Does, look), Text(f.For(), Name), Text(f.DecodedMatch))
		if wide {
			row = append(row, Text(f.DecodedActions))
		}
		table.Row(row...)
	}
	return WriteTables(w, s, !wide, table)
}

// expectedFlows writes flows beside those that ovn-controller would install.
func expectedFlows(w io.Writer, s Style, wide bool, t flowtable.FlowTable) error {
	e := t.Expected
	head := fmt.Sprintf("%d as ovn-controller would install them, %d edited, %d missing, %d foreign", e.Equal, e.Edited, e.Missing, e.Foreign)
	if _, err := fmt.Fprintln(w, s.clean(head)); err != nil {
		return err
	}
	why := map[string][]string{}
	for _, n := range e.NotCompiled {
		why[n.Reason] = append(why[n.Reason], n.UUID)
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		of := count(len(why[reason]), "logical flow") + ", such as " + why[reason][0]
		if len(why[reason]) == 1 {
			of = "logical flow " + why[reason][0]
		}
		if _, err := fmt.Fprintln(w, s.paint(s.clean("! not compiled: "+of+": "+reason), Warn)); err != nil {
			return err
		}
	}
	table := &Table{Header: []string{"DIFFERENCE", "TABLE", "PRIORITY", "FOR", "MATCH", "INSTALLED", "EXPECTED"}}
	for _, f := range t.Flows {
		look := Plain
		if f.Difference != "equal" {
			look = Bad
		}
		installed, wanted := f.DecodedActions, []string{}
		if f.Difference == "missing" {
			installed = ""
		}
		for _, x := range f.Expected {
			text := x.DecodedActions
			if wide {
				text = "cookie=" + x.Cookie + " " + text
			}
			wanted = append(wanted, text)
		}
		if wide && installed != "" && f.Flow != nil {
			installed = "cookie=" + f.Flow.Cookie + " " + installed
		}
		if f.Difference == "equal" {
			wanted = []string{"the same"}
		}
		table.Row(Text(f.Difference, look), Text(f.StageText()), Text(strconv.Itoa(f.Priority)), Text(f.For(), Name), Text(f.DecodedMatch),
			Text(installed), Text(strings.Join(wanted, " or "), look))
	}
	return WriteTables(w, s, !wide, table)
}

func rate(r *float64) string {
	if r == nil {
		return ""
	}
	return strconv.FormatFloat(*r, 'f', 1, 64)
}

// Megaflows writes the OVS datapath's flow cache: its statistics, then its entries, each with its OpenFlow rules.
func Megaflows(w io.Writer, s Style, c flowtable.Cache) error {
	var out strings.Builder
	line := func(indent int, l ...Span) {
		out.WriteString(strings.Repeat(" ", indent) + s.painted(s.prepare(l)) + "\n")
	}
	st := c.Stats
	head := fmt.Sprintf("%s  datapath %s  %s", c.Node, st.Datapath, count(st.Flows, "megaflow"))
	if st.FlowLimit != nil {
		head += fmt.Sprintf(" of at most %d", *st.FlowLimit)
	}
	line(0, Span{head + ", " + count(st.Masks, "mask"), Title})
	text := fmt.Sprintf("since ovs-vswitchd started: %d packets hit the cache, %d missed, %d were lost", st.Hits, st.Missed, st.Lost)
	if st.HitRate != nil {
		text += fmt.Sprintf("; hit rate %.1f %%", *st.HitRate*100)
	}
	if st.PerPacket != nil {
		text += fmt.Sprintf(", %.2f masks per hit", *st.PerPacket)
	}
	line(0, Span{Text: text})
	for _, trouble := range st.Trouble() {
		line(0, Span{"! " + trouble, Warn})
	}
	if len(c.Megaflows) < c.Found {
		line(0, Span{fmt.Sprintf("the first %d of %d shown", len(c.Megaflows), c.Found), Faint})
	}
	for _, f := range c.Megaflows {
		out.WriteByte('\n')
		text := count(int(f.Packets), "packet")
		if f.Rate != nil {
			text += ", " + rate(f.Rate) + " per second"
		}
		if f.Used != nil {
			text += fmt.Sprintf(", last %.1f s ago", *f.Used)
		}
		line(0, Span{text, Title})
		line(2, Span{"match    ", Faint}, Span{Text: f.DecodedMatch})
		line(2, Span{"actions  ", Faint}, Span{Text: f.DecodedActions})
		for _, r := range f.Rules {
			stage := strconv.Itoa(r.Table)
			if r.Stage != "" {
				stage += " " + r.Stage
			}
			line(2, Span{"rule     ", Faint}, Span{Text: fmt.Sprintf("%s %-26s priority %-5d ", r.Bridge, stage, r.Priority)}, Span{r.For, Name})
		}
		if f.Unknown != "" {
			line(2, Span{"rules    unknown: " + f.Unknown, Faint})
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
