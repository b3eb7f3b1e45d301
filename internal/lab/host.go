package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	ovsScripts = "/usr/share/openvswitch/scripts/"
	ovnScripts = "/usr/share/ovn/scripts/"
)

// hostDirs are created for every host, laid out as in a host's file system.
var hostDirs = []string{"run/openvswitch", "run/ovn", "etc/openvswitch", "etc/ovn", "var/log/openvswitch", "var/log/ovn", "var/lib/ovn"}

// hostEnv returns the environment that confines a host's daemons and tools to its own directories.
func (s *State) hostEnv(host string) []string {
	d := filepath.Join(s.Dir, host)
	return []string{
		"OVS_RUNDIR=" + d + "/run/openvswitch", "OVS_LOGDIR=" + d + "/var/log/openvswitch",
		"OVS_DBDIR=" + d + "/etc/openvswitch", "OVS_SYSCONFDIR=" + d + "/etc",
		"OVN_RUNDIR=" + d + "/run/ovn", "OVN_LOGDIR=" + d + "/var/log/ovn",
		"OVN_DBDIR=" + d + "/var/lib/ovn", "OVN_SYSCONFDIR=" + d + "/etc",
	}
}

func (s *State) makeHostDirs(host string) error {
	for _, d := range hostDirs {
		if err := os.MkdirAll(filepath.Join(s.Dir, host, d), 0o755); err != nil {
			return err
		}
	}
	// Pod namespaces are where ip(8) keeps them: programs with this directory as root find them there.
	if err := os.Symlink("/run/netns", filepath.Join(s.Dir, host, "run/netns")); err != nil {
		return err
	}
	return os.Symlink("../run", filepath.Join(s.Dir, host, "var/run"))
}

// writeScripts writes DIR/enter, which runs a command on a host, and DIR/env, which prints how to reach the databases.
func (s *State) writeScripts() error {
	hosts := []string{}
	for _, n := range s.Topology.Nodes {
		hosts = append(hosts, n.Name)
	}
	hosts = append(hosts, s.centralHosts()...)
	if len(s.Centrals()) > 0 && !s.Topology.Zones {
		env := fmt.Sprintf("#!/bin/sh\n# Prints how to reach the databases: eval \"$(%[1]s/env)\"\necho export OVN_NB_DB=%[2]s OVN_SB_DB=%[3]s\n", s.Dir, s.NB(), s.SB())
		if err := os.WriteFile(filepath.Join(s.Dir, "env"), []byte(env), 0o755); err != nil {
			return err
		}
	}
	enter := "#!/bin/sh\n# enter HOST COMMAND...: runs a command in the network namespace and environment of a host or pod of this lab.\n" +
		"set -e\nhost=$1\nshift\nin=\ncase $host in\n" + strings.Join(hosts, "|") + ")\n\tPATH=$PATH:/usr/sbin:/sbin\n"
	for _, e := range s.hostEnv("$host") {
		enter += "\texport " + e + "\n"
	}
	if s.Release.Root != "" {
		enter += "\tin=" + s.Dir + "/inroot\n"
		if err := os.WriteFile(filepath.Join(s.Dir, "inroot"), []byte(s.inroot()), 0o755); err != nil {
			return err
		}
	}
	enter += "\t;;\nesac\nexec ip netns exec " + s.Prefix + "-$host $in \"$@\"\n"
	return os.WriteFile(filepath.Join(s.Dir, "enter"), []byte(enter), 0o755)
}

// inroot returns a script that runs a command inside the release's root, with the lab's directory at the same path.
// ip-netns(8) runs it in a mount namespace of its own, so its mounts vanish when the command ends.
func (s *State) inroot() string {
	return fmt.Sprintf(`#!/bin/sh
set -e
root=%s
mount -t tmpfs tmpfs $root/tmp
mkdir -p $root%[2]s
mount --bind %[2]s $root%[2]s
mount --bind /proc $root/proc
mount --rbind /sys $root/sys
mount --rbind /dev $root/dev
cd /
exec chroot $root "$@"
`, s.Release.Root, s.Dir)
}

// Command returns a command that will run on a host or in a pod (also as NAMESPACE/POD) of the lab.
func (s *State) Command(ctx context.Context, host string, args ...string) *exec.Cmd {
	if p, ok := s.Topology.Pod(host); ok {
		host = p.host()
	}
	return exec.CommandContext(ctx, filepath.Join(s.Dir, "enter"), append([]string{host}, args...)...)
}

// Program is Command for a program of the machine itself, such as the one under test: it sees the machine's files even
// if the host's tools are of another release.
func (s *State) Program(ctx context.Context, host string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", s.Prefix + "-" + host}, args...)...)
	cmd.Env = append(os.Environ(), s.hostEnv(host)...)
	return cmd
}

// Run runs a command on a host or in a pod and returns its standard output; the error includes standard error.
func (s *State) Run(ctx context.Context, host string, args ...string) (string, error) {
	return s.runInput(ctx, host, nil, args...)
}

func (s *State) runInput(ctx context.Context, host string, in io.Reader, args ...string) (string, error) {
	cmd := s.Command(ctx, host, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	cmd.WaitDelay = 5 * time.Second // for children left behind with the output open
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		shown := args
		if len(shown) > 4 {
			shown = append(slices.Clone(shown[:4]), "…")
		}
		return out.String(), fmt.Errorf("%s: %s: %w: %s%s", host, strings.Join(shown, " "), err, tail(out.String()), tail(errs.String()))
	}
	return out.String(), nil
}

