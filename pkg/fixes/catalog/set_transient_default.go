package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetTransientDefault writes the option to the default file.
var SetTransientDefault = &fixes.Repair{
	Name: "set-transient-default",
	Doc: `Make Open vSwitch remove transient ports when it starts

On Debian and Ubuntu adds the option --delete-transient-ports to OVS_CTL_OPTS in
/etc/default/openvswitch-switch, after the options that are there. Broken forms of it
are rewritten: a reference to the variable itself, which systemd does not expand; a
line that is glued to another; a value that systemd or ovs-ctl reads differently than
meant; a setting that a later line overrides. Comments stay.

On hosts with rpm packages ovs-delete-transient-ports.service does the work: it is
unmasked if it is masked, and if the package has none the option goes into OPTIONS
of /etc/sysconfig/openvswitch.

Nothing is restarted. It acts at the next start of ovsdb-server, on Debian at every
start including that of a package upgrade: then the uplink leaves the bridge until its
owner adds it again.`,
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "transient-default-missing",
	Also:  []string{"transient-default-self-reference", "transient-default-wrong-file-rhel", "transient-default-glued-or-commented"},
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		s, switchErr := h.Switch()
		var all, pods []string
		if switchErr == nil {
			all, pods = facts.TransientPorts(s)
		}
		if err := checkOnHost(h, pods); err != nil {
			return nil, err
		}
		t, err := facts.ReadTransientDefault(h)
		if err != nil {
			return nil, err
		}
		if switchErr != nil && t.Stops == "" {
			return nil, switchErr // a line that keeps Open vSwitch from starting explains the missing database
		}
		return planTransientDefault(t, h, all, pods)
	}),
}

// checkOnHost refuses if Open vSwitch runs in a container.
func checkOnHost(h *snapshot.Host, pods []string) error {
	contained, by, err := facts.Contained(h)
	if err != nil && !errors.Is(err, node.ErrUnavailable) {
		return err
	}
	const instead = "leave the option out of the container's start; see ovnctl explain transient-scrubs-live-pods"
	switch {
	case !contained:
		return nil
	case len(pods) > 0:
		return fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): with the option, restarting that container would delete %s of live pods (%s)",
			h.Name, by, plural(len(pods), "port"), several(pods))
	}
	return fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): it does not read the host's default file", h.Name, by)
}

// planTransientDefault returns what makes the option work on a host with these transient ports, some of them of pods.
func planTransientDefault(t *facts.TransientDefault, h *snapshot.Host, all, pods []string) (*fixes.Plan, error) {
	plan := &fixes.Plan{Host: h.Name, Touches: "nothing now"}
	starts := t.Stops == ""
	switch {
	case t.Form == facts.TransientWorks && t.Wrong == "":
		return nil, fixes.Refuse("", "%s line %d already has the option", t.File, t.Line)
	case t.Otherwise != "" && starts && t.Form == facts.TransientMissing:
		return nil, fixes.Refuse("", "%s deletes transient ports", t.Otherwise)
	case t.Wrong != "" && t.Deleted() && starts:
		plan.Title, plan.Steps = "remove "+facts.DeleteTransient+" from "+t.Wrong, cleanWrongFile(t)
		return plan, nil
	case t.Unit == "present" && starts:
		return nil, fixes.Refuse("", "%s deletes transient ports at boot, and the options are correct", facts.TransientUnitName)
	case t.Distribution.Family == "rpm" && t.Unit == "masked" && starts:
		plan.Title = "let " + facts.TransientUnitName + " delete transient ports at boot"
		plan.Touches = "nothing now; the next boot deletes " + portList(all)
		plan.Steps = append([]fixes.Step{fixes.Service{Daemon: strings.TrimSuffix(facts.TransientUnitName, ".service"), Action: fixes.Unmask}}, cleanWrongFile(t)...)
		plan.Warnings = []string{"somebody masked the unit: if that was on purpose, leave it masked"}
		return plan, nil
	}
	after, notes, err := rewritten(t)
	if err != nil {
		return nil, err
	}
	plan.Title = fmt.Sprintf("set %s in %s", facts.DeleteTransient, t.File)
	if len(all) > 0 {
		plan.Touches = "nothing now; the next start of ovsdb-server deletes " + portList(all)
	}
	plan.Warnings = notes
	if t.Distribution.Family == "debian" {
		plan.Warnings = append(plan.Warnings, "the option acts at every start of ovsdb-server, including that of a package upgrade: a transient uplink leaves its bridge until its owner adds it again")
	}
	if len(pods) > 0 {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s of pods are also transient (%s): restarting ovsdb-server cuts these pods off until they are re-created", plural(len(pods), "port"), several(pods)))
	}
	plan.Steps = append([]fixes.Step{fixes.File{Path: t.File, Before: t.Text, After: after, What: fmt.Sprintf("write %s to %s of %s", facts.DeleteTransient, t.Variable, t.File)}}, cleanWrongFile(t)...)
	return plan, nil
}

