//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// onTerminal runs a command on a terminal of so many columns and returns what appears there.
func onTerminal(t *testing.T, columns int, cmd *exec.Cmd) string {
	t.Helper()
	screen, err := readTerminal(columns, func(terminal *os.File) error {
		cmd.Stdout, cmd.Stderr = terminal, terminal
		return wait(t, cmd, time.Minute)
	})
	check(t, err)
	return string(screen)
}

// TestNarrowTerminal shows everything in 60 columns: what is wider is one word.
func TestNarrowTerminal(t *testing.T) {
	nb := hostileNorthbound(t)
	for _, source := range [][]string{{"--offline", saved}, {"--nb", nb}} {
		for _, args := range [][]string{
			{"topology", "show"}, {"topology", "show", "-o", "table"}, {"topology", "show", "--show-commands"},
			{"trace", "shop/client", "shop/web-1"}, {"trace", "shop/client", "shop/nothing"},
		} {
			for _, lang := range []string{"LANG=C.UTF-8", "LANG=C"} {
				all := slices.Concat(source, args)
				narrow(t, strings.Join(all, " ")+" "+lang, onTerminal(t, 60, hardCommand(t, []string{lang, "TERM=xterm"}, all...)), 60)
			}
		}
	}
}

// narrow fails for a line that is wider than columns and could have been broken. Commands are not: they are copied.
func narrow(t *testing.T, what, text string, columns int) {
	t.Helper()
	if len(text) == 0 {
		t.Errorf("%s: nothing on the terminal", what)
	}
	for line := range strings.Lines(plainText(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "next: ") || strings.HasPrefix(line, "hint: ") || strings.HasPrefix(line, "  ovs-appctl ") {
			continue
		}
		if displaywidth.String(line) <= columns {
			continue
		}
		words := strings.Fields(strings.TrimLeft(line, " │├└─|`+-"))
		longest := 0
		for _, w := range words {
			longest = max(longest, displaywidth.String(w))
		}
		if longest < columns/2 {
			t.Errorf("%s: %d columns: %q", what, displaywidth.String(line), line)
			return
		}
	}
}

// plainText takes the colours out.
func plainText(s string) string {
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		if !ok {
			return s
		}
		_, rest, _ := strings.Cut(after, "m")
		s = before + rest
	}
}

// TestColours decides by flag, NO_COLOR, CLICOLOR_FORCE and the terminal, in this order.
func TestColours(t *testing.T) {
	args := []string{"--offline", saved, "topology", "show"}
	for _, c := range []struct {
		env      []string
		flag     string
		terminal bool
		want     bool
	}{
		{[]string{"TERM=xterm"}, "auto", true, true},
		{[]string{"TERM=xterm"}, "auto", false, false},
		{[]string{"TERM=dumb"}, "auto", true, false},
		{nil, "auto", true, false}, // no TERM
		{[]string{"TERM=xterm", "NO_COLOR=1"}, "auto", true, false},
		{[]string{"TERM=xterm", "NO_COLOR=1", "CLICOLOR_FORCE=1"}, "auto", true, false},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, "always", true, true},
		{[]string{"CLICOLOR_FORCE=1"}, "auto", false, true},
		{[]string{"CLICOLOR_FORCE=0"}, "auto", false, false},
		{[]string{"CLICOLOR_FORCE=1"}, "never", false, false},
		{nil, "always", false, true},
		{[]string{"TERM=xterm"}, "never", true, false},
		{[]string{"TERM=xterm", "CLICOLOR=0"}, "auto", true, false},
	} {
		all := append([]string{"--color", c.flag}, args...)
		var text string
		if c.terminal {
			text = onTerminal(t, 80, hardCommand(t, c.env, all...))
		} else {
			text = string(hard(t, c.env, all...).stdout)
		}
		if got := strings.Contains(text, "\x1b["); got != c.want {
			t.Errorf("%v --color %s terminal=%v: colours %v, want %v", c.env, c.flag, c.terminal, got, c.want)
		}
		if !strings.Contains(text, "shop/web-1") {
			t.Errorf("%v --color %s: no answer: %s", c.env, c.flag, text)
		}
	}
	r := hard(t, []string{"CLICOLOR_FORCE=1"}, append([]string{"-o", "json"}, args...)...)
	unclean(t, r)
}

