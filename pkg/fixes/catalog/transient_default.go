package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// DeleteTransient is the option of ovs-ctl(8) that removes, when ovsdb-server
// starts, the ports that are marked other_config:transient=true.
const DeleteTransient = "--delete-transient-ports"

// A TransientForm is how the option stands in a default file.
type TransientForm string

// Forms, one to a fault. Several may be in one file; the one that counts most is told.
const (
	TransientWorks         TransientForm = "works"
	TransientMissing       TransientForm = "missing"        // not a word of it
	TransientSelfReference TransientForm = "self-reference" // VAR="$VAR …", which systemd does not expand
	TransientGlued         TransientForm = "glued"          // on the line of another setting
	TransientCommented     TransientForm = "commented"      // in a comment alone
	TransientQuoted        TransientForm = "quoted"         // written so that systemd or ovs-ctl reads something else
	TransientOverridden    TransientForm = "overridden"     // a later line sets the variable again
)

// TransientDefault is what a host's Open vSwitch is told about transient ports
// at its start.
type TransientDefault struct {
	Distribution snapshot.Distribution
	File         string // that ovs-ctl's service reads and that would be edited: /etc/default/openvswitch-switch
	Variable     string // OVS_CTL_OPTS
	Text         []byte // of the file; nil: there is none
	Form         TransientForm
	Line         int    // of the form; 0: none
	Value        string // of the variable, as systemd reads it
	// Stops is why Open vSwitch does not start with these options; empty: it does.
	Stops string
	// Unit is ovs-delete-transient-ports.service of the rpm: "" where there is none, "present" or "masked".
	Unit string
	// Otherwise is a unit or a drop-in of the operator that deletes them; empty: there is none.
	Otherwise string
	// Wrong is a file that nobody reads although it holds the option, on an rpm host.
	Wrong     string
	WrongLine int
	wrongText []byte
}

// WrongText is the line of the option in the file that nobody reads.
func (t *TransientDefault) WrongText() string {
	return strings.TrimSpace(envfile.Line(t.wrongText, t.WrongLine))
}

