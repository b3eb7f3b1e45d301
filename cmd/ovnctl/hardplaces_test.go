//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// saved is a deployment as ovnctl --offline reads it.
const saved = "testdata/topology"

// A hardRun is a run of ovnctl on a host without Open vSwitch.
type hardRun struct {
	result
	took time.Duration
}

// hardCommand is the test binary as ovnctl on a host without Open vSwitch, with nothing but env in its environment.
func hardCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	nowhere := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append([]string{asOvnctl + "=1", "PATH=" + os.Getenv("PATH"), "OVS_RUNDIR=" + nowhere, "OVN_RUNDIR=" + nowhere, "LANG=C.UTF-8"}, env...)
	return cmd
}

// hard runs ovnctl in a minute at most.
func hard(t *testing.T, env []string, args ...string) hardRun {
	t.Helper()
	cmd := hardCommand(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	if err := wait(t, cmd, time.Minute); err != nil {
		t.Fatalf("ovnctl %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return hardRun{result{args, cmd.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()}, time.Since(start)}
}

// wait runs cmd to its end; the error is for when it does not end by itself.
func wait(t *testing.T, cmd *exec.Cmd, limit time.Duration) error {
	t.Helper()
	if err := cmd.Start(); err != nil {
		return err
	}
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		return fmt.Errorf("still running after %s", limit)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

func (r hardRun) String() string {
	return fmt.Sprintf("ovnctl %s: exit %d after %s\nstdout: %.2000s\nstderr: %s", strings.Join(r.args, " "), r.code, r.took.Round(time.Millisecond), r.stdout, r.stderr)
}

// want checks the exit code and pieces of standard error.
func (r hardRun) want(t *testing.T, code int, pieces ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("want exit %d\n%s", code, r)
	}
	for _, piece := range pieces {
		if !strings.Contains(string(r.stderr), piece) {
			t.Errorf("want %q on standard error\n%s", piece, r)
		}
	}
}

// An errorDoc is what programs read of a failure.
type errorDoc struct {
	APIVersion string   `json:"apiVersion" yaml:"apiVersion"`
	Kind       string   `json:"kind" yaml:"kind"`
	Error      string   `json:"error" yaml:"error"`
	Hints      []string `json:"hints" yaml:"hints"`
	ExitCode   int      `json:"exitCode" yaml:"exitCode"`
}

// inEveryFormat runs the same in text, JSON and YAML: the exit code is the same, and programs get one document that says what
// standard error says.
func inEveryFormat(t *testing.T, code int, args []string, pieces ...string) {
	t.Helper()
	for _, format := range []string{"", "tree", "md", "json", "yaml"} {
		all := args
		if format != "" {
			all = append([]string{"-o", format}, args...)
		}
		r := hard(t, nil, all...)
		r.want(t, code, pieces...)
		var doc errorDoc
		var err error
		switch format {
		case "json":
			err = json.Unmarshal(r.stdout, &doc)
		case "yaml":
			err = yaml.Unmarshal(r.stdout, &doc)
		default:
			if len(r.stdout) > 0 {
				t.Errorf("an error on standard output\n%s", r)
			}
			continue
		}
		if err != nil || doc.Kind != "Error" || doc.APIVersion != "ovnctl/v1" || doc.ExitCode != code {
			t.Errorf("want one document of kind Error with exit code %d: %v\n%s", code, err, r)
		}
		said := doc.Error + "\nhint: " + strings.Join(doc.Hints, "\nhint: ")
		for _, piece := range pieces {
			if !strings.Contains(said, piece) {
				t.Errorf("want %q in the document\n%s", piece, r)
			}
		}
	}
}

// TestMistakes has everything that is the user's own fault: exit 2, what was wrong, and what would be right.
func TestMistakes(t *testing.T) {
	show := func(args ...string) []string {
		return append([]string{"--offline", saved, "topology", "show"}, args...)
	}
	trace := func(args ...string) []string {
		return append([]string{"--offline", saved, "trace"}, args...)
	}
	twins := twoPodsOfOneName(t)
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"name", show("shop/wbe-1"), []string{`not found: shop/wbe-1`, "hint: nearest: ", "shop/web-1"}},
		{"from", trace("shop/cleint", "shop/web-1"), []string{"not found: shop/cleint", "hint: nearest: shop/client"}},
		{"like nothing", show("nobody"), []string{"not found: nobody", "hint: ovnctl --offline ", " get ports lists the names of ports"}},
		{"to", trace("shop/client", "shop/wbe-1"), []string{"not found: shop/wbe-1", "shop/web-1"}},
		{"address", show("10.9.9.9"), []string{"10.9.9.9: no port, service, chassis or NAT has this address"}},
		{"ambiguous", []string{"--nb", twins, "topology", "show", "web"}, []string{"web: ", "blue/web", "green/web"}},
		{"ambiguous from", []string{"--nb", twins, "trace", "web", "green/web"}, []string{"web: ", "blue/web", "green/web"}},
		{"command", []string{"trcae", "a", "b"}, []string{`unknown command "trcae"`, "hint: did you mean ovnctl trace?"}},
		{"command or name", []string{"--offline", "demo", "topology", "shwo"}, []string{"not found: shwo", "hint: did you mean ovnctl topology show?"}},
		{"unlike any command", []string{"frobnicate"}, []string{`unknown command "frobnicate"`, "hint: ovnctl --help lists the commands"}},
		{"another tool's flag", []string{"topology", "show", "--db", "tcp:127.0.0.1:1"}, []string{"unknown flag: --db", "--nb REMOTE"}},
		{"kubectl's namespace", []string{"watch", "-n", "shop", "client"}, []string{"'n'", "shop/client"}},
		{"no such namespace", []string{"--offline", "demo", "topology", "-n", "shpo"}, []string{"not found: ns:shpo", "hint: nearest: shop"}},
		{"all namespaces", []string{"reach", "-A"}, []string{"'A'", "all namespaces are read"}},
		{"a port twice", []string{"trace", "a", "b", "--tcp", "80", "--tcp", "81"}, []string{"given before, as 80"}},
		{"a namespace sends", []string{"trace", "--offline", "demo", "shop/", "shop/web-1"}, []string{"a namespace is several pods", "ovnctl reach ns:shop"}},
		{"flag", show("--bogus"), []string{"unknown flag: --bogus", "hint: ovnctl topology show --help lists the flags"}},
		{"flag without value", append(show(), "--nb"), []string{"flag needs an argument: --nb", "--help"}},
		{"one endpoint", trace("shop/client"), []string{"accepts 2 arg(s), received 1", "hint: ovnctl trace FROM TO"}},
		{"three endpoints", trace("a", "b", "c"), []string{"accepts 2 arg(s), received 3"}},
		{"port too large", trace("shop/client", "shop/web-1", "--tcp", "65536"), []string{"65536", "1 to 65535"}},
		{"port zero", trace("shop/client", "shop/web-1", "--udp", "0"), []string{"--udp", "1 to 65535"}},
		{"port negative", trace("shop/client", "shop/web-1", "--tcp", "-1"), []string{"-1", "1 to 65535"}},
		{"port in letters", trace("shop/client", "shop/web-1", "--tcp", "http"), []string{`"http"`, "1 to 65535"}},
		{"no number", trace("shop/client", "shop/web-1", "--count", "two"), []string{`--count "two": expected a whole number`, "hint: ovnctl trace --help"}},
		{"a large number", trace("shop/client", "shop/web-1", "--count", "99999999999999999999"), []string{`--count "99999999999999999999": it is out of range`}},
		{"no switch", trace("shop/client", "shop/web-1", "--icmp=4"), []string{`--icmp "4": expected true or false`}},
		{"source port", trace("shop/client", "shop/web-1", "--source-port", "70000"), []string{"70000", "1 to 65535"}},
		{"two protocols", trace("shop/client", "shop/web-1", "--tcp", "1", "--udp", "2"), []string{"--tcp and --udp exclude each other"}},
		{"two families", trace("shop/client", "shop/web-1", "-4", "-6"), []string{"--ipv4 and --ipv6 exclude each other"}},
		{"two halves", show("--logical", "--physical"), []string{"--logical and --physical exclude each other"}},
		{"saved and live", show("--sb", "tcp:127.0.0.1:6642"), []string{"--offline", "--sb", "give one of the two"}},
		{"remote", []string{"--nb", "127.0.0.1:6641", "topology", "show"}, []string{"--nb", "127.0.0.1:6641", "tcp:HOST:PORT"}},
		{"remote of a server", []string{"--sb", "ptcp:6642", "topology", "show"}, []string{"--sb", "ptcp:6642", "tcp:"}},
		{"colour", show("--color", "blue"), []string{`--color "blue"`, "auto, always or never"}},
		{"timeout", show("-t", "0"), []string{"--timeout", "as 5 or 0.5"}},
		{"timeout in words", show("-t", "soon"), []string{"--timeout", "as 5 or 0.5"}},
		{"memory", show("--memory", "1Q"), []string{"--memory", "as 256M"}},
		{"memory negative", show("--memory", "-1"), []string{"--memory", "as 256M"}},
		{"memory beyond all", show("--memory", "99999999999G"), []string{"--memory", "as 256M"}},
	} {
		t.Run(c.name, func(t *testing.T) { inEveryFormat(t, exitUsage, c.args, c.want...) })
	}
	hard(t, nil, "--offline", "demo", "doctor", "-n", "shpo").want(t, exitUsage, "not found: ns:shpo", "hint: nearest: shop")
	for _, args := range [][]string{show("-o", "xml"), trace("shop/client", "shop/web-1", "-o", "dot")} {
		hard(t, nil, args...).want(t, exitUsage, "expected one of ", "json")
	}
}

// twoPodsOfOneName is the remote of a Northbound with pods blue/web and green/web.
func twoPodsOfOneName(t *testing.T) string {
	nb := ovsdbtest.Start(t, ovsdbtest.Northbound)
	args := []string{"--db=" + nb.Remote(), "--timeout=10", "ls-add", "sw0"}
	for i, ns := range []string{"blue", "green"} {
		args = append(args, "--", "lsp-add", "sw0", ns+"_web", "--", "lsp-set-addresses", ns+"_web", fmt.Sprintf("0a:00:00:00:00:0%d 10.0.0.%d", i+1, i+1), "--", "set", "Logical_Switch_Port", ns+"_web", "external_ids:namespace="+ns, "external_ids:pod=true")
	}
	ovsdbtest.Run(t, "ovn-nbctl", args...)
	return nb.Remote()
}

// TestHelp has what is asked first.
func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "topology"},
		{[]string{"--help"}, "Exit status:"},
		{[]string{"help"}, "Exit status:"},
		{[]string{"help", "trace"}, "ovnctl trace FROM TO | --microflow EXPRESSION [DATAPATH] | --flow FLOW [flags]"},
		{[]string{"trace", "-h"}, "ovnctl trace FROM TO | --microflow EXPRESSION [DATAPATH] | --flow FLOW [flags]"},
		{[]string{"help", "topology", "show"}, "ovnctl topology show [NAME...] [flags]"},
		{[]string{"version"}, "ovnctl version "},
		{[]string{"--version"}, "ovnctl version "},
		{[]string{"completion", "bash"}, "__start_ovnctl"},
		{[]string{"--help"}, "(default 2G)"},
	} {
		r := hard(t, nil, c.args...)
		r.want(t, exitOK)
		if !strings.Contains(string(r.stdout), c.want) || len(r.stderr) > 0 {
			t.Errorf("want %q on standard output\n%s", c.want, r)
		}
	}
}

