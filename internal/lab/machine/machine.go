// Package machine boots whole Debian machines under QEMU: the kernel datapath, systemd as PID 1, the services of the
// packages, and real reboots, which namespaces cannot show.
//
// A machine needs no KVM: QEMU translates its instructions, ten to twenty times slower than this machine runs them. It boots
// Debian's stock cloud kernel without an initrd from an ext4 image of a debootstrapped root, which is kept in the user's
// cache directory. What it writes to its disk survives its reboots and ends with it.
//
//	eth0   an uplink: 10.0.2.15/24 if it takes that address, router 10.0.2.2. No service configures it at first.
//	mgmt   the way in for [Machine.Run]; no network service touches it.
//
// A folder of the caller, Options.Payload, is /payload inside: programs, tests, their data.
package machine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Options configure a machine.
type Options struct {
	Release string // Debian suite, one of [Releases], or [Containers]; empty: bookworm
	Dir     string // where its console, sockets and scripts are; must exist
	Payload string // folder whose copy is /payload inside; empty: none
	Memory  int    // MiB; 0: 3072
	Detach  bool   // the machine survives this process, until [Stop]
}

// A Machine runs.
type Machine struct {
	Dir      string
	Operator int // TCP port on 127.0.0.1 that leads to port 22 of 10.0.2.15, over eth0

	port int // the same for mgmt
	key  string
	qemu *exec.Cmd
	gone chan struct{} // closed when QEMU has ended
}

// bootTime is how long a machine may take to boot on a busy host.
const bootTime = 15 * time.Minute

// Boot starts a machine and returns when commands can run on it.
func Boot(ctx context.Context, o Options) (*Machine, error) {
	if err := check(); err != nil {
		return nil, err
	}
	i, err := build(ctx, o.Release)
	if err != nil {
		return nil, err
	}
	m := &Machine{Dir: o.Dir, key: i.key, gone: make(chan struct{})}
	if m.port, err = freePort(); err != nil {
		return nil, err
	}
	if m.Operator, err = freePort(); err != nil {
		return nil, err
	}
	// Without the processor's fast string operations (erms, fsrm, rep_good) the kernel clears pages by plain stores, which QEMU
	// translates better: with them, boots stood still in clear_page_erms for minutes.
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", "max,la57=off,svm=off,erms=off,fsrm=off", "-smp", "2", "-m", strconv.Itoa(cmp.Or(o.Memory, 3072)),
		"-display", "none", "-nodefaults", "-no-user-config", "-kernel", i.kernel,
		"-append", "console=ttyS0 root=/dev/nvme0n1 rw net.ifnames=0 module_blacklist=powernow_k8,ata_piix mitigations=off clearcpuid=rep_good init_on_alloc=0 transparent_hugepage=never random.trust_cpu=on panic=-1",
		"-serial", "file:" + m.path("console"), "-monitor", "unix:" + m.path("monitor") + ",server=on,wait=off",
		"-drive", "file=" + i.disk + ",format=raw,if=none,id=root,cache=unsafe,snapshot=on", "-device", "nvme,drive=root,serial=root",
		"-netdev", fmt.Sprintf("user,id=eth0,ipv6=off,net=10.0.2.0/24,hostfwd=tcp:127.0.0.1:%d-10.0.2.15:22", m.Operator), "-device", "virtio-net-pci,netdev=eth0,mac=52:54:00:00:00:01",
		"-netdev", fmt.Sprintf("user,id=mgmt,ipv6=off,net=10.0.3.0/24,restrict=on,hostfwd=tcp:127.0.0.1:%d-10.0.3.15:2222", m.port), "-device", "virtio-net-pci,netdev=mgmt,mac=52:54:00:00:00:02",
		"-device", "virtio-rng-pci",
	}
	if o.Payload != "" {
		if err := makeDisk(ctx, o.Payload, m.path("payload"), "3G"); err != nil {
			return nil, err
		}
		args = append(args, "-drive", "file="+m.path("payload")+",format=raw,if=none,id=payload,cache=unsafe", "-device", "virtio-blk-pci,drive=payload")
	}
	if err := m.start(args, o.Detach); err != nil {
		return nil, err
	}
	if err := m.writeEnter(); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	if err := m.wait(ctx, ""); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

func (m *Machine) path(name string) string { return filepath.Join(m.Dir, name) }

