package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// tools are the machine's programs that bring a lab up, with their Debian packages.
var tools = []struct{ name, pkg string }{
	{"ip", "iproute2"}, {"ethtool", "ethtool"}, {"ping", "iputils-ping"}, {"nft", "nftables"}, {"openssl", "openssl"}, {"debootstrap", "debootstrap"},
}

// checkMachine reports what this machine lacks for a lab, before anything is created that would fail obscurely.
func checkMachine(ctx context.Context, prefix string) error {
	if os.Geteuid() != 0 {
		return errors.New("a lab needs root, to make network namespaces and devices")
	}
	var missing []string
	for _, t := range tools {
		if _, err := exec.LookPath(t.name); err != nil {
			missing = append(missing, fmt.Sprintf("%s (Debian package %s)", t.name, t.pkg))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not found in PATH: %s; internal/lab/install.sh installs what a lab needs", strings.Join(missing, ", "))
	}
	// Names are created and used in two steps, which need different privileges.
	name := prefix + "-try"
	for _, args := range [][]string{{"add", name}, {"exec", name, "true"}, {"delete", name}} {
		if out, err := exec.CommandContext(ctx, "ip", append([]string{"netns"}, args...)...).CombinedOutput(); err != nil {
			_ = exec.Command("ip", "netns", "delete", name).Run()
			return fmt.Errorf("network namespaces do not work here: ip netns %s: %w: %s; in a container, a lab needs CAP_SYS_ADMIN and CAP_NET_ADMIN (--privileged)",
				args[0], err, tail(string(out)))
		}
	}
	return nil
}
