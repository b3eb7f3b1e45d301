package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/machine"
)

// upInMachine boots a machine, has this program bring the lab up inside, and leaves both running.
func upInMachine(ctx context.Context, w io.Writer, topology string, o lab.Options) error {
	start := time.Now()
	dir, err := machineDir(o.Dir)
	if err != nil {
		return err
	}
	payload := filepath.Join(dir, programs)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Mkdir(payload, 0o755); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cp", self, filepath.Join(payload, "lab")).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	m, err := machine.Boot(ctx, machine.Options{Release: o.Release, Dir: dir, Payload: payload, Detach: true})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "the machine is up after %.0f s\n", time.Since(start).Seconds())
	up := fmt.Sprintf("%s=system /payload/lab up --topology %s --cluster %d --tls=%t --dir /tmp/lab", lab.DatapathVariable, topology, o.Cluster, o.TLS)
	cmd := m.Command(ctx, up)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("bring the lab up in the machine: %w", err), m.Stop())
	}
	fmt.Fprintf(w, "run a command there: %[1]s/enter /tmp/lab/enter node1 ovs-dpctl show; end the machine: lab down %[1]s\n", dir)
	return nil
}

// programs is the folder, in the directory of a machine, that is its payload.
const programs = "programs"

// downWithMachine ends a machine and the lab in it, and removes its directory.
func downWithMachine(dir string) error {
	err := errors.Join(machine.Stop(dir), os.RemoveAll(filepath.Join(dir, programs)))
	if err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(dir, "ssh")) // the connection that enter shares goes by itself, but later
	return os.Remove(dir)
}

// machineDir makes the directory of a machine.
func machineDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("/tmp", "machine-")
	}
	abs, err := filepath.Abs(dir)
	return abs, cmp.Or(err, os.Mkdir(abs, 0o755))
}
