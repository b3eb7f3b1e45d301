package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tried is what a command of the demo has to say, by its arguments.
var tried = map[string]struct {
	code int
	says []string
}{
	"--offline demo topology show": {exitOK, []string{
		"3 chassis, 3 nodes read, 6 bridges, 3 tunnels",
		"├─ pod shop/client   10.244.1.6 fd00:10:244:1::6  node1",
		"chassis node3",
	}},
	"--offline demo trace shop/client shop/web-2 --tcp 8080": {exitOK, []string{
		"DELIVERED (assuming: the physical network between node1 and node2; the inside of shop/client and shop/web-2)  shop/client → shop/web-2  tcp 8080",
		"tunnel geneve  172.30.0.11 → 172.30.0.12",
		"✓ delivered at shop_web-2",
		"tunnel geneve  172.30.0.12 → 172.30.0.11",
		"✓ delivered at shop_client",
	}},
	"--offline demo trace shop/client bank/vault-2 --tcp 8080 --why-not": {exitFound, []string{
		"DROPPED  shop/client → bank/vault-2  tcp 8080",
		`cause: dropped by ACL "NP:bank:Ingress" (default deny of the NetworkPolicies in namespace bank, to-lport 1000, drop)`,
		"tcp.dst is 8080, not 8443",
		"1. NetworkPolicy bank/allow-shop: add ingress from namespace shop, port 8080/tcp  (verified: with this it gets through)",
		"✗ dropped in ls_out_acl at bank_vault-2",
	}},
	"--offline demo trace shop/client 203.0.113.10": {exitFound, []string{
		"DROPPED  shop/client → 203.0.113.10  icmp",
		"the reply is dropped in ls_in_l2_unknown of switch join on node1",
		"cause: no port of the switch has the MAC address 0a:58:64:40:00:99",
		"✓ delivered at eth0",
		"stale mac binding in lr_in_arp_resolve of GR_node1 on node1: router port rtoj-GR_node1 sends to 100.64.0.1 at 0a:58:64:40:00:99",
		"next: ovnctl fix delete-mac-binding rtoj-GR_node1 100.64.0.1",
	}},
	"--offline demo trace shop/client svc:shop/web --tcp 80": {exitFound, []string{
		"2 of 3 backends reply; through 10.244.3.5:8080, the packet is dropped on node3",
		"cause: bridge br-ex on node3 has no uplink: it is cut off from the network outside",
		"note: the logical flows say otherwise, delivered",
	}},
	"--offline demo doctor": {exitFound, []string{
		"2 errors, 0 warnings",
		"ERROR  uplink eth0 is not in bridge br-ex  uplink-not-in-bridge",
		"fix     ovnctl fix attach-uplink br-ex eth0",
		"ERROR  router port rtoj-GR_node1 sends packets for 100.64.0.1 to 0a:58:64:40:00:99, but its MAC address is 0a:58:64:40:00:01 now  mac-binding-stale",
		"fix     ovnctl fix delete-mac-binding rtoj-GR_node1 100.64.0.1",
	}},
	"--offline demo reach shop/ bank/ --tcp 8080": {exitOK, []string{
		"4 senders → 3 receivers, 12 pairs: 12 dropped",
		"default deny of the NetworkPolicies in namespace bank  12 pairs",
	}},
	"--offline demo:healthy reach shop/ bank/ --tcp 8080": {exitOK, []string{
		"4 senders → 3 receivers, 12 pairs: 8 delivered, 4 dropped",
	}},
	"compare demo:healthy demo:broken": {exitFound, []string{
		"- node3  bridge port eth0 on bridge br-ex",
		"~ NetworkPolicy bank/allow-shop: tcp.dst 8080 → 8443",
		"~ neighbour 100.64.0.1 behind rtoj-GR_node1: mac 0a:58:64:40:00:01 → 0a:58:64:40:00:99",
	}},
	"--offline demo flows --node node2 --pod bank/vault-2 --drops": {exitOK, []string{
		`46 ls_out_acl      2000      drop  ACL "NP:bank:Ingress" (default deny of the NetworkPolicies in namespace bank, to-lport 1000, drop)`,
		"<port bank_vault-2>", "<switch node2>",
	}},
	"--offline demo decode": {exitOK, []string{
		`<ACL "NP:bank:Ingress" (default deny of the NetworkPolicies in namespace bank, to-lport 1000, drop)>`,
		"table=46<ls_out_acl>", "<port bank_vault-2>", "<switch node2>",
	}},
}

