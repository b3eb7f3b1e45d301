package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dumps are the ovs-ofctl commands that Backup runs for every bridge, by the first part of the file's name.
var dumps = map[string]string{
	"flows": "dump-flows", "groups": "dump-groups", "tlv-map": "dump-tlv-map", "ports": "dump-ports-desc",
}

// Backup writes the state of the lab into dir, a plain directory as --offline reads: nb.db and sb.db, of each zone in its
// node's directory, and for each node NODE/conf.db and every bridge's flows, groups, ports and TLV map as text,
// NODE/flows-br-int.txt.
func (s *State) Backup(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var jobs []func() error
	for _, host := range s.northbounds() {
		for db, name := range map[string]string{"nb": "OVN_Northbound", "sb": "OVN_Southbound"} {
			jobs = append(jobs, func() error {
				into := filepath.Join(dir, s.zone(host))
				if err := os.MkdirAll(into, 0o755); err != nil {
					return err
				}
				return s.keepOutput(ctx, host, filepath.Join(into, db+".db"), "ovsdb-client", "--timeout=120", "backup", s.socket(host, db), name)
			})
		}
	}
	for _, n := range s.Topology.Nodes {
		jobs = append(jobs, func() error { return s.backupNode(ctx, n.Name, filepath.Join(dir, n.Name)) })
	}
	return each(jobs, func(job func() error) error { return job() })
}

func (s *State) backupNode(ctx context.Context, node, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	socket := "unix:" + filepath.Join(s.Dir, node, "run/openvswitch/db.sock")
	if err := s.keepOutput(ctx, node, filepath.Join(dir, "conf.db"), "ovsdb-client", "--timeout=120", "backup", socket, "Open_vSwitch"); err != nil {
		return err
	}
	bridges, err := s.Run(ctx, node, "ovs-vsctl", "--timeout=120", "list-br")
	if err != nil {
		return err
	}
	var errs []error
	for _, bridge := range strings.Fields(bridges) {
		for kind, command := range dumps {
			file := filepath.Join(dir, fmt.Sprintf("%s-%s.txt", kind, bridge))
			errs = append(errs, s.keepOutput(ctx, node, file, "ovs-ofctl", "--timeout=120", "-O", "OpenFlow15", command, bridge))
		}
	}
	return errors.Join(errs...)
}

// keepOutput saves a command's output to a file.
func (s *State) keepOutput(ctx context.Context, host, file string, args ...string) error {
	out, err := s.Run(ctx, host, args...)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(out), 0o644)
}
