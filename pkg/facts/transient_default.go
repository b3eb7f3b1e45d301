package facts

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
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// DeleteTransient is the option of ovs-ctl(8) that deletes the ports marked
// other_config:transient=true when ovsdb-server starts.
const DeleteTransient = "--delete-transient-ports"

// A TransientForm is how the option appears in a default file.
type TransientForm string

// Forms, one for each fault. If a file has several, the most important one is reported.
const (
	TransientWorks         TransientForm = "works"
	TransientMissing       TransientForm = "missing"        // not in the file
	TransientSelfReference TransientForm = "self-reference" // VAR="$VAR …", which systemd does not expand
	TransientGlued         TransientForm = "glued"          // on the line of another setting
	TransientCommented     TransientForm = "commented"      // only in a comment
	TransientQuoted        TransientForm = "quoted"         // systemd or ovs-ctl reads it as something else
	TransientOverridden    TransientForm = "overridden"     // a later line sets the variable again
)

// TransientDefault is what a host's Open vSwitch does with transient ports at startup.
type TransientDefault struct {
	Distribution Distribution
	File         string // read by ovs-ctl's service: /etc/default/openvswitch-switch
	Variable     string // OVS_CTL_OPTS
	Text         []byte // of the file; nil if it does not exist
	Form         TransientForm
	Line         int    // of the form; 0 if none
	Value        string // of the variable, as systemd reads it
	// Stops is why Open vSwitch does not start with these options; empty if it does.
	Stops string
	// Unit is ovs-delete-transient-ports.service of the rpm: "present", "masked", or "" if there is none.
	Unit string
	// Otherwise is an operator's unit or drop-in that deletes them; empty if none.
	Otherwise string
	// Wrong is a file on an rpm host that has the option but is not read.
	Wrong     string
	WrongLine int
	WrongFile []byte // its text
	// Started is whether a service of systemd that reads the file starts Open vSwitch: another script may pass the
	// option itself.
	Started bool
}

// WrongText returns the line with the option in the file that is not read.
func (t *TransientDefault) WrongText() string {
	return strings.TrimSpace(envfile.Line(t.WrongFile, t.WrongLine))
}

// Deleted reports whether transient ports are deleted at boot.
func (t *TransientDefault) Deleted() bool {
	return t.Form == TransientWorks || t.Unit == "present" || t.Otherwise != ""
}

// Judged reports whether something shows that the distribution's service starts Open vSwitch: a file or unit of its, or
// systemd.
func (t *TransientDefault) Judged() bool {
	return t.Text != nil || t.Unit != "" || t.Wrong != "" || t.Started
}

// ErrOtherDistribution means that the host's default file is not known.
var ErrOtherDistribution = errors.New("ovnctl knows only where Debian and rpm hosts keep the options of Open vSwitch")

// ReadTransientDefault reads the options with which a host starts Open vSwitch.
func ReadTransientDefault(h *snapshot.Host) (*TransientDefault, error) {
	t := &TransientDefault{}
	var err error
	if t.Distribution, err = distributionOf(h); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("distribution of %s: %w", h.Name, err)
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
	if t.Started, err = startedByService(h, t.Distribution.Family); err != nil {
		return nil, err
	}
	switch t.Distribution.Family {
	case "debian":
		t.File, t.Variable = path.Join(etc, "default/openvswitch-switch"), "OVS_CTL_OPTS"
		t.Text, err = h.OptionalFile(t.File)
		if err != nil {
			return nil, err
		}
		t.read(nil)
	case "rpm":
		t.File, t.Variable = path.Join(etc, "sysconfig/openvswitch"), "OPTIONS"
		// The unit reads this one first, so the other overrides it.
		first, err := h.OptionalFile(path.Join(etc, "openvswitch/default.conf"))
		if err != nil {
			return nil, err
		}
		if t.Text, err = h.OptionalFile(t.File); err != nil {
			return nil, err
		}
		t.read(first)
		if t.Unit, err = transientUnit(h, etc); err != nil {
			return nil, err
		}
		wrong := path.Join(etc, "default/openvswitch")
		text, err := h.OptionalFile(wrong)
		if err != nil {
			return nil, err
		}
		for _, a := range envfile.Systemd(text, false).Assignments {
			if strings.Contains(a.Value, DeleteTransient) {
				t.Wrong, t.WrongLine, t.WrongFile = wrong, a.Line, text
			}
		}
	default:
		return nil, fmt.Errorf("%s runs %s: %w", h.Name, cmp.Or(t.Distribution.Name, "an unknown distribution"), ErrOtherDistribution)
	}
	return t, nil
}

