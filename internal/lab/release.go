package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// System is the release installed on the machine itself.
const System = "system"

// A Release is an installation of Open vSwitch and OVN that a lab can run.
type Release struct {
	Name string // "system", or a Debian suite
	Root string // its root file system; empty for the machine's own
	OVS  string // version of package openvswitch-switch
	OVN  string // version of package ovn-host; empty if this release has none
}

// String is one line for people.
func (r Release) String() string {
	ovn := r.OVN
	if ovn == "" {
		ovn = "none"
	}
	return fmt.Sprintf("%-10s OVS %-24s OVN %s", r.Name, r.OVS, ovn)
}

// suites are the Debian suites that can be installed beside the machine's own packages, and whether they have OVN.
var suites = map[string]bool{"bullseye": false, "bookworm": true, "trixie": true, "sid": true}

// Neutron is Debian 12 with neutron-server and MariaDB: package neutron has it write a Northbound. Labs do not run on it
// otherwise, so that [Releases] does not name it.
const Neutron = "neutron"

// An addition is a suite with packages that a lab itself does not need.
type addition struct {
	suite    string
	packages []string
}

var additions = map[string]addition{
	Neutron:              {"bookworm", []string{"neutron-server", "mariadb-server", "python3-pymysql"}},
	"machine-bookworm":   {"bookworm", bootable},
	"machine-trixie":     {"trixie", bootable},
	"machine-containers": {"bookworm", append([]string{"docker.io", "podman", "crun", "lxc", "iptables"}, bootable...)},
}

// bootable is what a root needs to boot by itself, on which package machine runs labs and the real network services.
var bootable = []string{
	"linux-image-cloud-amd64", "systemd", "systemd-sysv", "udev", "dbus", "kmod", "procps", "openssh-server",
	"ifupdown", "netplan.io", "network-manager", "iproute2", "iputils-ping", "ethtool", "nftables", "openssl", "debootstrap", "xz-utils", "tcpdump", "python3",
	"ovn-ic", "ovn-ic-db",
}

// suite returns the suite of a release, and the packages that it has besides.
func suite(name string) addition {
	if a, ok := additions[name]; ok {
		return a
	}
	return addition{suite: name}
}

// Releases returns the names that [Options] and [Install] know.
func Releases() []string { return append([]string{System}, sortedKeys(suites)...) }

// rootMark is written into a root when it is complete.
const rootMark = ".ovnctl-lab-root"

// Install prepares a release and returns it. A Debian suite is installed by debootstrap into a root of its own in the
// user's cache directory ($XDG_CACHE_HOME or ~/.cache, ovnctl/roots), from the machine's own mirror; that takes about
// 40 s and 370 MB once. Concurrent installers wait for each other.
func Install(ctx context.Context, name string) (Release, error) {
	if name == "" || name == System {
		return Release{Name: System}.versions(ctx)
	}
	if _, ok := suites[suite(name).suite]; !ok {
		return Release{}, fmt.Errorf("release %s: not known; there are %s", name, strings.Join(Releases(), ", "))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Release{}, err
	}
	roots := filepath.Join(cache, "ovnctl", "roots")
	if err := os.MkdirAll(roots, 0o755); err != nil {
		return Release{}, err
	}
	unlock, err := Lock(filepath.Join(roots, "."+name+".lock"))
	if err != nil {
		return Release{}, err
	}
	defer unlock()
	r := Release{Name: name, Root: filepath.Join(roots, name)}
	if err := r.complete(); err != nil {
		if err := r.install(ctx, roots); err != nil {
			return Release{}, fmt.Errorf("release %s: %w", name, err)
		}
	}
	return r.versions(ctx)
}

// Installed returns the release if it is ready, without installing anything.
func Installed(ctx context.Context, name string) (Release, error) {
	r := Release{Name: name}
	if name != System {
		cache, err := os.UserCacheDir()
		if err != nil {
			return Release{}, err
		}
		r.Root = filepath.Join(cache, "ovnctl", "roots", name)
		if err := r.complete(); err != nil {
			return Release{}, err
		}
	}
	return r.versions(ctx)
}

// Lock waits for an exclusive lock on a file, which it makes; others that call it wait until unlock is called.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}

// complete returns an error unless the root can be trusted: it is finished, and writable by root only.
func (r Release) complete() error {
	for _, path := range []string{r.Root, filepath.Join(r.Root, rootMark)} {
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if fi.Sys().(*syscall.Stat_t).Uid != 0 || fi.Mode().Perm()&0o022 != 0 || fi.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s: not root's alone", path)
		}
	}
	return nil
}

