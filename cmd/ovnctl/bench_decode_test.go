//go:build lab

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// BenchmarkDecode names the numbers of the flows of a bridge, beside the tools that
// read the same text. ovs-flowviz colours and breaks up what dump-flows prints, and
// knows no names; ovn-detrace looks up the cookies in the steps of a trace.
func BenchmarkDecode(b *testing.B) {
	l, program := labtest.Shared(b, lab.OVNKubernetes()), buildOvnctl(b)
	out, err := l.Command(b.Context(), "node1", "ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "br-int").Output()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("beside ovs-flowviz", func(b *testing.B) {
		root := flowviz(b)
		const copies = 20 // for as many flows as a large bridge has
		dump := filepath.Join(b.TempDir(), "flows")
		inside, err := os.CreateTemp(filepath.Join(root, "tmp"), "flows")
		if err != nil {
			b.Fatal(err)
		}
		defer os.Remove(inside.Name()) //nolint:errcheck // a temporary file
		text := strings.Repeat(string(out), copies)
		if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		if _, err := inside.WriteString(text); err != nil {
			b.Fatal(err)
		}
		beside(b, task{on(l, "node1", program, "decode", dump)},
			task{host(0, "chroot", root, "env", "PYTHONPATH="+flowvizModules, "ovs-flowviz", "-i", "/tmp/"+filepath.Base(inside.Name()), "openflow", "console")}, nil)
		b.ReportMetric(float64(strings.Count(text, "actions=")), "flows")
	})
	step := regexp.MustCompile(`(?m)^ cookie=(0x[0-9a-f]+), .*table=([0-9]+),.*priority=([0-9]+),?(.*) actions=.*$`)
	steps := "bridge(\"br-int\")\n"
	for _, m := range step.FindAllStringSubmatch(string(out), -1) {
		steps += m[2] + ". " + m[4] + ", priority " + m[3] + ", cookie " + m[1] + "\n"
	}
	for _, copies := range []int{1, 10} {
		b.Run(fmt.Sprintf("beside ovn-detrace, %d times", copies), func(b *testing.B) {
			text := strings.Repeat(steps, copies)
			file := filepath.Join(b.TempDir(), "steps")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			beside(b, task{on(l, "node1", program, "decode", file)},
				task{on(l, "node1", "sh", "-c", "exec ovn-detrace --ovnsb="+l.SB()+" --ovnnb="+l.NB()+" < "+file)}, nil)
			b.ReportMetric(float64(strings.Count(text, "cookie")), "flows")
		})
	}
}

// flowvizModules is where flowviz puts the modules of ovs-flowviz, in its root.
const flowvizModules = "/opt/flowviz/usr/lib/python3/dist-packages"

// flowviz returns a root in which ovs-flowviz runs: that of a release which has it,
// with the Python modules beside it that its package recommends.
func flowviz(b *testing.B) (root string) {
	b.Helper()
	release, err := lab.Installed(b.Context(), "trixie")
	if err != nil {
		b.Fatalf("%v (`go run ./internal/lab/cmd/lab install trixie` installs it)", err)
	}
	if _, err := os.Stat(filepath.Join(release.Root, flowvizModules)); err == nil {
		return release.Root
	}
	const script = `set -e
rm -rf /opt/flowviz.new
mkdir -p /opt/flowviz.new/debs
cd /opt/flowviz.new/debs
apt-get -qq -o APT::Sandbox::User=root download python3-openvswitch python3-sortedcontainers python3-rich python3-markdown-it \
	python3-mdurl python3-pygments python3-click python3-netaddr python3-pyparsing python3-graphviz
for f in *.deb; do dpkg -x $f ..; done
mv /opt/flowviz.new /opt/flowviz`
	if out, err := exec.CommandContext(b.Context(), "chroot", release.Root, "sh", "-c", script).CombinedOutput(); err != nil {
		b.Fatalf("ovs-flowviz: %v\n%s", err, out)
	}
	return release.Root
}