// cleaned is the file that nobody reads without the option; nil: nothing else is in it.
func (t *TransientDefault) cleaned() []byte {
	text := t.wrongText
	for _, a := range slices.Backward(envfile.Systemd(text, false).Assignments) {
		if !strings.Contains(a.Value, DeleteTransient) {
			continue
		}
		words := slices.DeleteFunc(envfile.Words(a.Value), func(w string) bool { return w == DeleteTransient })
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

// clean is the step that takes the option out of the file that nobody reads; none where there is none.
func (t *TransientDefault) clean() []fixes.Step {
	if t.Wrong == "" {
		return nil
	}
	return []fixes.Step{fixes.File{Path: t.Wrong, Before: t.wrongText, After: t.cleaned(), What: "take " + DeleteTransient + " out of " + t.Wrong + ", which nobody reads"}}
}

// Deleted says that transient ports are removed at boot.
func (t *TransientDefault) Deleted() bool {
	return t.Form == TransientWorks || t.Unit == "present" || t.Otherwise != ""
}

// ErrOtherDistribution is a host whose default file is not known.
var ErrOtherDistribution = errors.New("this tool knows where Debian and rpm hosts keep the options of Open vSwitch")

// ReadTransientDefault reads the options with which a host starts Open vSwitch.
func ReadTransientDefault(h *snapshot.Host) (*TransientDefault, error) {
	t := &TransientDefault{}
	var err error
	if t.Distribution, err = h.Distribution(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("what distribution %s runs: %w", h.Name, err)
	}
	etc := cmp.Or(h.Dirs().Etc, "/etc")
	if t.Distribution.Family == "" {
		if t.Distribution.Family, err = familyByFiles(h, etc); err != nil {
			return nil, err
		}
	}
	if t.Otherwise, err = transientElsewhere(h, etc); err != nil {
		return nil, err
	}
	switch t.Distribution.Family {
	case "debian":
		t.File, t.Variable = path.Join(etc, "default/openvswitch-switch"), "OVS_CTL_OPTS"
		t.Text, err = optional(h.File(t.File))
		if err != nil {
			return nil, err
		}
		t.read([]string{"start"}, nil)
	case "rpm":
		t.File, t.Variable = path.Join(etc, "sysconfig/openvswitch"), "OPTIONS"
		// The unit reads this one first, so what the other one sets comes after it.
		first, err := optional(h.File(path.Join(etc, "openvswitch/default.conf")))
		if err != nil {
			return nil, err
		}
		if t.Text, err = optional(h.File(t.File)); err != nil {
			return nil, err
		}
		t.read([]string{"start"}, first)
		if t.Unit, err = transientUnit(h, etc); err != nil {
			return nil, err
		}
		wrong := path.Join(etc, "default/openvswitch")
		text, err := optional(h.File(wrong))
		if err != nil {
			return nil, err
		}
		for _, a := range envfile.Systemd(text, false).Assignments {
			if strings.Contains(a.Value, DeleteTransient) {
				t.Wrong, t.WrongLine, t.wrongText = wrong, a.Line, text
			}
		}
	default:
		return nil, fmt.Errorf("%s runs %s: %w", h.Name, cmp.Or(t.Distribution.Name, "an unknown distribution"), ErrOtherDistribution)
	}
	return t, nil
}

// familyByFiles tells a distribution by what its packages of Open vSwitch leave.
func familyByFiles(h *snapshot.Host, etc string) (string, error) {
	for _, c := range []struct{ path, family string }{
		{path.Join(etc, "default/openvswitch-switch"), "debian"},
		{path.Join(etc, "sysconfig/openvswitch"), "rpm"},
	} {
		if text, err := optional(h.File(c.path)); err != nil {
			return "", err
		} else if text != nil {
			return c.family, nil
		}
	}
	return "", nil
}

// transientElsewhere finds a unit of the operator's own, or a drop-in, that
// deletes transient ports.
func transientElsewhere(h *snapshot.Host, etc string) (string, error) {
	for _, pattern := range []string{"*.service", "o*.service.d/*.conf"} {
		found, err := h.Glob(path.Join(etc, "systemd/system", pattern))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, node.ErrUnavailable) {
			continue
		}
		if err != nil {
			return "", err
		}
		for _, file := range found {
			if path.Base(file) == transientUnitName {
				continue
			}
			text, err := h.File(file)
			if err != nil {
				continue // a link to a unit of a package, or one that masks it
			}
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); strings.Contains(line, "delete-transient-ports") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
					return file, nil
				}
			}
		}
	}
	return "", nil
}

