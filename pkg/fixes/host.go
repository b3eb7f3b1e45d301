package fixes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Summary shows sysctl(8), which accepts names with slashes.
func (s Sysctl) Summary() StepSummary {
	return StepSummary{
		What:     "set " + s.Name + " to " + s.After,
		Diff:     []string{"- " + s.Name + " = " + s.Before, "+ " + s.Name + " = " + s.After},
		Commands: []string{"sysctl -w " + s.Name + "=" + s.After},
		on:       []string{"sysctl " + s.Name},
	}
}

// path returns the kernel's file. Network settings are those of our own network namespace, however /proc is mounted.
func (s Sysctl) path() (string, error) {
	name := filepath.Clean("/" + s.Name)
	if !strings.HasPrefix(name, "/net/") && !strings.HasPrefix(name, "/kernel/") && !strings.HasPrefix(name, "/vm/") {
		return "", fmt.Errorf("ovnctl does not change the setting %s", s.Name)
	}
	return "/proc/sys" + name, nil
}

func (s Sysctl) look(context.Context, *Target) (stage, string, error) {
	path, err := s.path()
	if err != nil {
		return moved, "", err
	}
	have, err := os.ReadFile(path)
	switch {
	case err != nil:
		return moved, "", err
	case equalText(have, s.After):
		return done, "", nil
	case equalText(have, s.Before):
		return untouched, "", nil
	}
	return moved, fmt.Sprintf("%s is %s and was %s", s.Name, strings.TrimSpace(string(have)), s.Before), nil
}

func (s Sysctl) do(context.Context, *Target) error   { return s.set(s.After) }
func (s Sysctl) undo(context.Context, *Target) error { return s.set(s.Before) }

func (s Sysctl) set(value string) error {
	path, err := s.path()
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(value+"\n"), 0)
}

// Summary shows modprobe(8) with -a, without which a second name is a parameter.
func (s Module) Summary() StepSummary {
	out := StepSummary{
		What: "load " + strings.Join(s.Names, ", "), Commands: []string{"modprobe -a " + strings.Join(s.Names, " ")},
		OneWay: "a module stays loaded until the host boots", on: []string{"modules"},
	}
	for _, name := range s.Names {
		out.Diff = append(out.Diff, "+ module "+name)
	}
	return out
}

func (s Module) look(context.Context, *Target) (stage, string, error) {
	loaded, err := os.ReadFile("/proc/modules")
	if err != nil {
		return moved, "", err
	}
	for _, name := range s.Names {
		name = strings.ReplaceAll(name, "-", "_")
		if !strings.HasPrefix(string(loaded), name+" ") && !strings.Contains(string(loaded), "\n"+name+" ") {
			return untouched, "", nil
		}
	}
	return done, "", nil
}

func (s Module) do(ctx context.Context, t *Target) error {
	if _, err := t.run(ctx, nil, "modprobe", append([]string{"-a"}, s.Names...)...); err != nil {
		return err
	}
	if at, _, err := s.look(ctx, t); err != nil || at != done {
		return errors.Join(err, fmt.Errorf("modprobe succeeded, and %s is not loaded", strings.Join(s.Names, ", ")))
	}
	return nil
}

func (s Module) undo(context.Context, *Target) error { return errOneWay }

// Summary shows the command as ovs-appctl(8) sends it.
func (s Control) Summary() StepSummary {
	command := appctl(s.Daemon, s.Command, s.Args)
	out := StepSummary{What: s.What, Diff: []string{"+ " + command}, Commands: []string{command}, on: []string{"daemon " + s.Daemon}}
	if len(s.Undo) == 0 {
		out.OneWay = cmp.Or(s.Why, "no command undoes "+s.Command)
	}
	return out
}

func appctl(daemon, command string, args []string) string {
	tool, target := "ovs-appctl", daemon
	switch daemon {
	case "ovn-controller", "ovn-northd", "ovnnb_db", "ovnsb_db":
		tool = "ovn-appctl"
	}
	if strings.HasSuffix(daemon, "_db") {
		target = "/var/run/ovn/" + daemon + ".ctl"
	}
	return strings.Join(append([]string{tool, "-t", target, command}, args...), " ")
}

