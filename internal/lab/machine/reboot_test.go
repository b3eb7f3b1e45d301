//go:build machine

package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/turn"
)

// A keeper of addresses gives eth0 its address at boot, or nothing.
type keeper struct {
	name    string
	file    string // where it reads of the address
	content string
	service string // that is enabled for it
	holder  string // the link with the address after a boot; empty: none
}

var keepers = []keeper{
	{
		name: "ifupdown", file: "/etc/network/interfaces", service: "networking", holder: "eth0",
		content: "auto lo\niface lo inet loopback\n\nauto eth0\niface eth0 inet static\n\taddress 10.0.2.15/24\n\tgateway 10.0.2.2\n",
	},
	{
		name: "netplan", file: "/etc/netplan/50-eth0.yaml", service: "systemd-networkd", holder: "eth0",
		content: "network:\n  version: 2\n  renderer: networkd\n  ethernets:\n    eth0:\n      addresses: [10.0.2.15/24]\n      routes:\n        - to: default\n          via: 10.0.2.2\n",
	},
	{
		name: "NetworkManager", file: "/etc/NetworkManager/system-connections/eth0.nmconnection", service: "NetworkManager", holder: "eth0",
		content: "[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n\n[ipv4]\nmethod=manual\naddress1=10.0.2.15/24,10.0.2.2\n\n[ipv6]\nmethod=disabled\n",
	},
	{ // nothing brings br-ex up at boot
		name: "nobody", file: "/etc/network/interfaces", service: "networking",
		content: "auto lo\niface lo inet loopback\n\niface br-ex inet static\n\taddress 10.0.2.15/24\n\tgateway 10.0.2.2\n",
	},
}

// An operator moves the address of a node to br-ex by hand, and reboots: the address is back on the NIC, or nowhere. doctor
// finds that and mends it, watched by a unit of systemd; the next reboot brings the fault back, as the plan has said.
func TestLostAddress(t *testing.T) {
	makes := turn.Takes(t, len(keepers))
	for i, k := range keepers {
		if makes(i) {
			t.Run(k.name, func(t *testing.T) { newNode(t).losesAddress(k) })
		}
	}
}

func (n *node) losesAddress(k keeper) {
	t := n.t
	if err := n.Write(t.Context(), k.file, 0o600, strings.NewReader(k.content)); err != nil {
		t.Fatal(err)
	}
	n.sh("systemctl enable -q " + k.service + "; systemctl restart " + k.service)
	for deadline := time.Now().Add(5 * time.Minute); n.holder() != k.holder; time.Sleep(time.Second) { // a service starts before it has done its work
		if time.Now().After(deadline) {
			t.Fatalf("%s gives the address to %q", k.service, n.holder())
		}
	}
	n.sh(byHand)
	n.healthy("before the reboot")
	n.reboot()
	n.lost(k.holder)

	out, code := n.ovnctl("doctor --fix --yes --max-risk high --confirm gateway")
	if code != 0 {
		t.Fatalf("the repair: exit %d: %s", code, out)
	}
	if !strings.Contains(out, k.file) {
		t.Errorf("the plan does not name %s, which has the address: %s", k.file, out)
	}
	if units := n.sh("journalctl -q -o cat _PID=1 -g ovnctl-watchdog | head -3"); units == "" {
		t.Error("no watchdog ran as a unit of systemd")
	}
	n.healthy("after the repair")
	n.cutSession()

	n.reboot()
	n.lost(k.holder)
}

// byHand is what the documentation of many a CMS says.
const byHand = `set -e
ovs-vsctl --may-exist add-br br-ex -- br-set-external-id br-ex bridge-uplink eth0 -- --may-exist add-port br-ex eth0
ip address flush dev eth0
ip address add 10.0.2.15/24 dev br-ex
ip link set br-ex up
ip link set eth0 up
ip route replace default via 10.0.2.2 dev br-ex
`

// byBoot is what a boot does to it.
const byBoot = `set -e
ip address flush dev br-ex
ip address replace 10.0.2.15/24 dev eth0
ip route replace default via 10.0.2.2 dev eth0
`

// What may happen while a repair is under way: it is undone in its time, or it is in place, never half of it, and the journal
// knows which.
func TestDisturbedRepair(t *testing.T) { newNode(t).disturbed() }