// portList names ports: "port p0", "ports p0, p1".
func portList(ports []string) string {
	switch len(ports) {
	case 0:
		return "nothing"
	case 1:
		return "port " + ports[0]
	}
	return "ports " + several(ports)
}

// rewritten returns the file with the option in effect, and notes on what else changes. Options in effect stay; those
// that only a shell would have combined are combined.
func rewritten(t *facts.TransientDefault) (text []byte, notes []string, err error) {
	file := envfile.Systemd(t.Text, false)
	set := file.Last(t.Variable)
	var words []string
	switch {
	case t.Form == facts.TransientGlued:
		return unglued(t, file)
	case t.Form == facts.TransientSelfReference:
		// The shell's result is what was meant.
		shell := envfile.LastShell(t.Text, t.Variable)
		if shell == nil || shell.Ignored {
			return nil, nil, rewriteByHand(t, set)
		}
		words = envfile.Words(shell.Value)
	case set == nil:
		for _, a := range file.Assignments {
			if a.Ignored && strings.Contains(a.Value, facts.DeleteTransient) && strings.Contains(a.Name, t.Variable) {
				set, words = &a, envfile.Words(a.Value) // export VAR=, VAR+=
			}
		}
	default:
		words = envfile.Words(set.Value)
	}
	var comment string
	if facts.StopsOVS(words) != "" {
		if words, comment, err = meant(words); err != nil {
			return nil, nil, rewriteByHand(t, set)
		}
	}
	words = withOption(words)
	line := t.Variable + "=" + envfile.Quote(join(words))
	if comment != "" {
		line = comment + "\n" + line
	}
	if set == nil {
		at := len(t.Text)
		for _, c := range file.Comments {
			if t.Form == facts.TransientCommented && strings.Contains(c.Text, facts.DeleteTransient) {
				at = c.End
			}
		}
		text = envfile.Replace(t.Text, at, at, line)
	} else {
		text = envfile.Replace(t.Text, set.Start, set.End, line)
	}
	// Earlier settings have no effect, and with the option in them would mislead readers.
	for _, a := range slices.Backward(file.Assignments) {
		if set != nil && a.Name == t.Variable && a.Start < set.Start && t.Form != facts.TransientMissing {
			text = envfile.Replace(text, a.Start, a.End, "")
			notes = append(notes, fmt.Sprintf("line %d is removed: line %d sets %s again", a.Line, set.Line, t.Variable))
		}
	}
	return checkedRewrite(t, text, notes)
}

// checkedRewrite returns a text that systemd and a shell read alike and ovs-ctl accepts.
func checkedRewrite(t *facts.TransientDefault, text []byte, notes []string) ([]byte, []string, error) {
	after := t.With(text)
	shell := envfile.LastShell(text, t.Variable)
	if after.Form != facts.TransientWorks || shell == nil || shell.Ignored || shell.Value != after.Value {
		return nil, nil, rewriteByHand(t, nil)
	}
	return text, notes, nil
}

func rewriteByHand(t *facts.TransientDefault, set *envfile.Assignment) error {
	line := t.Line
	if set != nil {
		line = set.Line
	}
	return fixes.Refuse(fmt.Sprintf("write the line by hand: %s=\"%s\"", t.Variable, facts.DeleteTransient),
		"%s line %d is unclear: %s", t.File, line, strings.TrimSpace(envfile.Line(t.Text, line)))
}