// TestLocales writes ASCII alone where the locale has no UTF-8.
func TestLocales(t *testing.T) {
	for _, env := range [][]string{{"LANG=C"}, {"LANG=POSIX"}, {"LANG="}, {"LANG=C.UTF-8", "LC_ALL=C"}} {
		for _, args := range [][]string{{"topology", "show"}, {"topology", "show", "-o", "table"}, {"topology", "show", "-o", "wide"}, {"trace", "shop/client", "shop/web-1"}, {"trace", "-v", "shop/client", "shop/web-1"}} {
			r := hard(t, env, append([]string{"--offline", saved}, args...)...)
			for i, c := range append(bytes.Clone(r.stdout), r.stderr...) {
				if c >= utf8.RuneSelf {
					t.Errorf("%v %v: not ASCII: %q", env, args, around(r.stdout, min(i, len(r.stdout))))
					break
				}
			}
		}
	}
	if r := hard(t, []string{"LANG=C", "LC_ALL=de_DE.utf8"}, "--offline", saved, "topology", "show"); !bytes.Contains(r.stdout, []byte("├")) {
		t.Errorf("LC_ALL does not win\n%s", r)
	}
}

// TestFullOutput writes to a device that is full, and to a reader that has gone.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	check(t, err)
	defer full.Close() //nolint:errcheck // a device
	for _, args := range [][]string{
		{"topology", "show"}, {"topology", "show", "-o", "json"}, {"topology", "show", "-o", "dot"}, {"topology", "show", "-o", "md"},
		{"trace", "shop/client", "shop/web-1"}, {"trace", "shop/client", "shop/web-1", "-o", "yaml"}, {"help"}, {"version"}, {"completion", "zsh"},
	} {
		cmd := hardCommand(t, nil, append([]string{"--offline", saved}, args...)...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errs
		check(t, wait(t, cmd, time.Minute))
		if code := cmd.ProcessState.ExitCode(); code != exitUnknown || strings.Count(errs.String(), "no space left on device") != 1 {
			t.Errorf("%v > /dev/full: exit %d: %s", args, code, errs.String())
		}
	}
	reader, writer, err := os.Pipe()
	check(t, err)
	cmd := hardCommand(t, nil, "--offline", saved, "topology", "show", "-o", "json")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = writer, &errs
	check(t, reader.Close())
	check(t, wait(t, cmd, time.Minute))
	check(t, writer.Close())
	if errs.Len() > 0 {
		t.Errorf("a reader that has gone is told about: %s", errs.String())
	}
}