// TestDemo runs every command that `ovnctl demo` prints, in a place that has nothing: no program to run, no network, and
// no rights where the test can give them up.
func TestDemo(t *testing.T) {
	bare := newBare(t)
	list, _, _ := bare.run(t, "", "demo")
	for _, try := range tries {
		args := strings.Join(try.words(), " ")
		want, ok := tried[args]
		if !ok {
			t.Errorf("ovnctl %s: nobody says what it has to answer", args)
		}
		start := time.Now()
		out, errs, code := bare.run(t, try.stdin, try.words()...)
		t.Logf("%.2f s  ovnctl %s", time.Since(start).Seconds(), args)
		if code != want.code || errs != "" {
			t.Errorf("ovnctl %s: exit %d, want %d\n%s", args, code, want.code, errs)
		}
		for _, line := range want.says {
			if !strings.Contains(out, line) {
				t.Errorf("ovnctl %s: no %q in\n%s", args, line, out)
			}
		}
		if !strings.Contains(list, "\n"+try.line()+"\n") {
			t.Errorf("ovnctl demo does not print %q", try.line())
		}
	}
	if len(tried) != len(tries) {
		t.Errorf("%d commands are tried, of %d it is said what they answer", len(tries), len(tried))
	}
	out, errs, code := bare.run(t, "", "--offline", "demo:healthy", "doctor")
	if code != exitOK || !strings.Contains(out, "no faults in what was read") {
		t.Errorf("the healthy one: exit %d\n%s%s", code, out, errs)
	}
}

// A bareProgram is ovnctl with nothing around it.
type bareProgram struct {
	file, dir string
	sys       *syscall.SysProcAttr
}

// newBare puts ovnctl where any user can run it. Of root it takes the rights and the network.
func newBare(t *testing.T) *bareProgram {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ovnctl-demo-") // not t.TempDir, into which only its owner may look
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bareProgram{file: filepath.Join(dir, "ovnctl"), dir: dir}
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(self, b.file)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		const nobody = 65534
		b.sys = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return b
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (b *bareProgram) run(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, b.file, args...)
	cmd.Dir, cmd.SysProcAttr = b.dir, b.sys
	cmd.Env = []string{asOvnctl + "=1", "PATH=", "LANG=C.UTF-8"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("ovnctl %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A file named demo is read where it is named as one; its name alone is the capture in the program.
func TestDemoName(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("demo", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--offline", "demo", "topology", "show", "shop/client"}, exitOK, "pod shop/client"},
		{[]string{"--offline", "./demo", "topology", "show"}, exitUnknown, "ovnctl: ./demo: neither nb.db nor sb.db"},
		{[]string{"--offline", "demo:other", "topology", "show"}, exitUnknown, "cannot read demo:other"},
		{[]string{"__complete", "--offline", "demo:"}, exitOK, "demo:healthy\n"},
		{[]string{"__complete", "--offline", "demo", "trace", "shop/"}, exitOK, "shop/client\n"},
		{[]string{"demo", "-o", "dot"}, exitUsage, "expected one of text, json, yaml"},
		{[]string{"demo", "-o", "json"}, exitOK, `"command": "ovnctl --offline demo doctor"`},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), c.args, nil, &out, &errs); code != c.code || !strings.Contains(out.String()+errs.String(), c.says) {
			t.Errorf("%q: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.says, out.String(), errs.String())
		}
	}
}