func (n *node) disturbed() {
	t := n.t
	n.sh(byHand)
	for _, c := range []struct {
		name    string
		until   string // a state of the run, in which it is disturbed
		disturb string
		restore string // what else it takes for the next case
		reason  string // why it is undone; empty: it may also be in place, or be undone because it was cut off
	}{
		{
			name: "the clock an hour ahead", until: "verified", reason: "not confirmed",
			disturb: "date -s @$(($(date +%s) + 3600))", restore: "date -s @$(($(date +%s) - 3600))",
		},
		{ // the watchdog alone is left
			name: "the clock an hour back, and the repair stopped", until: "verified", reason: "not confirmed",
			disturb: "kill -STOP $(cat /run/repair); date -s @$(($(date +%s) - 3600))", restore: "date -s @$(($(date +%s) + 3600))",
		},
		{name: "the session cut once the watchdog runs", until: "armed", disturb: "kill -9 $(cat /run/session)"},
		{name: "the session cut while it changes", until: "begun", disturb: "kill -9 $(cat /run/session)"},
		{name: "the session cut once it has changed", until: "done", disturb: "kill -9 $(cat /run/session)"},
		{name: "the session cut before it is confirmed", until: "verified", disturb: "kill -9 $(cat /run/session)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := n.in(t)
			n.sh(byBoot)
			before := n.runs()
			n.disturb(len(before), c.until, c.disturb)
			start := time.Now()
			run := n.over(len(before))
			if took := time.Since(start); c.reason != "" && (took < confirmTime/2 || took > confirmTime+3*time.Minute) {
				t.Errorf("undone %.0f s after it was verified, with %.0f s to confirm it", took.Seconds(), confirmTime.Seconds())
			}
			if c.restore != "" {
				n.sh(c.restore)
			}
			switch run.State {
			case "undone":
				if h := n.holder(); h != "eth0" {
					t.Errorf("the repair is undone, and the address is on %q", h)
				}
			case "confirmed":
				if h := n.holder(); h != "br-ex" {
					t.Errorf("the repair is in place, and the address is on %q", h)
				}
			default:
				t.Errorf("the repair is %s: %s", run.State, run.Why)
			}
			if c.reason != "" && run.Reason != c.reason {
				t.Errorf("the repair is %s: %s (%s)", run.State, run.Why, run.Reason)
			}
			if by := n.sh("ip route show default | awk '{print $5}' | paste -sd' '"); by != n.holder() {
				t.Errorf("the default route is by %q, the address on %q", by, n.holder())
			}
		})
	}
	n.sh(byBoot)
	if out, code := n.ovnctl("fix restore-bridge-ip br-ex --yes --max-risk high --confirm gateway"); code != 0 {
		t.Errorf("the repair after all that: exit %d: %s", code, out)
	}
	n.healthy("after all that")
	if out, code := n.ovnctl("fix undo --yes"); code != 0 || n.holder() != "eth0" {
		t.Errorf("its undo: exit %d, the address is on %s: %s", code, n.holder(), out)
	}
}

// confirmTime is how long a repair waits to be confirmed, where nobody does.
const confirmTime = time.Minute

// disturb starts a repair in a session of its own, on a terminal, waits until it is in a state, and disturbs it.
func (n *node) disturb(runs int, until, disturb string) {
	n.t.Helper()
	n.sh("rm -f /run/session /run/repair")
	n.agree(fmt.Sprintf("echo $PPID >/run/session; echo $$ >/run/repair; exec /payload/ovnctl fix restore-bridge-ip br-ex --max-risk high -t 60 --confirm-timeout %.0f", confirmTime.Seconds()))
	// The machine's own shell waits, so that no state passes unseen. Names are in the order of runs, whatever the clock says.
	n.sh(fmt.Sprintf(`set -e
i=0
until cd /var/lib/ovnctl/journal && [ "$(ls | grep -c 'jsonl$')" -gt %d ] && grep -q '"state":"%s"' "$(ls | grep 'jsonl$' | tail -1)"; do
	i=$((i+1))
	[ $i -lt 3000 ]
	sleep 0.05
done
%s`, runs, until, disturb))
}

// agree starts a repair in a session of its own, on a terminal, and agrees to its plan. The question whether to keep the change waits.
func (n *node) agree(line string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Minute)
	n.t.Cleanup(cancel)
	cmd := n.SessionCommand(ctx, line)
	answers, err := cmd.StdinPipe() // it stays open
	if err != nil {
		n.t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if n.t.Failed() {
			n.t.Logf("the repair has printed: %s", out.String())
		}
	})
	if _, err := io.WriteString(answers, "y\n"); err != nil {
		n.t.Fatal(err)
	}
}