// optional is a file's text, nil if there is none.
func optional(text []byte, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// lineOf is the number of the first line that holds a text; 0: none.
func lineOf(text []byte, s string) int {
	if i := bytes.Index(text, []byte(s)); i >= 0 {
		return 1 + bytes.Count(text[:i], []byte("\n"))
	}
	return 0
}

const transientUnitName = "ovs-delete-transient-ports.service"

// transientUnit asks systemd, and where it does not run, looks for the unit's file.
func transientUnit(h *snapshot.Host, etc string) (string, error) {
	u, err := h.Unit(transientUnitName)
	switch {
	case err == nil:
		switch {
		case u.Load == "masked" || u.File == "masked" || u.File == "masked-runtime":
			return "masked", nil
		case u.Load == "not-found":
			return "", nil
		}
		return "present", nil
	case !errors.Is(err, node.ErrUnavailable):
		return "", err
	}
	for _, dir := range []string{path.Join(etc, "systemd/system"), "/run/systemd/system"} {
		if found, err := h.Glob(path.Join(dir, transientUnitName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		} else if len(found) > 0 {
			// A link to /dev/null masks it; a file is the operator's own unit.
			if text, err := h.File(found[0]); err != nil || len(bytes.TrimSpace(text)) == 0 {
				return "masked", nil
			}
			return "present", nil
		}
	}
	for _, dir := range []string{"/usr/lib/systemd/system", "/lib/systemd/system"} {
		if found, err := h.Glob(path.Join(dir, transientUnitName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		} else if len(found) > 0 {
			return "present", nil
		}
	}
	return "", nil
}

// read finds the form of the option in the text. The command's words before the
// variable's are those of the unit; before is a file that systemd reads earlier.
func (t *TransientDefault) read(command []string, before []byte) {
	// Up to systemd 253 a comment that ends in a backslash goes on: what only one of the two reads is not to be relied on.
	for _, long := range []bool{false, true} {
		t.readAs(command, before, long)
		if t.Form != TransientWorks {
			return
		}
	}
}

func (t *TransientDefault) readAs(command []string, before []byte, long bool) {
	t.Form, t.Line, t.Value, t.Stops = TransientMissing, 0, "", ""
	file := envfile.Systemd(t.Text, long)
	counts := file.Last(t.Variable)
	if counts == nil {
		counts = envfile.Systemd(before, long).Last(t.Variable)
	}
	if counts != nil {
		t.Value = counts.Value
		deletes, stops := ovsCtl(append(slices.Clone(command), envfile.Words(counts.Value)...))
		t.Stops = stops
		switch mine := file.Last(t.Variable); {
		case mine != nil && refersTo(mine.Value, t.Variable):
			t.Form, t.Line = TransientSelfReference, mine.Line
			return
		case deletes && stops == "":
			t.Form, t.Line = TransientWorks, counts.Line
			return
		case mine != nil && (stops != "" || strings.Contains(mine.Value, DeleteTransient)):
			t.Form, t.Line = TransientQuoted, mine.Line
			if i := strings.Index(mine.Value, "="+DeleteTransient); i > 0 && strings.Contains(mine.Value[:i], t.Variable) {
				t.Form = TransientGlued
			}
			return
		}
	}
	for _, a := range file.Assignments {
		if !strings.Contains(a.Value, DeleteTransient) {
			continue
		}
		t.Line = a.Line
		switch {
		case a.Name == t.Variable:
			t.Form = TransientOverridden
		case a.Ignored && strings.Contains(a.Name, t.Variable):
			t.Form = TransientQuoted // export VAR=, VAR+=
		default:
			t.Form = TransientGlued
		}
		return
	}
	for _, c := range file.Comments {
		if !strings.Contains(c.Text, DeleteTransient) {
			continue
		}
		t.Form, t.Line = TransientCommented, c.Line+strings.Count(c.Text[:strings.Index(c.Text, DeleteTransient)], "\n")
		if i := strings.Index(c.Text, t.Variable+"="); i > 0 && strings.Trim(c.Text[:i], "#; \t") != "" && !strings.ContainsAny(c.Text[i-1:i], " \t\n") {
			t.Form = TransientGlued
		}
		return
	}
	if n := lineOf(t.Text, DeleteTransient); n > 0 {
		t.Form, t.Line = TransientQuoted, n // a line that is no setting at all
	}
}

func refersTo(value, name string) bool {
	for rest := value; ; {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
		after, ok := strings.CutPrefix(strings.TrimPrefix(rest, "{"), name)
		if ok && (after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")) {
			return true
		}
	}
}

// ovsCtl reads the arguments of ovs-ctl(8) as it does: whether it deletes
// transient ports when it starts, and why it does not start at all.
func ovsCtl(args []string) (deletes bool, stops string) {
	command := ""
	for _, arg := range args {
		option, long := strings.CutPrefix(arg, "--")
		long = long && option != "" && option[0] >= 'a' && option[0] <= 'z'
		name, value, valued := strings.Cut(option, "=")
		switch {
		case arg == "-h" || arg == "--help" || arg == "-V" || arg == "--version":
			return false, "ovs-ctl answers " + arg + " and starts nothing"
		case long && valued && name == "delete-transient-ports":
			deletes = value == "yes"
		case long && valued:
		case option == "no-delete-transient-ports":
			deletes = false
		case option == "delete-transient-ports":
			deletes = true
		case long:
		case strings.HasPrefix(arg, "-"):
			return false, fmt.Sprintf("ovs-ctl: unknown option %q", arg)
		case command == "":
			command = arg
		case arg != "":
			return false, fmt.Sprintf("ovs-ctl: exactly one non-option argument required: it takes %q for a second command", arg)
		default:
			return false, "ovs-ctl: exactly one non-option argument required: an empty word is a second command"
		}
	}
	return deletes, ""
}

// TransientPorts are the ports that are removed when Open vSwitch starts with
// the option, and those among them that are ports of pods: with an iface-id.
func TransientPorts(s *snapshot.Switch) (all, pods []string) {
	owner := map[ovsdb.UUID]*vswitch.InterfaceBrief{}
	for i := range s.Interfaces {
		owner[s.Interfaces[i].UUID] = &s.Interfaces[i]
	}
	for _, p := range s.Ports {
		if p.OtherConfig["transient"] != "true" {
			continue
		}
		all = append(all, p.Name)
		for _, id := range p.Interfaces {
			if i := owner[id]; i != nil && i.ExternalIDs["iface-id"] != "" {
				pods = append(pods, p.Name)
				break
			}
		}
	}
	slices.Sort(all)
	slices.Sort(pods)
	return all, pods
}

// Contained says whether a host's Open vSwitch runs in a container, and which
// process says so.
func Contained(h *snapshot.Host) (bool, string, error) {
	processes, err := h.Processes()
	if err != nil {
		return false, "", err
	}
	for _, p := range processes {
		if p.Container && (p.Name == "ovsdb-server" || p.Name == "ovs-vswitchd") {
			return true, fmt.Sprintf("process %d, %s, in control group %s", p.PID, p.Name, p.Cgroup), nil
		}
	}
	return false, "", nil
}

// SetTransientDefault writes the option into the default file.
var SetTransientDefault = &fixes.Repair{
	Name: "set-transient-default",
	Doc: `Make Open vSwitch remove transient ports when it starts

On Debian and Ubuntu the option --delete-transient-ports goes into OVS_CTL_OPTS of
/etc/default/openvswitch-switch, with the options that are there written out. Broken
forms of it are rewritten: a reference to the variable itself, which systemd does not
expand; a line that is glued to another; a value that systemd or ovs-ctl reads
otherwise than it was meant; a setting that a later line overrides. A comment stays.

On hosts with rpm packages ovs-delete-transient-ports.service does the work: it is
unmasked if it is masked, and where the package has none the option goes into OPTIONS
of /etc/sysconfig/openvswitch.

Nothing is restarted. It acts at the next start of ovsdb-server: on Debian at each one,
that of a package upgrade included, when the uplink leaves the bridge until its owner
adds it again.`,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "transient-default-missing",
	Also:  []string{"transient-default-self-reference", "transient-default-wrong-file-rhel", "transient-default-glued-or-commented"},
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		contained, by, err := Contained(h)
		if err != nil && !errors.Is(err, node.ErrUnavailable) {
			return nil, err
		}
		s, switchErr := h.Switch()
		var all, pods []string
		if switchErr == nil {
			all, pods = TransientPorts(s)
		}
		if contained {
			instead := "leave the option out of the container's start; see ovnctl explain transient-scrubs-live-pods"
			if len(pods) > 0 {
				return nil, fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): with the option a restart of that container would delete %s of live pods (%s)",
					h.Name, by, plural(len(pods), "port"), several(pods))
			}
			return nil, fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): it does not read the host's default file", h.Name, by)
		}
		t, err := ReadTransientDefault(h)
		if err != nil {
			return nil, err
		}
		if switchErr != nil && t.Stops == "" {
			return nil, switchErr // with a line that keeps it from starting there is no database to ask
		}
		if t.Form == TransientWorks && t.Wrong == "" {
			return nil, fixes.Refuse("", "%s line %d has the option already", t.File, t.Line)
		}
		if t.Otherwise != "" && t.Stops == "" && t.Form == TransientMissing {
			return nil, fixes.Refuse("", "%s deletes transient ports", t.Otherwise)
		}
		plan := &fixes.Plan{Host: h.Name, Touches: "nothing now"}
		if t.Wrong != "" && t.Deleted() && t.Stops == "" {
			plan.Title, plan.Steps = "take "+DeleteTransient+" out of "+t.Wrong, t.clean()
			return plan, nil
		}
		if t.Unit == "present" && t.Stops == "" {
			return nil, fixes.Refuse("", "%s deletes transient ports at boot, and the options are in order", transientUnitName)
		}
		if t.Distribution.Family == "rpm" && t.Unit == "masked" && t.Stops == "" {
			plan.Title = "let " + transientUnitName + " delete transient ports at boot"
			plan.Touches = fmt.Sprintf("nothing now; at the next boot %s is deleted", orNone(all))
			plan.Steps = append([]fixes.Step{fixes.Service{Daemon: strings.TrimSuffix(transientUnitName, ".service"), Action: fixes.Unmask}}, t.clean()...)
			plan.Warnings = []string{"somebody masked the unit; if that was meant, leave it so"}
			return plan, nil
		}
		after, notes, err := t.Mended()
		if err != nil {
			return nil, err
		}
		plan.Title = fmt.Sprintf("set %s in %s", DeleteTransient, t.File)
		if len(all) > 0 {
			plan.Touches = fmt.Sprintf("nothing now; at the next start of ovsdb-server %s is deleted", orNone(all))
		}
		plan.Warnings = notes
		if t.Distribution.Family == "debian" {
			plan.Warnings = append(plan.Warnings, "the option acts at every start of ovsdb-server, a package upgrade's included: an uplink that is transient leaves its bridge until its owner adds it again")
		}
		if len(pods) > 0 {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s of pods are transient, too (%s): a restart of ovsdb-server cuts these pods off until they are made again", plural(len(pods), "port"), several(pods)))
		}
		plan.Steps = append([]fixes.Step{fixes.File{Path: t.File, Before: t.Text, After: after, What: fmt.Sprintf("write %s into %s of %s", DeleteTransient, t.Variable, t.File)}}, t.clean()...)
		return plan, nil
	},
}