// TestMemory shows a Northbound of 20,000 ports and looks at how large the process was at its largest.
func TestMemory(t *testing.T) {
	nb := ovsdbtest.Start(t, ovsdbtest.Northbound)
	const switches, ports = 100, 200
	for s := range switches {
		var ops, names []string
		for p := range ports {
			ops = append(ops, fmt.Sprintf(`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p%d","row":{"name":"ns%d_pod-%d","addresses":"0a:58:0a:%02x:%02x:01 10.%d.%d.5","external_ids":["map",[["namespace","ns%d"],["pod","true"]]]}}`, p, s, p, s, p, s, p, s))
			names = append(names, fmt.Sprintf(`["named-uuid","p%d"]`, p))
		}
		ops = append(ops, fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":"node%d","ports":["set",[%s]]}}`, s, strings.Join(names, ",")))
		nb.Transact(ops...)
	}
	for limit, bound := range map[string]int64{"": 384 << 10, "64M": 256 << 10} {
		args := []string{"--nb", nb.Remote(), "-o", "json", "topology", "show"}
		if limit != "" {
			args = append(args, "--memory", limit)
		}
		cmd := hardCommand(t, nil, args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		// A process begins with the peak of the one that starts it (getrusage(2), ru_maxrss over execve): make ours small.
		debug.FreeOSMemory()
		check(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
		check(t, wait(t, cmd, time.Minute))
		peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // KiB
		t.Logf("%d ports, --memory %q: %d MiB at most, %d MiB of JSON", switches*ports, limit, peak>>10, out.Len()>>20)
		var doc struct{ Ports []json.RawMessage }
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil || len(doc.Ports) != switches*ports || cmd.ProcessState.ExitCode() != exitOK {
			t.Errorf("exit %d, %d ports: %v %s", cmd.ProcessState.ExitCode(), len(doc.Ports), err, errs.Bytes())
		}
		if peak > bound {
			t.Errorf("--memory %q: %d MiB, want at most %d", limit, peak>>10, bound>>10)
		}
	}
}

// TestHardTraces traces over two nodes of a lab where things have hostile names, where the terminal is narrow, and where the
// recording does not fit: the answer comes all the same.
func TestHardTraces(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	const evil = "evil\x1b]0;x\x07\n\u202e\u009b31m"
	ctl := func(args ...string) {
		ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--db=" + l.NB(), "--timeout=10"}, args...)...)
	}
	self, err := os.Executable()
	check(t, err)
	common := []string{"--nb", l.NB(), "--node-exec", l.Dir + "/enter {hostname}", "trace", "shop/client"}
	run := func(cmd *exec.Cmd) hardRun {
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		start := time.Now()
		check(t, wait(t, cmd, time.Minute))
		return hardRun{result{cmd.Args, cmd.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()}, time.Since(start)}
	}
	ask := func(args ...string) hardRun {
		return run(l.Command(t.Context(), "node1", slices.Concat([]string{"env", asOvnctl + "=1", self}, common, args)...))
	}

	t.Run("record", func(t *testing.T) {
		want := ask("shop/web-2", "--tcp", "8080")
		want.want(t, exitOK)
		for _, options := range []string{"size=16k", "ro"} {
			dir := filepath.Join(t.TempDir(), "record")
			check(t, os.Mkdir(dir, 0o755))
			// In a mount namespace of its own, which goes with the command.
			mount := []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"`, "sh", options, dir, "env", asOvnctl + "=1", self}
			r := run(l.Command(t.Context(), "node1", slices.Concat(mount, common, []string{"shop/web-2", "--tcp", "8080", "--record", dir})...))
			r.want(t, exitUnknown, "ovnctl: --record "+dir+": ")
			if !bytes.Equal(r.stdout, want.stdout) {
				t.Errorf("want the answer\n%s\nas without --record\n%s", want.stdout, r)
			}
		}
	})

	for _, node := range []string{"node1", "node2"} { // here, and behind --node-exec
		t.Run("silent ovs-vswitchd on "+node, func(t *testing.T) {
			pid, err := strconv.Atoi(strings.TrimSpace(string(read(t, filepath.Join(l.Dir, node, "run/openvswitch/ovs-vswitchd.pid")))))
			check(t, err)
			check(t, syscall.Kill(pid, syscall.SIGSTOP))
			defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it is there
			for _, format := range []string{"tree", "json"} {
				r := ask("shop/web-2", "--tcp", "8080", "-t", "1", "-o", format, "--sb", l.SB())
				if r.code != exitUnknown || r.took > 10*time.Second || !bytes.Contains(r.stdout, []byte("ovs-vswitchd")) || !bytes.Contains(r.stdout, []byte(node)) {
					t.Errorf("want the verdict unknown by the ovs-vswitchd of %s within 10 s\n%s", node, r)
				}
			}
			cmd := l.Command(t.Context(), "node1", slices.Concat([]string{"env", asOvnctl + "=1", self}, common, []string{"shop/web-2", "-t", "30", "-o", "json", "--sb", l.SB()})...)
			var struck time.Time
			time.AfterFunc(2*time.Second, func() { struck = time.Now(); _ = cmd.Process.Signal(os.Interrupt) })
			r := run(cmd)
			r.want(t, exitUnknown, "interrupted")
			if took := time.Since(struck); took > 2*time.Second || !json.Valid(r.stdout) {
				t.Errorf("ended %s after the interrupt\n%s", took, r)
			}
		})
	}

	for _, lang := range []string{"LANG=C.UTF-8", "LANG=C"} {
		for _, args := range [][]string{{"shop/web-2", "--tcp", "8080"}, {"bank/vault-1"}, {"svc:shop/web", "--tcp", "80", "-v"}, {"203.0.113.10", "--show-commands"}} {
			env := []string{"env", asOvnctl + "=1", lang, "TERM=xterm", self}
			narrow(t, strings.Join(args, " ")+" "+lang, onTerminal(t, 60, l.Command(t.Context(), "node1", slices.Concat(env, common, args)...)), 60)
		}
	}

	ctl("set", "Logical_Switch", "node1", "name="+quoted(evil))
	ctl("--wait=hv", "set", "Logical_Switch", "node2", "name="+quoted("sw2"+evil))
	for _, args := range [][]string{{"shop/web-2", "--tcp", "8080"}, {"bank/vault-1", "--tcp", "8080", "-v"}, {"bank/vault-1", "--tcp", "8080", "--show-commands"}} {
		for _, format := range []string{"tree", "json", "yaml", "md"} {
			r := ask(append([]string{"-o", format}, args...)...)
			unclean(t, r)
			if r.code > exitFound {
				t.Errorf("no verdict\n%s", r)
			}
			if format == "json" && !json.Valid(r.stdout) {
				t.Errorf("not JSON\n%s", r)
			}
		}
	}
}

// quoted is a string as ovn-nbctl(8) takes it.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
