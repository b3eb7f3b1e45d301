package machine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// Releases are the Debian suites that a machine can run.
func Releases() []string { return []string{"bookworm", "trixie"} }

// Containers is Debian 12 with docker, podman and LXC.
const Containers = "containers"

//go:embed prepare.sh
var prepare string

// An image is what a machine boots from. It is shared: machines write to a copy that vanishes with them.
type image struct {
	kernel string // of its root
	disk   string // an ext4 file system
	key    string // the private key that may log in
}

// programs are what makes and runs machines, with their Debian packages.
var programs = []struct{ name, pkg string }{
	{"qemu-system-x86_64", "qemu-system-x86"}, {"mke2fs", "e2fsprogs"}, {"debootstrap", "debootstrap"},
	{"ssh", "openssh-client"}, {"ssh-keygen", "openssh-client"},
}

// check reports what this machine lacks.
func check() error {
	var missing []string
	for _, p := range programs {
		if _, err := exec.LookPath(p.name); err != nil {
			missing = append(missing, fmt.Sprintf("%s (Debian package %s)", p.name, p.pkg))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not found in PATH: %s; internal/lab/install.sh machine installs what a machine needs", strings.Join(missing, ", "))
	}
	if os.Geteuid() != 0 {
		return errors.New("a machine needs root, to make its root file system")
	}
	return nil
}

// build returns the image of a release. It is kept in the user's cache directory ($XDG_CACHE_HOME or ~/.cache,
// ovnctl/machines), as is its root (ovnctl/roots); both take minutes the first time.
func build(ctx context.Context, release string) (image, error) {
	release = cmp.Or(release, "bookworm")
	if release != Containers && !slices.Contains(Releases(), release) {
		return image{}, fmt.Errorf("machine of release %s: not known; there are %s", release, strings.Join(Releases(), ", "))
	}
	root, err := lab.Install(ctx, "machine-"+release)
	if err != nil {
		return image{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return image{}, err
	}
	dir := filepath.Join(cache, "ovnctl", "machines")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return image{}, err
	}
	unlock, err := lab.Lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return image{}, err
	}
	defer unlock()
	i := image{key: filepath.Join(dir, "key")}
	if i.kernel, err = only(filepath.Join(root.Root, "boot/vmlinuz-*")); err != nil {
		return image{}, err
	}
	public, err := keyPair(ctx, i.key)
	if err != nil {
		return image{}, err
	}
	stamp := sha256.Sum256([]byte(prepare + public + root.OVS + root.OVN + i.kernel))
	i.disk = filepath.Join(dir, fmt.Sprintf("%s-%x.img", release, stamp[:6]))
	if _, err := os.Stat(i.disk); err == nil {
		return i, nil
	}
	older, _ := filepath.Glob(filepath.Join(dir, release+"-*.img")) // the pattern is valid
	for _, disk := range older {
		if err := os.Remove(disk); err != nil {
			return image{}, err
		}
	}
	if err := run(ctx, "sh", "-ec", prepare, "prepare", root.Root, public); err != nil {
		return image{}, err
	}
	return i, makeDisk(ctx, root.Root, i.disk, "4G")
}

// makeDisk writes a file system with what is in a folder.
func makeDisk(ctx context.Context, folder, disk, size string) error {
	partial := disk + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := run(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", folder, partial, size); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	return os.Rename(partial, disk)
}

// keyPair makes the key if there is none, and returns its public half.
func keyPair(ctx context.Context, path string) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := run(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "machine", "-f", path); err != nil {
			return "", err
		}
	}
	public, err := os.ReadFile(path + ".pub")
	return strings.TrimSpace(string(public)), err
}

func only(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: %d files, want one", pattern, len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