// TestPlugin calls the program as kubectl does.
func TestPlugin(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "kubectl-ovnctl")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, plugin); err != nil {
		t.Fatal(err)
	}
	cmd := hardCommand(t, nil, "help", "trace")
	cmd.Path, cmd.Args[0] = plugin, plugin
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("\n  kubectl ovnctl trace FROM TO | --microflow EXPRESSION [DATAPATH] | --flow FLOW [flags]\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCompletion completes from saved data, and does not keep the shell waiting for a server that is silent.
func TestCompletion(t *testing.T) {
	r := hard(t, nil, "__complete", "--offline", saved, "trace", "shop/c")
	if r.want(t, exitOK); !strings.HasPrefix(string(r.stdout), "shop/client\n") {
		t.Errorf("want shop/client\n%s", r)
	}
	silent := silentServer(t)
	for _, remote := range []string{silent, "unix:/nonexistent/sock"} {
		r = hard(t, nil, "__complete", "--nb", remote, "--sb", remote, "trace", "")
		if r.want(t, exitOK); r.took > 5*time.Second || string(r.stdout) != ":4\n" {
			t.Errorf("want no names, soon\n%s", r)
		}
	}
}

// TestInterrupt interrupts a command that waits.
func TestInterrupt(t *testing.T) {
	silent := silentServer(t)
	for _, args := range [][]string{
		{"topology", "show"}, {"topology", "show", "-o", "json"},
		{"trace", "a/b", "c/d"}, {"trace", "a/b", "c/d", "-o", "json"},
	} {
		cmd := hardCommand(t, nil, append([]string{"--nb", silent, "--sb", silent, "-t", "30"}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		var struck time.Time
		timer := time.AfterFunc(1500*time.Millisecond, func() {
			struck = time.Now()
			_ = cmd.Process.Signal(os.Interrupt)
		})
		err := wait(t, cmd, 20*time.Second)
		took := time.Since(struck)
		timer.Stop()
		r := hardRun{result{args, cmd.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()}, took}
		if err != nil || took > 2*time.Second {
			t.Errorf("%v: ended %s after the interrupt\n%s", err, took, r)
		}
		r.want(t, exitUnknown, "ovnctl: interrupted")
		var doc errorDoc
		if len(args) > 2 && args[len(args)-1] == "json" {
			if err := json.Unmarshal(r.stdout, &doc); err != nil || doc.Kind != "Error" {
				t.Errorf("want a document of kind Error: %v\n%s", err, r)
			}
		} else if out.Len() > 0 {
			t.Errorf("an answer to an interrupted question\n%s", r)
		}
	}
}

// silentServer is a server that has been stopped: it accepts and never answers.
func silentServer(t *testing.T) string {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	s.Signal(syscall.SIGSTOP)
	return s.Remote()
}