// familyByFiles recognizes a distribution by the files of its Open vSwitch packages.
func familyByFiles(h *snapshot.Host, etc string) (string, error) {
	for _, c := range []struct{ path, family string }{
		{path.Join(etc, "default/openvswitch-switch"), "debian"},
		{path.Join(etc, "sysconfig/openvswitch"), "rpm"},
	} {
		if text, err := h.OptionalFile(c.path); err != nil {
			return "", err
		} else if text != nil {
			return c.family, nil
		}
	}
	return "", nil
}

// startedByService reports whether systemd has the unit with which a family's packages start Open vSwitch.
func startedByService(h *snapshot.Host, family string) (bool, error) {
	name, known := map[string]string{"debian": "openvswitch-switch.service", "rpm": "openvswitch.service"}[family]
	if !known {
		return false, nil
	}
	u, err := h.Unit(name)
	if errors.Is(err, node.ErrUnavailable) {
		return false, nil // systemd does not run here
	}
	return err == nil && u.Load == "loaded", err
}

// transientElsewhere returns an operator's unit or drop-in that deletes transient ports.
func transientElsewhere(h *snapshot.Host, etc string) (string, error) {
	for _, pattern := range []string{"*.service", "o*.service.d/*.conf"} {
		files, err := h.Glob(path.Join(etc, "systemd/system", pattern))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, node.ErrUnavailable) {
			continue
		}
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, _ := h.File(file) // may be a link to a package's unit, or one that masks it
			if path.Base(file) != TransientUnitName && setsTransient(string(text)) {
				return file, nil
			}
		}
	}
	return "", nil
}

// setsTransient reports whether a unit has the option outside comments.
func setsTransient(unit string) bool {
	for line := range strings.Lines(unit) {
		if line = strings.TrimSpace(line); strings.Contains(line, "delete-transient-ports") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			return true
		}
	}
	return false
}

// lineOf returns the number of the first line that contains s, 0 if none.
func lineOf(text []byte, s string) int {
	if i := bytes.Index(text, []byte(s)); i >= 0 {
		return 1 + bytes.Count(text[:i], []byte("\n"))
	}
	return 0
}

// TransientUnitName is the unit of the rpm that deletes transient ports at boot.
const TransientUnitName = "ovs-delete-transient-ports.service"

// transientUnit asks systemd, or looks for the unit's file if systemd does not run.
func transientUnit(h *snapshot.Host, etc string) (string, error) {
	u, err := h.Unit(TransientUnitName)
	switch {
	case err == nil && (u.Load == "masked" || u.File == "masked" || u.File == "masked-runtime"):
		return "masked", nil
	case err == nil && u.Load == "not-found":
		return "", nil
	case err == nil:
		return "present", nil
	case !errors.Is(err, node.ErrUnavailable):
		return "", err
	}
	for i, dir := range []string{path.Join(etc, "systemd/system"), "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		found, err := h.Glob(path.Join(dir, TransientUnitName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if len(found) == 0 {
			continue
		}
		// In the first two, a link to /dev/null masks the unit, and a file is the operator's own.
		if text, err := h.File(found[0]); i < 2 && (err != nil || len(bytes.TrimSpace(text)) == 0) {
			return "masked", nil
		}
		return "present", nil
	}
	return "", nil
}

// read finds the form of the option in the text; before is a file that systemd reads first.
func (t *TransientDefault) read(before []byte) {
	// Up to systemd 253 a comment ending in a backslash continues: the option must work either way.
	for _, long := range []bool{false, true} {
		t.readAs(before, long)
		if t.Form != TransientWorks {
			return
		}
	}
}

// With returns the options as if the file had this text.
func (t *TransientDefault) With(text []byte) *TransientDefault {
	after := *t
	after.Text = text
	after.read(nil)
	return &after
}

// StopsOVS returns why ovs-ctl would not start Open vSwitch with these options; empty if it would.
func StopsOVS(options []string) string {
	_, stops := ovsCtl(options)
	return stops
}