// A ran is what the journal says of a run.
type ran struct {
	State, Reason, Why, Damage string
	Open                       bool
}

// runs returns the journal.
func (n *node) runs() []ran {
	n.t.Helper()
	text, _ := n.ovnctl("fix list --done -o json 2>/dev/null")
	var doc struct{ Runs []ran }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		n.t.Fatalf("the journal: %v: %s", err, text)
	}
	for i, r := range doc.Runs {
		if r.Damage != "" {
			n.t.Errorf("run %d of the journal: %s", i+1, r.Damage)
		}
	}
	return doc.Runs
}

// over waits for the end of the run behind so many, and returns it.
func (n *node) over(before int) ran {
	n.t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for {
		runs := n.runs()
		if len(runs) == before+1 {
			switch r := runs[before]; r.State {
			case "undone", "confirmed", "stuck":
				return r
			}
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("the run does not end: %+v", runs)
		}
		time.Sleep(time.Second)
	}
}

// The forms of the default file that do not do what they look like, through the real start of the service.
func TestTransientDefault(t *testing.T) {
	n := newNode(t)
	n.sh("ovs-vsctl add-br br-t -- add-port br-t gone -- set Interface gone type=internal -- set Port gone other_config:transient=true")
	for _, form := range []struct {
		name, check, content string
		starts               bool
	}{
		{"self-reference", "transient-default-self-reference", "OVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n", false},
		{"comment behind it", "transient-default-glued-or-commented", "OVS_CTL_OPTS=\"--delete-transient-ports\" # for reboots\n", false},
		{"commented", "transient-default-glued-or-commented", "# OVS_CTL_OPTS: options for ovs-ctl OVS_CTL_OPTS='--delete-transient-ports'\n", true},
		{"glued", "transient-default-glued-or-commented", "FORCE_COREFILES=yesOVS_CTL_OPTS=\"--delete-transient-ports\"\n", true},
	} {
		t.Run(form.name, func(t *testing.T) {
			n := n.in(t)
			if err := n.Write(t.Context(), "/etc/default/openvswitch-switch", 0o644, strings.NewReader(form.content)); err != nil {
				t.Fatal(err)
			}
			_, err := n.Output(t.Context(), "systemctl restart openvswitch-switch ovsdb-server ovs-vswitchd && ovs-vsctl --timeout=600 show")
			if (err == nil) != form.starts {
				t.Errorf("Open vSwitch starts: %v", err)
			}
			if form.starts && !strings.Contains(n.sh("ovs-vsctl list-ports br-t"), "gone") {
				t.Error("the transient port is gone already")
			}
			if checks, _ := n.doctor(); !slices.Contains(checks, form.check) {
				t.Errorf("doctor finds %v", checks)
			}
			if out, code := n.ovnctl("fix set-transient-default --yes --max-risk high"); code != 0 {
				t.Fatalf("the repair: exit %d: %s", code, out)
			}
			n.sh("systemctl reset-failed; systemctl restart openvswitch-switch ovsdb-server ovs-vswitchd; ovs-vsctl --timeout=600 show")
			if ports := n.sh("ovs-vsctl list-ports br-t"); strings.Contains(ports, "gone") {
				t.Errorf("the transient port is still there: %s", ports)
			}
			if checks, _ := n.doctor(); slices.Contains(checks, form.check) {
				t.Errorf("doctor still finds %v", checks)
			}
			n.sh("ovs-vsctl add-port br-t gone -- set Interface gone type=internal -- set Port gone other_config:transient=true")
		})
	}
}

// A node is a machine with OVN's own services, a cluster of one.
type node struct {
	*Machine
	t *testing.T
}

func newNode(t *testing.T) *node {
	payload := t.TempDir()
	buildOvnctl(t, payload)
	n := &node{bootFor(t, Options{Release: releases()[0], Payload: payload}), t}
	// systemctl enable has every service's script linked too, and systemd reads all units again each time: minutes, emulated.
	n.sh(`set -e
for unit in openvswitch-switch ovn-central ovn-host ssh; do
	ln -sf /lib/systemd/system/$unit.service /etc/systemd/system/multi-user.target.wants/
done
systemctl daemon-reload
systemctl start openvswitch-switch
ovs-vsctl set Open_vSwitch . external_ids:ovn-remote=unix:/run/ovn/ovnsb_db.sock external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip=10.0.2.15
systemctl start ovn-central ovn-host ssh
until [ -S /run/ovn/ovnnb_db.sock ]; do sleep 1; done
ovn-nbctl --timeout=600 --wait=sb ls-add lan`)
	return n
}