func (s Control) look(ctx context.Context, t *Target) (stage, string, error) {
	if len(s.State) == 0 {
		return unseen, "", nil
	}
	reply, err := t.control(ctx, s.Daemon, s.State[0], s.State[1:]...)
	if err != nil {
		return moved, "", err
	}
	shows := func(want string) bool {
		for line := range strings.Lines(reply) {
			line = strings.TrimSpace(line)
			if line == want || strings.HasSuffix(want, ",") && strings.HasPrefix(line, want) {
				return true
			}
		}
		return false
	}
	switch {
	case shows(s.Is):
		return done, "", nil
	case shows(s.Was):
		return untouched, "", nil
	}
	return moved, fmt.Sprintf("%s no longer shows %s", s.State[0], strings.TrimSuffix(s.Is, ",")), nil
}

func (s Control) do(ctx context.Context, t *Target) error {
	_, err := t.control(ctx, s.Daemon, s.Command, s.Args...)
	return err
}

func (s Control) undo(ctx context.Context, t *Target) error {
	_, err := t.control(ctx, s.Daemon, s.Undo[0], s.Undo[1:]...)
	return err
}

// control sends a command to a daemon of this host.
func (t *Target) control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	host, err := t.node()
	if err != nil {
		return "", err
	}
	return host.Control(ctx, daemon, command, args...)
}

// Summary shows ovn-nbctl(8)'s barrier.
func (s Await) Summary() StepSummary {
	return StepSummary{What: "wait until " + s.What, Commands: []string{"ovn-nbctl --wait=hv sync"}, lasts: true}
}

func (s Await) look(context.Context, *Target) (stage, string, error) { return unseen, "", nil }
func (s Await) undo(context.Context, *Target) error                  { return nil }

// patience is how long a chassis may take to catch up.
const patience = 60 * time.Second

// do increments NB_Global.nb_cfg, which ovn-northd propagates, and waits until the chassis reaches it: then it has
// processed everything written before.
func (s Await) do(ctx context.Context, t *Target) error {
	north, err := t.database("OVN_Northbound", s.Zone)
	if err != nil {
		return fmt.Errorf("waiting until %s needs the Northbound: %w", s.What, err)
	}
	south, err := t.reader("OVN_Southbound", s.Zone)
	if err != nil {
		return err
	}
	globals, err := ovsdb.Find[nb.Global](ctx, north)
	if err != nil {
		return err
	}
	if len(globals) != 1 {
		return errors.New("the Northbound has no NB_Global row")
	}
	count := ovsdb.Mutate("NB_Global", []ovsdb.Mutation{{Column: "nb_cfg", Mutator: "+=", Value: 1}}, row(globals[0].UUID)...)
	_, err = north.Transact(ctx, count)
	if errors.Is(err, ovsdb.ErrUnknownOutcome) { // counting twice is harmless
		_, err = north.Transact(ctx, count)
	}
	if err != nil {
		return err
	}
	if globals, err = ovsdb.Find[nb.Global](ctx, north); err != nil {
		return err
	}
	target := globals[0].NBCfg
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = wait(within, 50*time.Millisecond, func() (bool, error) {
		all, err := ovsdb.Find[sb.ChassisPrivate](within, south, ovsdb.Where("name", "==", s.Chassis))
		return len(all) > 0 && all[0].NBCfg >= target, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("chassis %s has not caught up within %s", s.Chassis, patience)
	}
	return err
}

// run runs a program.
func (t *Target) run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(slices.Clone(os.Environ()), env...)
	if !strings.Contains(":"+os.Getenv("PATH")+":", ":/usr/sbin:") {
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second // daemons keep the pipe open
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	text := strings.TrimSpace(string(out))
	if err != nil {
		if len(text) > 500 {
			text = "…" + text[len(text)-500:]
		}
		return text, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, text)
	}
	return text, nil
}