// start runs QEMU. Its threads end with ours unless it is to be left behind.
func (m *Machine) start(args []string, detach bool) error {
	log, err := os.Create(m.path("qemu.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	m.qemu = exec.Command("qemu-system-x86_64", args...)
	m.qemu.Stdout, m.qemu.Stderr = log, log
	m.qemu.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	started := make(chan error)
	go func() { // Pdeathsig is sent when the thread ends that started the process: this goroutine keeps it
		if !detach {
			m.qemu.SysProcAttr.Pdeathsig = syscall.SIGKILL
			runtime.LockOSThread()
		}
		err := m.qemu.Start()
		started <- err
		if err == nil {
			_ = m.qemu.Wait()
			close(m.gone)
		}
	}()
	return <-started
}

// wait returns when the machine runs commands, in a boot other than the given one.
func (m *Machine) wait(ctx context.Context, boot string) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	for {
		id, err := m.boot(ctx)
		if err == nil && id != boot {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the machine does not come up: %w; its console: %s", cmp.Or(err, ctx.Err()), m.console())
		case <-m.gone:
			log, _ := os.ReadFile(m.path("qemu.log"))
			return fmt.Errorf("QEMU has ended: %s; its console: %s", bytes.TrimSpace(log), m.console())
		case <-time.After(2 * time.Second):
		}
	}
}

// boot returns what distinguishes this boot of the machine from others.
func (m *Machine) boot(ctx context.Context) (string, error) {
	return m.Output(ctx, "cat /proc/sys/kernel/random/boot_id")
}

// Reboot has the machine reboot as its operator would, and returns when it is up again.
func (m *Machine) Reboot(ctx context.Context) error {
	boot, err := m.boot(ctx)
	if err != nil {
		return err
	}
	_, _ = m.Output(ctx, "systemctl reboot") // the connection may end before the command does
	return m.wait(ctx, boot)
}

// console is the end of what the machine printed on its console.
func (m *Machine) console() string {
	b, err := os.ReadFile(m.path("console"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-3000):])
}

// sshOptions are those of every connection. The host key is not known: the machine is made on this host, and reached over loopback.
func (m *Machine) sshOptions(port int) []string {
	return []string{"-q", "-F", "none", "-i", m.key, "-p", strconv.Itoa(port), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=30", "-o", "ServerAliveCountMax=10"}
}

// Command returns a command that will run a line of sh(1) on the machine.
func (m *Machine) Command(ctx context.Context, line string) *exec.Cmd {
	args := append(m.sshOptions(m.port), "-o", "ControlMaster=auto", "-o", "ControlPath="+m.path("ssh"), "-o", "ControlPersist=20")
	return exec.CommandContext(ctx, "ssh", append(args, "root@127.0.0.1", line)...)
}

// SessionCommand is Command in a session of its own, on a terminal.
func (m *Machine) SessionCommand(ctx context.Context, line string) *exec.Cmd {
	return m.session(ctx, m.port, line)
}

// OperatorCommand is SessionCommand for somebody who has logged in over eth0, at 10.0.2.15: what happens to that address, happens
// to the session.
func (m *Machine) OperatorCommand(ctx context.Context, line string) *exec.Cmd {
	return m.session(ctx, m.Operator, line)
}

func (m *Machine) session(ctx context.Context, port int, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "ssh", append(m.sshOptions(port), "-tt", "root@127.0.0.1", line)...)
}

// Output runs a line of sh(1) and returns its standard output; the error has what it wrote beside.
func (m *Machine) Output(ctx context.Context, line string) (string, error) {
	var out, errs bytes.Buffer
	cmd := m.Command(ctx, line)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), fmt.Errorf("%s: %w: %s%s", firstLine(line), err, tail(out.String()), tail(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// Write writes a file on the machine.
func (m *Machine) Write(ctx context.Context, path string, mode os.FileMode, content io.Reader) error {
	cmd := m.Command(ctx, fmt.Sprintf("umask 077; mkdir -p %[2]s && cat >%[1]s && chmod %[3]o %[1]s", path, filepath.Dir(path), mode))
	cmd.Stdin = content
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("write %s: %w: %s", path, err, out)
	}
	return nil
}

// writeEnter writes DIR/enter, which runs a command on the machine.
func (m *Machine) writeEnter() error {
	cmd := m.Command(context.Background(), "")
	script := "#!/bin/sh\n# enter COMMAND...: runs a command on this machine; none: a shell.\nexec"
	for _, arg := range cmd.Args[:len(cmd.Args)-1] {
		script += " " + arg
	}
	return os.WriteFile(m.path("enter"), []byte(script+` "$@"`+"\n"), 0o700)
}

// Stop ends the machine at once, as if its power were cut.
func (m *Machine) Stop() error {
	err := Stop(m.Dir)
	if err != nil {
		_ = m.qemu.Process.Kill()
	}
	<-m.gone
	return err
}

// Stop ends the machine whose directory this is, whichever process booted it, and removes its files there.
func Stop(dir string) error {
	c, err := net.DialTimeout("unix", filepath.Join(dir, "monitor"), 5*time.Second)
	if err != nil {
		return fmt.Errorf("machine in %s: %w", dir, err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "quit\n"); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, c) // QEMU closes it when it ends
	for _, name := range []string{"payload", "console", "monitor", "qemu.log", "enter"} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	return err
}

// Runs reports whether dir is the directory of a machine.
func Runs(dir string) bool {
	fi, err := os.Stat(filepath.Join(dir, "monitor"))
	return err == nil && fi.Mode()&os.ModeSocket != 0
}

// freePort returns a TCP port of loopback that nothing listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-2000):]
}