// local is the host that ovnctl runs on.
func local(d *snapshot.Deployment) (*snapshot.Host, error) {
	if h := d.Local(); h != nil {
		return h, nil
	}
	return nil, errors.New("this is a change to the host that ovnctl runs on, and there is none here")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func orNone(ports []string) string {
	switch len(ports) {
	case 0:
		return "nothing"
	case 1:
		return "port " + ports[0]
	}
	return "each of the ports " + several(ports)
}

// Mended is the file with the option in force, and what else changes by that.
// The options that are in force stay; those which only a shell would have put
// together are put together.
func (t *TransientDefault) Mended() (text []byte, notes []string, err error) {
	file := envfile.Systemd(t.Text, false)
	set := file.Last(t.Variable)
	var words []string
	switch {
	case t.Form == TransientGlued:
		return t.unglued(file)
	case t.Form == TransientSelfReference:
		// What the shell makes of it is what was meant.
		shell := envfile.LastShell(t.Text, t.Variable)
		if shell == nil || shell.Ignored {
			return nil, nil, t.byHand(set)
		}
		words = envfile.Words(shell.Value)
	case set == nil:
		for _, a := range file.Assignments {
			if a.Ignored && strings.Contains(a.Value, DeleteTransient) && strings.Contains(a.Name, t.Variable) {
				set, words = &a, envfile.Words(a.Value) // export VAR=, VAR+=
			}
		}
	default:
		words = envfile.Words(set.Value)
	}
	var comment string
	if _, stops := ovsCtl(append([]string{"start"}, words...)); stops != "" {
		if words, comment, err = meant(words); err != nil {
			return nil, nil, t.byHand(set)
		}
	}
	words = withOption(words)
	line := t.Variable + "=" + envfile.Quote(join(words))
	if comment != "" {
		line = comment + "\n" + line
	}
	if set == nil {
		at := len(t.Text)
		if t.Form == TransientCommented {
			for _, c := range file.Comments {
				if strings.Contains(c.Text, DeleteTransient) {
					at = c.End
				}
			}
		}
		text = envfile.Replace(t.Text, at, at, line)
	} else {
		text = envfile.Replace(t.Text, set.Start, set.End, line)
	}
	// What is set before has no effect, and with the option in it would mislead the next reader.
	for _, a := range slices.Backward(file.Assignments) {
		if set != nil && a.Name == t.Variable && a.Start < set.Start && t.Form != TransientMissing {
			text = envfile.Replace(text, a.Start, a.End, "")
			notes = append(notes, fmt.Sprintf("line %d goes: line %d sets %s again", a.Line, set.Line, t.Variable))
		}
	}
	return t.checked(text, notes)
}

// checked is a text that both readers read alike and ovs-ctl takes.
func (t *TransientDefault) checked(text []byte, notes []string) ([]byte, []string, error) {
	after := *t
	after.Text = text
	after.read([]string{"start"}, nil)
	shell := envfile.LastShell(text, t.Variable)
	if after.Form != TransientWorks || shell == nil || shell.Ignored || shell.Value != after.Value {
		return nil, nil, t.byHand(nil)
	}
	return text, notes, nil
}

func (t *TransientDefault) byHand(set *envfile.Assignment) error {
	line := t.Line
	if set != nil {
		line = set.Line
	}
	return fixes.Refuse(fmt.Sprintf("write the line by hand: %s=\"%s\"", t.Variable, DeleteTransient),
		"%s line %d does not say what it means: %s", t.File, line, strings.TrimSpace(envfile.Line(t.Text, line)))
}

// unglued cuts the setting off the line that it was appended to.
func (t *TransientDefault) unglued(file envfile.File) ([]byte, []string, error) {
	start, end := -1, 0
	for _, a := range file.Assignments {
		if strings.Contains(a.Value, DeleteTransient) {
			start, end = a.Start, a.End
		}
	}
	if start < 0 {
		for _, c := range file.Comments {
			if strings.Contains(c.Text, DeleteTransient) {
				start, end = c.Start, c.End
			}
		}
	}
	if start < 0 {
		return nil, nil, t.byHand(nil)
	}
	whole := string(t.Text[start:end])
	i := strings.LastIndex(whole, t.Variable+"=")
	if i <= 0 {
		// The bare option behind another setting: that one keeps its value.
		i = strings.Index(whole, DeleteTransient)
		rest := strings.TrimRight(whole[:i], " \t")
		if strings.Count(rest, `"`)%2 == 1 || strings.Count(rest, `'`)%2 == 1 || strings.TrimSpace(whole[i+len(DeleteTransient):]) != "" {
			return nil, nil, t.byHand(nil)
		}
		after := *t
		after.Text = envfile.Replace(t.Text, start, end, rest)
		return after.again()
	}
	after := *t
	front, tail := strings.TrimRight(whole[:i], " \t;"), whole[i:]
	if a := envfile.Systemd([]byte(front), false).Last(t.Variable); a != nil { // glued to its own like
		words := envfile.Words(a.Value)
		if a := envfile.Systemd([]byte(tail), false).Last(t.Variable); a != nil {
			words = append(words, envfile.Words(a.Value)...)
		}
		front, tail = "", t.Variable+"="+envfile.Quote(join(words))
	} else {
		front += "\n"
	}
	after.Text = envfile.Replace(t.Text, start, end, front+tail)
	return after.again()
}

// again mends what is left to mend once the lines are apart.
func (t *TransientDefault) again() ([]byte, []string, error) {
	t.read([]string{"start"}, nil)
	switch t.Form {
	case TransientWorks:
		return t.checked(t.Text, nil)
	case TransientGlued:
		return nil, nil, t.byHand(nil)
	}
	return t.Mended()
}

// meant are the options among words that ovs-ctl does not take as they stand:
// typographic quotation marks and dashes are typewriters', and a comment behind
// the value is one.
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
	if _, stops := ovsCtl(append([]string{"start"}, options...)); stops != "" {
		return nil, "", errors.New(stops)
	}
	return options, comment, nil
}

// withOption adds the option where it is not in force yet, and what switches it off goes.
func withOption(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return w == "--no-delete-transient-ports" || strings.HasPrefix(w, DeleteTransient+"=")
	})
	if !slices.Contains(words, DeleteTransient) {
		words = append(words, DeleteTransient)
	}
	return words
}

// join writes words so that systemd splits them into the same.
func join(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case w != "" && !strings.ContainsAny(w, " \t\r\n\"'\\"):
			b.WriteString(w)
		case !strings.ContainsAny(w, `'\`):
			// Quotes in the middle of a word are how people write it: --options='-a -b'.
			if name, value, ok := strings.Cut(w, "="); ok && !strings.ContainsAny(name, " \t\"") {
				b.WriteString(name + "='" + value + "'")
			} else {
				b.WriteString("'" + w + "'")
			}
		default:
			for _, c := range []byte(w) {
				if strings.IndexByte(" \t\r\n\"'\\", c) >= 0 {
					b.WriteByte('\\')
				}
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}