// tail returns the end of a command's output, for an error message.
func tail(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 2000 {
		s = "…" + s[len(s)-2000:]
	}
	return s
}

// shell runs sh lines in a host's network namespace, with the machine's own tools: a release's root may lack them.
func (s *State) shell(ctx context.Context, host string, lines ...string) error {
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", s.Prefix+"-"+host, "sh", "-e")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", host, err, tail(string(out)))
	}
	return nil
}

// transact joins ovs-vsctl or ovn-nbctl commands into one invocation, hence one transaction.
func transact(tool []string, commands [][]string) []string {
	args := slices.Clone(tool)
	for _, c := range commands {
		args = append(append(args, "--"), c...)
	}
	return args
}

// startVswitch starts and configures Open vSwitch on a node, then sets up the node's network on its bridges.
func (s *State) startVswitch(ctx context.Context, n Node) error {
	if err := s.restore(ctx, n.Name, filepath.Join(n.Name, "conf.db"), "etc/openvswitch/conf.db"); err != nil {
		return err
	}
	_, err := s.Run(ctx, n.Name, "env", "PATH="+s.Dir+"/bin:"+os.Getenv("PATH")+":/usr/sbin:/sbin", ovsScripts+"ovs-ctl", "--system-id="+n.SystemID,
		"--no-monitor", "--no-mlockall", "--no-record-hostname", "--ovsdb-server-priority=", "--ovs-vswitchd-priority=", "start")
	if err != nil {
		return err
	}
	commands := [][]string{
		words("set Open_vSwitch . other_config:n-handler-threads=1 other_config:n-revalidator-threads=1 external_ids:hostname=" + n.Name),
	}
	switch {
	case s.Topology.Saved != "":
		commands = append(commands, []string{"set", "Open_vSwitch", ".", key("external_ids", "ovn-remote", s.southbound(n.Name))})
	case s.Topology.OVN:
		commands = append(commands,
			[]string{"set", "Open_vSwitch", ".", key("external_ids", "ovn-remote", s.southbound(n.Name)),
				key("external_ids", "ovn-nb", s.northbound(n.Name)), key("external_ids", "ovn-encap-type", n.Encap),
				key("external_ids", "ovn-encap-ip", n.IPv4.Addr().String()), "external_ids:ovn-bridge-datapath-type=netdev",
				"external_ids:ovn-remote-probe-interval=100000", "external_ids:ovn-openflow-probe-interval=180"},
			words("add-br br-int"),
			words("set Bridge br-int datapath_type=netdev fail_mode=secure other_config:disable-in-band=true"))
	}
	commands = append(commands, n.Vswitch...)
	for _, p := range s.Topology.Pods {
		if p.Node == n.Name && s.Topology.Saved == "" {
			commands = append(commands, p.plug(s.Topology.Bridge)...)
		}
	}
	if _, err := s.Run(ctx, n.Name, transact(words("ovs-vsctl --timeout=120"), s.onDatapath(commands))...); err != nil {
		return err
	}
	// ovs-vsctl succeeds even if ovs-vswitchd could not apply the change.
	failed, err := s.Run(ctx, n.Name, words("ovs-vsctl --timeout=120 --bare --columns=name,error find Interface error!=[]")...)
	if err != nil || failed != "" {
		return errors.Join(err, fmt.Errorf("%s: interfaces that do not work: %s", n.Name, failed))
	}
	if err := s.checkPorts(ctx, n); err != nil {
		return err
	}
	for bridge, flows := range n.OpenFlow {
		_, err := s.runInput(ctx, n.Name, strings.NewReader(strings.Join(flows, "\n")+"\n"), "ovs-ofctl", "--timeout=120", "-O", "OpenFlow13", "add-flows", bridge, "-")
		if err != nil {
			return err
		}
	}
	return s.shell(ctx, n.Name, n.Network...)
}

// onDatapath returns the commands with the lab's type of datapath in place of the topology's.
func (s *State) onDatapath(commands [][]string) [][]string {
	out := make([][]string, len(commands))
	for i, c := range commands {
		out[i] = slices.Clone(c)
		for j, word := range c {
			if of, ok := strings.CutSuffix(word, "="+userspaceDatapath); ok && (of == "datapath_type" || of == "external_ids:ovn-bridge-datapath-type") {
				out[i][j] = of + "=" + s.Datapath
			}
		}
	}
	return out
}

// plug attaches the node's end of a pod's link to a bridge.
func (p Pod) plug(bridge string) [][]string {
	set := []string{"set", "Interface", p.Link}
	if p.OFPort != 0 {
		set = append(set, fmt.Sprintf("ofport_request=%d", p.OFPort))
	}
	for _, k := range sortedKeys(p.Interface) {
		set = append(set, key("external_ids", k, p.Interface[k]))
	}
	return [][]string{{"add-port", bridge, p.Link}, set}
}

// controller runs an ovn-ctl(8) command for a node's ovn-controller.
func (s *State) controller(ctx context.Context, n Node, command string) error {
	args := []string{ovnScripts + "ovn-ctl", "--no-monitor", "--ovn-controller-priority="}
	_, err := s.Run(ctx, n.Name, append(append(args, s.tlsFlags("ovn-controller", n.Name)...), command)...)
	return err
}
