// Package neutron has the real neutron-server write a deployment: Debian's packages in a root of their own, on the databases
// of a lab, with objects made by its REST API.
//
// [Write] saves what it wrote as --offline reads it; package replay brings that up again, with servers that send packets. So
// neutron-server runs for a minute or two, and no lab depends on it.
//
// There is no Nova, no message bus, no Keystone and no agent but OVN's: ports are bound as Nova would ask for it, and the
// interfaces of servers are made as os-vif makes them.
package neutron

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// central is the host of the databases; neutron-server runs there too.
const central = "central"

// Write makes a deployment and saves it into dir. It takes some minutes, more where the packages have to be installed first.
func Write(ctx context.Context, dir string) (err error) {
	t := lab.OpenStack()
	t.Name, t.Pods, t.Northbound, t.Routed = "neutron", nil, nil, nil
	l, err := lab.Up(ctx, t, lab.Options{Release: lab.Neutron})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Down()) }()
	s := &server{lab: l, dir: filepath.Join(l.Dir, central, "neutron")}
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.create(ctx); err != nil {
		return err
	}
	if err := s.plug(ctx); err != nil {
		return err
	}
	return l.Backup(ctx, dir)
}

// A server is neutron-server with its database.
type server struct {
	lab     *lab.Lab
	dir     string // its files: the same path in the lab and in the release's root
	servers []port
}

// A port is a server's port as Neutron made it.
type port struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	MAC    string `json:"mac_address"`
	Device string `json:"device_id"`
	Host   string `json:"binding:host_id"`
}

// start starts MariaDB and neutron-server, and returns when the API replies.
func (s *server) start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(s.dir, "lock"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"neutron.conf": neutronConf, "ml2_conf.ini": ml2Conf} {
		text = string(bytes.ReplaceAll([]byte(text), []byte("DIR"), []byte(s.dir)))
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	data, socket := filepath.Join(s.dir, "mysql"), filepath.Join(s.dir, "mysqld.sock")
	if _, err := s.lab.Run(ctx, central, "mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return err
	}
	if err := s.daemon("mariadb", "mariadbd", "--no-defaults", "--user=root", "--datadir="+data, "--socket="+socket, "--skip-networking", "--skip-log-bin",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"); err != nil {
		return err
	}
	if err := s.until(ctx, "mariadb", func() error {
		_, err := s.lab.Run(ctx, central, "mariadb", "-uroot", "-S", socket, "-e", "create database if not exists neutron character set utf8mb4")
		return err
	}); err != nil {
		return err
	}
	config := []string{"--config-file", filepath.Join(s.dir, "neutron.conf"), "--config-file", filepath.Join(s.dir, "ml2_conf.ini")}
	if _, err := s.lab.Run(ctx, central, append(append([]string{"neutron-db-manage"}, config...), "upgrade", "heads")...); err != nil {
		return err
	}
	if err := s.daemon("neutron-server", append([]string{"python3", "/usr/bin/neutron-server"}, config...)...); err != nil {
		return err
	}
	return s.until(ctx, "neutron-server", func() error { return s.call(ctx, "GET", "networks", nil, nil) })
}

// daemon starts a program that the lab ends when it goes down.
func (s *server) daemon(name string, args ...string) error {
	log, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(s.lab.Dir, "enter"), append([]string{central}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// until tries until something works, for some minutes at most.
func (s *server) until(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, what+".log"))
			return fmt.Errorf("%s: %w\n%s", what, err, log[max(0, len(log)-2000):])
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// plug gives each server's node an interface, as os-vif does, and returns when all ports are up. A veth pair whose other
// end stays on the node stands for the server.
func (s *server) plug(ctx context.Context) error {
	wait := []string{"ovn-nbctl", "--timeout=120", "--db=" + s.lab.NB(), "init"}
	for _, p := range s.servers {
		tap := "tap" + p.ID[:11]
		for _, command := range [][]string{
			{"ip", "link", "add", tap, "type", "veth", "peer", "name", "srv" + p.ID[:11]},
			{"ip", "link", "set", tap, "up"},
			{"ovs-vsctl", "--timeout=20", "add-port", "br-int", tap, "--", "set", "Interface", tap, "external_ids:iface-id=" + p.ID, "external_ids:iface-status=active",
				`external_ids:attached-mac="` + p.MAC + `"`, "external_ids:vm-uuid=" + p.Device},
		} {
			if _, err := s.lab.Run(ctx, p.Host, command...); err != nil {
				return err
			}
		}
		wait = append(wait, "--", "wait-until", "Logical_Switch_Port", p.ID, "up=true")
	}
	if _, err := s.lab.Run(ctx, central, wait...); err != nil {
		return err
	}
	_, err := s.lab.Run(ctx, central, "ovn-nbctl", "--timeout=60", "--db="+s.lab.NB(), "--wait=hv", "sync")
	return err
}

const neutronConf = `[DEFAULT]
auth_strategy = noauth
core_plugin = ml2
service_plugins = ovn-router,qos,port_forwarding
transport_url = fake://
api_paste_config = /usr/share/neutron-common/api-paste.ini
state_path = DIR
bind_host = 127.0.0.1
bind_port = 9696
api_workers = 1
rpc_workers = 0
rpc_state_report_workers = 0
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
global_physnet_mtu = 1500
[database]
connection = mysql+pymysql://root@localhost/neutron?unix_socket=DIR/mysqld.sock&charset=utf8mb4
[oslo_concurrency]
lock_path = DIR/lock
[oslo_policy]
enforce_scope = false
enforce_new_defaults = false
`

const ml2Conf = `[ml2]
mechanism_drivers = ovn
type_drivers = local,flat,vlan,geneve
tenant_network_types = geneve
extension_drivers = port_security,qos
[ml2_type_geneve]
vni_ranges = 1:65536
max_header_size = 38
[ml2_type_flat]
flat_networks = physnet
[ml2_type_vlan]
network_vlan_ranges = physnet:100:199
[securitygroup]
enable_security_group = true
[ovn]
ovn_nb_connection = tcp:127.0.0.1:6641
ovn_sb_connection = tcp:127.0.0.1:6642
ovn_l3_scheduler = leastloaded
ovn_metadata_enabled = true
enable_distributed_floating_ip = true
`