func (n *node) in(t *testing.T) *node { return &node{n.Machine, t} }

// sh runs lines of sh(1).
func (n *node) sh(lines string) string {
	n.t.Helper()
	out, err := n.Output(n.t.Context(), lines)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// ovnctl returns what it printed and its exit code.
func (n *node) ovnctl(args string) (string, int) {
	n.t.Helper()
	cmd := n.Command(n.t.Context(), "/payload/ovnctl "+args+" -t 60")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		n.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// doctor returns the checks with errors, of consequences too, and its text.
func (n *node) doctor() (checks []string, text string) {
	n.t.Helper()
	text, _ = n.ovnctl("doctor -o json 2>/dev/null")
	type finding struct {
		Check, Result string
		Consequences  []finding
	}
	var report struct{ Findings []finding }
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		n.t.Fatalf("doctor: %v: %s", err, text)
	}
	for all := report.Findings; len(all) > 0; all = all[1:] {
		if all[0].Result == "error" {
			checks = append(checks, all[0].Check)
		}
		all = append(all, all[0].Consequences...)
	}
	return checks, text
}

func (n *node) reboot() {
	n.t.Helper()
	if err := n.Reboot(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	n.sh("systemctl is-system-running --wait >/dev/null || true")
}

// holder is the link with the node's address.
func (n *node) holder() string {
	n.t.Helper()
	return n.sh("ip -o -4 address show to 10.0.2.15 | awk '{print $2}' | paste -sd' '")
}

// healthy is: the bridge has the address, the gateway replies, and doctor finds no error.
func (n *node) healthy(when string) {
	n.t.Helper()
	if h := n.holder(); h != "br-ex" {
		n.t.Fatalf("%s: the address is on %q", when, h)
	}
	n.sh("ping -q -c2 -W5 10.0.2.2")
	deadline := time.Now().Add(2 * time.Minute)
	for {
		checks, text := n.doctor()
		if len(checks) == 0 {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%s: doctor finds %v: %s", when, checks, text)
		}
	}
}

// lost is: the bridge does not have the address, the gateway does not reply, and doctor finds why.
func (n *node) lost(holder string) {
	n.t.Helper()
	if h := n.holder(); h != holder {
		n.t.Fatalf("after the reboot the address is on %q, want %q", h, holder)
	}
	if _, err := n.Output(n.t.Context(), "ping -q -c2 -W3 10.0.2.2"); err == nil {
		n.t.Fatal("after the reboot the gateway replies")
	}
	if checks, text := n.doctor(); !slices.Contains(checks, "bridge-ip-lost-after-reboot") {
		n.t.Fatalf("after the reboot doctor finds %v: %s", checks, text)
	}
}

// cutSession has an operator, logged in by the address itself, take the repair back: that cuts the session off before it can
// be confirmed. The watchdog puts the address back on the bridge, and the operator can log in again.
func (n *node) cutSession() {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := n.OperatorCommand(ctx, "/payload/ovnctl fix undo -t 60 --confirm-timeout 20s")
	answers, err := cmd.StdinPipe() // it stays open: the question whether to keep the change waits
	if err != nil {
		n.t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	if _, err := io.WriteString(answers, "y\n"); err != nil {
		n.t.Fatal(err)
	}
	var failed error
	ended := make(chan struct{})
	go func() {
		failed = cmd.Wait()
		close(ended)
	}()
	for n.holder() == "br-ex" {
		select {
		case <-ended:
			n.t.Fatalf("the undo did not take the address from the bridge: %v: %s", failed, out.String())
		case <-time.After(time.Second):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	for n.holder() != "br-ex" && ctx.Err() == nil {
		time.Sleep(time.Second)
	}
	n.healthy("after the session was cut")
	if back, err := n.OperatorCommand(ctx, "echo back").CombinedOutput(); err != nil || !strings.Contains(string(back), "back") {
		n.t.Errorf("the operator cannot log in again: %v: %s", err, back)
	}
}
