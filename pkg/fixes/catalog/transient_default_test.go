//go:build lab

package catalog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/facts"
)

const ovsCtlPath = "/usr/share/openvswitch/scripts/ovs-ctl"

// The broken forms of the option, and what becomes of the file. Where want is
// empty, the file is left to a person.
var transientFiles = []struct {
	name, text string
	form       facts.TransientForm
	stops      bool // Open vSwitch does not start with it
	want       string
}{
	{"nothing", "", facts.TransientMissing, false, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"as shipped", "# FORCE_COREFILES=yes\n\n# OVS_CTL_OPTS=\n", facts.TransientMissing, false,
		"# FORCE_COREFILES=yes\n\n# OVS_CTL_OPTS=\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"no newline at the end", "FORCE_COREFILES=yes", facts.TransientMissing, false, "FORCE_COREFILES=yes\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"other options", "A=b\nOVS_CTL_OPTS=\"--no-mlockall\"\nC=d\n", facts.TransientMissing, false, "A=b\nOVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\nC=d\n"},
	{"options of options", "OVS_CTL_OPTS=\"--ovs-vswitchd-options='-vconsole:off -vfile:dbg'\"\n", facts.TransientMissing, false,
		"OVS_CTL_OPTS=\"--ovs-vswitchd-options='-vconsole:off -vfile:dbg' --delete-transient-ports\"\n"},
	{"empty", "OVS_CTL_OPTS=\n", facts.TransientMissing, false, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"works", "OVS_CTL_OPTS=\"--delete-transient-ports\"\n", facts.TransientWorks, false, ""},
	{"works bare", "OVS_CTL_OPTS=--no-mlockall --delete-transient-ports\n", facts.TransientWorks, false, ""},
	{"works with blanks", " OVS_CTL_OPTS = --delete-transient-ports\n", facts.TransientWorks, false, ""},
	{"works beside a comment", "# OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS='--delete-transient-ports'\n", facts.TransientWorks, false, ""},
	{"another variable's dollar", "A=\"$OVS_CTL_OPTS\"\nOVS_CTL_OPTS=\"--delete-transient-ports --ovs-vswitchd-options=$OVS_CTL_OPTS_X\"\n", facts.TransientWorks, false, ""},
	{"twice, both with it", "OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\n", facts.TransientWorks, false, ""},
	{"self reference", "OVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n", facts.TransientSelfReference, true, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"self reference with braces", "# c\nOVS_CTL_OPTS=\"${OVS_CTL_OPTS} --delete-transient-ports\"\nA=b\n", facts.TransientSelfReference, true,
		"# c\nOVS_CTL_OPTS=\"--delete-transient-ports\"\nA=b\n"},
	{"self reference to a line before", "OVS_CTL_OPTS=\"--no-mlockall\"\nOVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n", facts.TransientSelfReference, true,
		"OVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\n"},
	{"self reference without the option", "OVS_CTL_OPTS=\"$OVS_CTL_OPTS --no-mlockall\"\n", facts.TransientSelfReference, true,
		"OVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\n"},
	{"self reference in a comment", "# OVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n", facts.TransientCommented, false,
		"# OVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"commented", "# OVS_CTL_OPTS=\"--delete-transient-ports\"\nA=b\n", facts.TransientCommented, false,
		"# OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS=\"--delete-transient-ports\"\nA=b\n"},
	{"commented beside others", "#OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS=\"--no-mlockall\"\n", facts.TransientCommented, false,
		"#OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\n"},
	{"glued to a setting", "FORCE_COREFILES=yesOVS_CTL_OPTS=\"--delete-transient-ports\"\n", facts.TransientGlued, false,
		"FORCE_COREFILES=yes\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"glued to a comment", "# see ovs-ctl(8)OVS_CTL_OPTS=\"--delete-transient-ports\"\n", facts.TransientGlued, false,
		"# see ovs-ctl(8)\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"glued to a setting, with a self reference", "FORCE_COREFILES=yesOVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"", facts.TransientGlued, false,
		"FORCE_COREFILES=yes\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"glued to itself", "OVS_CTL_OPTS=--no-mlockallOVS_CTL_OPTS=--delete-transient-ports\n", facts.TransientGlued, false,
		"OVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\n"},
	{"a comment behind the value", "OVS_CTL_OPTS=\"--delete-transient-ports\" # for reboots\n", facts.TransientQuoted, true,
		"# for reboots\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"a comment behind a bare value", "OVS_CTL_OPTS=--delete-transient-ports # for reboots\n", facts.TransientQuoted, true,
		"# for reboots\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"typographic quotes", "OVS_CTL_OPTS=“--delete-transient-ports”\n", facts.TransientQuoted, true, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"a long dash", "OVS_CTL_OPTS=\"—delete-transient-ports\"\n", facts.TransientQuoted, true, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"export", "export OVS_CTL_OPTS=\"--delete-transient-ports\"\n", facts.TransientQuoted, false, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"plus", "OVS_CTL_OPTS+=\"--delete-transient-ports\"\n", facts.TransientQuoted, false, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"no quotation mark at the end", "OVS_CTL_OPTS=\"--delete-transient-ports\nFORCE_COREFILES=yes\n", facts.TransientQuoted, true, ""},
	{"inside another option", "OVS_CTL_OPTS=\"--ovs-vswitchd-options='-vfile:dbg --delete-transient-ports'\"\n", facts.TransientQuoted, false,
		"OVS_CTL_OPTS=\"--ovs-vswitchd-options='-vfile:dbg --delete-transient-ports' --delete-transient-ports\"\n"},
	{"switched off behind it", "OVS_CTL_OPTS=\"--delete-transient-ports --no-delete-transient-ports\"\n", facts.TransientQuoted, false,
		"OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"only the option", "--delete-transient-ports\n", facts.TransientQuoted, false, "--delete-transient-ports\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"set again", "OVS_CTL_OPTS=\"--delete-transient-ports\"\nA=b\nOVS_CTL_OPTS=\"--no-mlockall\"\n", facts.TransientOverridden, false,
		"A=b\nOVS_CTL_OPTS=\"--no-mlockall --delete-transient-ports\"\n"},
	{"set again to nothing", "OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS=\n", facts.TransientOverridden, false, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n"},
	{"behind a comment that older systemd goes on with", "# a \\\nOVS_CTL_OPTS=\"--delete-transient-ports\"\n", facts.TransientCommented, false, ""},
}

func TestTransientDefault(t *testing.T) {
	for _, test := range transientFiles {
		t.Run(test.name, func(t *testing.T) {
			d := (&facts.TransientDefault{File: "/etc/default/openvswitch-switch", Variable: "OVS_CTL_OPTS"}).With([]byte(test.text))
			if d.Form != test.form || (d.Stops != "") != test.stops {
				t.Fatalf("read as %s, stops: %q; want %s, %v", d.Form, d.Stops, test.form, test.stops)
			}
			if test.stops || d.Form == facts.TransientWorks {
				runOvsCtl(t, d.Value, !test.stops)
			}
			if d.Form == facts.TransientWorks {
				return
			}
			got, _, err := rewritten(d)
			if test.want == "" {
				if err == nil {
					t.Fatalf("rewritten to %q, want a refusal", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Fatalf("got\n%s\nwant\n%s", got, test.want)
			}
			d = d.With(got)
			if d.Form != facts.TransientWorks {
				t.Fatalf("rewritten, it is read as %s", d.Form)
			}
			runOvsCtl(t, d.Value, true)
		})
	}
}

// runOvsCtl gives the real ovs-ctl the arguments that systemd makes of a value,
// with a command that starts nothing.
func runOvsCtl(t *testing.T, value string, takes bool) {
	t.Helper()
	args := append([]string{"--no-ovs-vswitchd", "--no-monitor", "--system-id=random", "--no-record-hostname", "version"}, envfile.Words(value)...)
	out, err := exec.Command(ovsCtlPath, args...).CombinedOutput()
	if (err == nil) != takes {
		t.Fatalf("ovs-ctl %q: %v: %s", args, err, out)
	}
	if !takes && !strings.Contains(string(out), "exactly one non-option argument") {
		t.Fatalf("ovs-ctl says %s", out)
	}
}

// A mended file, the words that systemd makes of it, and the real ovs-ctl: the
// transient port is gone after a start of ovsdb-server, the other one is not.
func TestTransientPortsAreDeleted(t *testing.T) {
	dir, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := append(os.Environ(), "OVS_RUNDIR="+dir, "OVS_LOGDIR="+dir, "OVS_DBDIR="+dir, "OVS_SYSCONFDIR="+dir)
	if err := os.Mkdir(filepath.Join(dir, "openvswitch"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	start := func(words ...string) {
		t.Helper()
		run(ovsCtlPath, append([]string{"--no-ovs-vswitchd", "--no-monitor", "--system-id=random", "--no-record-hostname", "--ovsdb-server-priority=", "start"}, words...)...)
	}
	stop := func() { run(ovsCtlPath, "--no-ovs-vswitchd", "stop") }
	start()
	t.Cleanup(stop)
	run("ovs-vsctl", "--no-wait", "add-br", "br0", "--", "add-port", "br0", "kept", "--", "add-port", "br0", "gone", "--", "set", "Port", "gone", "other_config:transient=true")
	for _, test := range transientFiles {
		if test.name != "self reference to a line before" && test.name != "glued to a setting" {
			continue
		}
		run("ovs-vsctl", "--no-wait", "--may-exist", "add-port", "br0", "gone", "--", "set", "Port", "gone", "other_config:transient=true")
		text, _, err := rewritten((&facts.TransientDefault{File: "f", Variable: "OVS_CTL_OPTS"}).With([]byte(test.text)))
		if err != nil {
			t.Fatal(err)
		}
		stop()
		start(envfile.Words(envfile.Systemd(text, false).Last("OVS_CTL_OPTS").Value)...)
		if ports := run("ovs-vsctl", "--no-wait", "list-ports", "br0"); ports != "kept" {
			t.Errorf("%s: after the start br0 has %q", test.name, ports)
		}
	}
}