// unglued separates the setting from the line that it was appended to.
func unglued(t *facts.TransientDefault, file envfile.File) ([]byte, []string, error) {
	start, end := -1, 0
	for _, a := range file.Assignments {
		if strings.Contains(a.Value, facts.DeleteTransient) {
			start, end = a.Start, a.End
		}
	}
	if start < 0 {
		for _, c := range file.Comments {
			if strings.Contains(c.Text, facts.DeleteTransient) {
				start, end = c.Start, c.End
			}
		}
	}
	if start < 0 {
		return nil, nil, rewriteByHand(t, nil)
	}
	whole := string(t.Text[start:end])
	i := strings.LastIndex(whole, t.Variable+"=")
	if i <= 0 {
		// The bare option after another setting, which keeps its value.
		i = strings.Index(whole, facts.DeleteTransient)
		rest := strings.TrimRight(whole[:i], " \t")
		if strings.Count(rest, `"`)%2 == 1 || strings.Count(rest, `'`)%2 == 1 || strings.TrimSpace(whole[i+len(facts.DeleteTransient):]) != "" {
			return nil, nil, rewriteByHand(t, nil)
		}
		return rewriteAgain(t.With(envfile.Replace(t.Text, start, end, rest)))
	}
	front, tail := strings.TrimRight(whole[:i], " \t;"), whole[i:]
	if a := envfile.Systemd([]byte(front), false).Last(t.Variable); a != nil { // glued to a setting of the same variable
		words := envfile.Words(a.Value)
		if a := envfile.Systemd([]byte(tail), false).Last(t.Variable); a != nil {
			words = append(words, envfile.Words(a.Value)...)
		}
		front, tail = "", t.Variable+"="+envfile.Quote(join(words))
	} else {
		front += "\n"
	}
	return rewriteAgain(t.With(envfile.Replace(t.Text, start, end, front+tail)))
}

// rewriteAgain fixes what is left once the lines are separate.
func rewriteAgain(t *facts.TransientDefault) ([]byte, []string, error) {
	switch t.Form {
	case facts.TransientWorks:
		return checkedRewrite(t, t.Text, nil)
	case facts.TransientGlued:
		return nil, nil, rewriteByHand(t, nil)
	}
	return rewritten(t)
}

// meant returns the options among words that ovs-ctl rejects as written: typographic quotes and dashes become plain
// ones, and a comment after the value is separated.
func meant(words []string) (options []string, comment string, err error) {
	replacer := strings.NewReplacer("“", "", "”", "", "„", "", "‘", "", "’", "", "—", "--", "–", "--", "−", "--", `"`, "")
	for i, w := range words {
		if at := strings.IndexByte(w, '#'); at >= 0 && strings.HasPrefix(w, "-") || strings.HasPrefix(w, "#") {
			tail := append([]string{w[at:]}, words[i+1:]...)
			if w = w[:at]; w != "" {
				options = append(options, w)
			}
			comment = strings.TrimSpace(strings.Join(tail, " "))
			break
		}
		w = replacer.Replace(w)
		for strings.HasPrefix(w, "---") {
			w = w[1:]
		}
		options = append(options, w)
	}
	if stops := facts.StopsOVS(options); stops != "" {
		return nil, "", errors.New(stops)
	}
	return options, comment, nil
}

// withOption adds the option unless it is in effect, and removes what turns it off.
func withOption(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return w == "--no-delete-transient-ports" || strings.HasPrefix(w, facts.DeleteTransient+"=")
	})
	if !slices.Contains(words, facts.DeleteTransient) {
		words = append(words, facts.DeleteTransient)
	}
	return words
}

// join writes words so that systemd splits them the same way.
func join(words []string) string {
	return strings.Join(namesOf(words, quotedWord), " ")
}

var special = pattern.New("[ \t\r\n\"'\\\\]")

// quotedWord quotes a word so that systemd reads it as one. People write quotes in the middle of a word: --options='-a
// -b'.
func quotedWord(w string) string {
	switch name, value, ok := strings.Cut(w, "="); {
	case w != "" && !strings.ContainsAny(w, " \t\r\n\"'\\"):
		return w
	case strings.ContainsAny(w, `'\`):
		return special.Get().ReplaceAllString(w, `\$0`)
	case ok && !strings.ContainsAny(name, " \t\""):
		return name + "='" + value + "'"
	}
	return "'" + w + "'"
}

// withoutOption returns the unread file without the option; nil if nothing else is in it.
func withoutOption(t *facts.TransientDefault) []byte {
	text := t.WrongFile
	for _, a := range slices.Backward(envfile.Systemd(text, false).Assignments) {
		if !strings.Contains(a.Value, facts.DeleteTransient) {
			continue
		}
		words := slices.DeleteFunc(envfile.Words(a.Value), func(w string) bool { return w == facts.DeleteTransient })
		line := ""
		if len(words) > 0 {
			line = a.Name + "=" + envfile.Quote(join(words))
		}
		text = envfile.Replace(text, a.Start, a.End, line)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	return text
}

// cleanWrongFile returns the step that removes the option from the unread file, if there is one.
func cleanWrongFile(t *facts.TransientDefault) []fixes.Step {
	if t.Wrong == "" {
		return nil
	}
	return []fixes.Step{fixes.File{Path: t.Wrong, Before: t.WrongFile, After: withoutOption(t), What: "remove " + facts.DeleteTransient + " from " + t.Wrong + ", which is not read"}}
}
