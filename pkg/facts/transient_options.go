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

// A TransientForm is how the option is written in a default file.
type TransientForm string

// Forms, one for each fault. A file may have several; the most important one is reported.
const (
	TransientWorks         TransientForm = "works"
	TransientMissing       TransientForm = "missing"        // nowhere in it
	TransientSelfReference TransientForm = "self-reference" // VAR="$VAR …", which systemd does not expand
	TransientGlued         TransientForm = "glued"          // on the line of another setting
	TransientCommented     TransientForm = "commented"      // only in a comment
	TransientQuoted        TransientForm = "quoted"         // written so that systemd or ovs-ctl reads something else
	TransientOverridden    TransientForm = "overridden"     // a later line sets the variable again
)

// TransientDefault is what a host's Open vSwitch does with transient ports when it
// starts.
type TransientDefault struct {
	Distribution Distribution
	File         string // that ovs-ctl's service reads: /etc/default/openvswitch-switch
	Variable     string // OVS_CTL_OPTS
	Text         []byte // of the file; nil: it does not exist
	Form         TransientForm
	Line         int    // of the form; 0: none
	Value        string // of the variable, as systemd reads it
	// Stops is why Open vSwitch does not start with these options; empty: it does.
	Stops string
	// Unit is ovs-delete-transient-ports.service of the rpm: "present", "masked", or "" if there is none.
	Unit string
	// Otherwise is a unit or drop-in of the operator that deletes them; empty: there is none.
	Otherwise string
	// Wrong is a file that has the option but is not read, on an rpm host.
	Wrong     string
	WrongLine int
	WrongFile []byte // the text of it
}

// WrongText is the line with the option in the file that is not read.
func (t *TransientDefault) WrongText() string {
	return strings.TrimSpace(envfile.Line(t.WrongFile, t.WrongLine))
}

// Deleted reports whether transient ports are deleted at boot.
func (t *TransientDefault) Deleted() bool {
	return t.Form == TransientWorks || t.Unit == "present" || t.Otherwise != ""
}

// ErrOtherDistribution is the error for a host whose default file is not known.
var ErrOtherDistribution = errors.New("ovnctl knows only where Debian and rpm hosts keep the options of Open vSwitch")

// ReadTransientDefault reads the options with which a host starts Open vSwitch.
func ReadTransientDefault(h *snapshot.Host) (*TransientDefault, error) {
	t := &TransientDefault{}
	var err error
	if t.Distribution, err = DistributionOf(h); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
		// The unit reads this one first, so the other one overrides it.
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

// transientElsewhere finds a unit or drop-in of the operator that deletes transient
// ports.
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
			text, _ := h.File(file) // it may be a link to a package's unit, or one that masks it
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

// lineOf is the number of the first line that contains a text; 0: none.
func lineOf(text []byte, s string) int {
	if i := bytes.Index(text, []byte(s)); i >= 0 {
		return 1 + bytes.Count(text[:i], []byte("\n"))
	}
	return 0
}

// TransientUnitName is the unit of the rpm that deletes transient ports at boot.
const TransientUnitName = "ovs-delete-transient-ports.service"

// transientUnit asks systemd, and if that does not run, looks for the unit's file.
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
		// In the first two a link to /dev/null masks it, and a file is the operator's own unit.
		if text, err := h.File(found[0]); i < 2 && (err != nil || len(bytes.TrimSpace(text)) == 0) {
			return "masked", nil
		}
		return "present", nil
	}
	return "", nil
}

// read finds the form of the option in the text; before is a file that systemd reads earlier.
func (t *TransientDefault) read(before []byte) {
	// Up to systemd 253 a comment that ends in a backslash continues: the option must work both ways.
	for _, long := range []bool{false, true} {
		t.readAs(before, long)
		if t.Form != TransientWorks {
			return
		}
	}
}

// With is what the options would be if the file had this text.
func (t *TransientDefault) With(text []byte) *TransientDefault {
	after := *t
	after.Text = text
	after.read(nil)
	return &after
}

// StopsOVS is why ovs-ctl would not start Open vSwitch with these options; empty: it would.
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

// ovsCtl reads the options behind "ovs-ctl start" as ovs-ctl(8) does itself. It reports whether it
// deletes transient ports when it starts, or why it does not start at all.
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

// TransientPorts are the ports that are deleted when Open vSwitch starts with the
// option, and those among them that belong to pods: they have an iface-id.
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

// Contained reports whether a host's Open vSwitch runs in a container, and which
// process shows it.
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