func (t *TransientDefault) readAs(before []byte, long bool) {
	t.Form, t.Line, t.Value, t.Stops = TransientMissing, 0, "", ""
	file := envfile.Systemd(t.Text, long)
	counts := file.Last(t.Variable)
	if counts == nil {
		counts = envfile.Systemd(before, long).Last(t.Variable)
	}
	if counts != nil {
		t.Value = counts.Value
		deletes, stops := ovsCtl(envfile.Words(counts.Value))
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
		t.Form, t.Line = TransientQuoted, n // not a setting at all
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

// ovsCtl parses the options after "ovs-ctl start" as ovs-ctl(8) does. It reports whether transient ports are deleted
// at startup, or why it does not start at all.
func ovsCtl(options []string) (deletes bool, stops string) {
	for _, arg := range options {
		option, long := strings.CutPrefix(arg, "--")
		long = long && option != "" && option[0] >= 'a' && option[0] <= 'z'
		name, value, valued := strings.Cut(option, "=")
		switch {
		case arg == "-h" || arg == "--help" || arg == "-V" || arg == "--version":
			return false, "ovs-ctl replies to " + arg + " and starts nothing"
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
		case arg != "":
			return false, fmt.Sprintf("ovs-ctl: exactly one non-option argument required: it takes %q for a second command", arg)
		default:
			return false, "ovs-ctl: exactly one non-option argument required: an empty word is a second command"
		}
	}
	return deletes, ""
}

// TransientPorts returns the ports that are deleted when Open vSwitch starts with the option, and those of pods among
// them: they have an iface-id.
func TransientPorts(s *snapshot.Switch) (all, pods []string) {
	interfaces := snapshot.Index(s.Interfaces, func(i *vswitch.InterfaceBrief) ovsdb.UUID { return i.UUID })
	for _, p := range s.Ports {
		if p.OtherConfig["transient"] != "true" {
			continue
		}
		all = append(all, p.Name)
		if slices.ContainsFunc(p.Interfaces, func(id ovsdb.UUID) bool { return interfaces[id] != nil && interfaces[id].ExternalIDs["iface-id"] != "" }) {
			pods = append(pods, p.Name)
		}
	}
	slices.Sort(all)
	slices.Sort(pods)
	return all, pods
}

// Contained reports whether a host's Open vSwitch runs in a container, and which
// process shows it.
func Contained(h *snapshot.Host) (bool, string, error) {
	processes, err := h.Processes()
	if err != nil {
		return false, "", err
	}
	contained, by := inContainer(processes)
	return contained, by, nil
}

func inContainer(processes []node.Process) (bool, string) {
	for _, p := range processes {
		if p.Container && ofSwitch(p) {
			return true, fmt.Sprintf("process %d, %s, in control group %s", p.PID, p.Name, p.Cgroup)
		}
	}
	return false, ""
}

// StartedOtherwise reports whether the host's Open vSwitch was not started by ovs-ctl(8), whose options the default
// file has: a script of its own decides on transient ports then.
func StartedOtherwise(h *snapshot.Host) (bool, error) {
	processes, err := h.Processes()
	if err != nil {
		return false, err
	}
	return startedOtherwise(processes), nil
}

func startedOtherwise(processes []node.Process) bool {
	other := false
	for _, p := range processes {
		if !ofSwitch(p) {
			continue
		}
		if slices.Contains(p.Args, "-vconsole:emer") { // all that ovs-ctl starts has it
			return false
		}
		other = true
	}
	return other
}

// ofSwitch reports whether a process is a daemon of Open vSwitch itself. The servers of OVN's databases have the same name.
func ofSwitch(p node.Process) bool {
	return p.Name == "ovs-vswitchd" || p.Name == "ovsdb-server" && !slices.ContainsFunc(p.Args, func(arg string) bool {
		file := path.Base(arg)
		return strings.HasPrefix(file, "ovn") && (strings.HasSuffix(file, ".db") || strings.HasSuffix(file, ".ctl"))
	})
}

// A Distribution is a host's distribution, os-release(5).
type Distribution struct {
	ID   string // "debian", "ubuntu", "rhel", "rocky"
	Name string // for display: PRETTY_NAME
	// Family is "debian" or "rpm", from ID and ID_LIKE; empty if neither.
	Family string
}

// DistributionOf reads the host's os-release.
func distributionOf(h *snapshot.Host) (Distribution, error) {
	text, err := h.File("/etc/os-release")
	if err != nil {
		if text, err = h.File("/usr/lib/os-release"); err != nil {
			return Distribution{}, err
		}
	}
	get := func(name string) string {
		if a := envfile.LastShell(text, name); a != nil {
			return a.Value
		}
		return ""
	}
	d := Distribution{ID: get("ID"), Name: get("PRETTY_NAME")}
	for _, id := range append([]string{d.ID}, strings.Fields(get("ID_LIKE"))...) {
		switch id {
		case "debian", "ubuntu":
			d.Family = "debian"
		case "rhel", "fedora", "centos", "suse", "opensuse", "sles":
			d.Family = "rpm"
		default:
			continue
		}
		break
	}
	if d.Name == "" {
		d.Name = d.ID
	}
	return d, nil
}