// install builds the root beside its final path and moves it there when finished.
func (r Release) install(ctx context.Context, roots string) error {
	mirror, keyring, err := debianMirror("/etc/apt")
	if err != nil {
		return err
	}
	stale, _ := filepath.Glob(filepath.Join(roots, "."+r.Name+"-*"))
	for _, d := range append(stale, r.Root) {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(roots, "."+r.Name+"-")
	if err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	packages := "openvswitch-switch,iproute2"
	from := suite(r.Name)
	if suites[from.suite] {
		packages += ",ovn-central,ovn-host"
	}
	args := []string{"--variant=minbase", "--include=" + packages}
	if keyring != "" {
		args = append(args, "--keyring="+keyring)
	}
	err = inNamespaces(ctx, `umask 022; exec debootstrap "$@"`, append(args, from.suite, tmp, mirror)...)
	if err == nil && len(from.packages) > 0 {
		err = inNamespaces(ctx, addPackages, append([]string{tmp}, from.packages...)...)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if _, err := (Release{Name: r.Name, Root: tmp}).versions(ctx); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if err := os.RemoveAll(filepath.Join(tmp, "var/cache/apt/archives")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, rootMark), nil, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, r.Root)
}

// addPackages installs packages into a root, which debootstrap does not do for those with many dependencies. No service is
// started.
const addPackages = `umask 022
root=$1
shift
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/lab"
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "$http_proxy" ] || export http_proxy
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
chroot "$root" apt-get update -q
chroot "$root" apt-get install -y -q --no-install-recommends "$@"
chroot "$root" apt-get clean
rm "$root/usr/sbin/policy-rc.d"`

// inNamespaces runs a script in its own mount and process namespaces: if interrupted, it leaves no mounts and ends with us.
func inNamespaces(ctx context.Context, script string, args ...string) error {
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
		"sh", "-ec", script, "install"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The signal is sent when the starting thread ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("install packages: %w: %s", err, tail(out.String()))
	}
	return nil
}

// versions fills in the release's package versions.
func (r Release) versions(ctx context.Context) (Release, error) {
	packages := map[string]*string{"openvswitch-switch": &r.OVS}
	if has, known := suites[suite(r.Name).suite]; has || !known {
		packages["ovn-host"] = &r.OVN
	}
	for name, version := range packages {
		args := []string{"dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name}
		if r.Root != "" {
			args = append([]string{"chroot", r.Root}, args...)
		}
		out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
		v, ok := strings.CutPrefix(string(out), "installed ")
		if err != nil || !ok {
			return r, fmt.Errorf("release %s: package %s is not installed (internal/lab/install.sh installs the system's)", r.Name, name)
		}
		*version = v
	}
	return r, nil
}

// debianMirror finds the first archive (not a security or update suite's own host) that apt on this machine uses, and
// its key ring.
func debianMirror(apt string) (mirror, keyring string, err error) {
	files, _ := filepath.Glob(filepath.Join(apt, "sources.list.d", "*"))
	for _, file := range append([]string{filepath.Join(apt, "sources.list")}, files...) {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		switch filepath.Ext(file) {
		case ".list":
			mirror, keyring = fromOneLine(b)
		case ".sources":
			mirror, keyring = fromStanzas(b)
		}
		if mirror != "" {
			return mirror, keyring, nil
		}
	}
	return "", "", fmt.Errorf("no Debian archive in %s: sources.list or sources.list.d has to name one", apt)
}

func isArchive(uri string) bool {
	return strings.HasPrefix(uri, "http") && strings.HasSuffix(strings.TrimRight(uri, "/"), "/debian")
}

// fromOneLine parses sources.list(5)'s one-line style: deb [signed-by=FILE] URI SUITE COMPONENT...
func fromOneLine(b []byte) (mirror, keyring string) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		f := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(lines.Text()))
		if len(f) == 0 || f[0] != "deb" {
			continue
		}
		i := slices.IndexFunc(f, isArchive)
		if i <= 0 {
			continue
		}
		for _, option := range f[1:i] {
			if file, ok := strings.CutPrefix(option, "signed-by="); ok {
				keyring = file
			}
		}
		return f[i], keyring
	}
	return "", ""
}

// archiveIn returns the first URI that is an archive; empty if none.
func archiveIn(uris []string) string {
	if i := slices.IndexFunc(uris, isArchive); i >= 0 {
		return uris[i]
	}
	return ""
}

// fromStanzas parses its deb822 style.
func fromStanzas(b []byte) (mirror, keyring string) {
	for stanza := range strings.SplitSeq(string(b), "\n\n") {
		mirror, keyring, enabled := "", "", true
		for line := range strings.Lines(stanza) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch strings.ToLower(name) {
			case "uris":
				mirror = archiveIn(strings.Fields(value))
			case "signed-by":
				keyring = value
			case "enabled":
				enabled = value != "no"
			}
		}
		if mirror != "" && enabled {
			return mirror, keyring
		}
	}
	return "", ""
}
