// Package lab runs real Open vSwitch and OVN hosts in network namespaces.
//
// # What it is
//
// A lab is a small cluster on one Linux machine: an underlay, a central host with the Northbound and Southbound databases
// and ovn-northd, and a few nodes. Every host is a network namespace with its own run, log, database and configuration
// directories, and with the daemons of the distribution's packages in it, started by the packages' own ovs-ctl and ovn-ctl.
// Pods are network namespaces too, joined to br-int by veth pairs. Packets really flow: the userspace datapath forwards
// them, tunnels carry them between nodes, and connection tracking translates them.
//
//	fab ── underlay bridge, gateway 172.30.0.1 and fd00:172:30::1 ── internet 203.0.113.10, 2001:db8:113::10
//	 ├── central   ovsdb-server ×2, ovn-northd
//	 ├── node1     ovsdb-server, ovs-vswitchd, ovn-controller ── pods
//	 ├── node2
//	 └── node3
//
// A [Topology] is what is built: a value, from which [Up] builds the lab.
//
// Or what is built is a saved deployment, which a real CMS wrote: package replay makes a topology of its databases.
//
// # The truth
//
// [Lab.Probe] sends a packet that no other can be confused with and reports where it went: seen on the destination's
// interface, its reply seen at the sender, or rejected. Tests compare with that, not with expectations.
//
// # Looking into it by hand
//
//	go run ./internal/lab/cmd/lab up --dir /tmp/lab     # stays until: lab down /tmp/lab
//	/tmp/lab/enter node1 ovs-vsctl show                 # any command on a host or in a pod
//	eval "$(/tmp/lab/env)"; ovn-nbctl show              # the databases, from anywhere on the machine
//	go run ./internal/lab/cmd/lab probe /tmp/lab shop_client shop_web-2 tcp 8080
//	go run ./internal/lab/cmd/lab up --from DIR         # from the databases in DIR
//
// A host's directory, DIR/node1, has the shape of a host's file system: run/openvswitch, run/ovn, etc/openvswitch, var/log.
//
// # Releases
//
// A lab runs the machine's own packages, or those of another Debian release that [Install] has put into a root of its own:
// [Options].Release. `lab releases` lists them with their versions. The commands of that release are what DIR/enter runs.
//
// # Teardown
//
// Each lab has a keeper, a process that ends the lab when its owner is gone, however it went. If the keeper is killed as
// well, the next Up removes what is left, by the recorded state. Processes are found by the network namespace they live
// in, so that nothing but the lab's own is ever ended.
//
// # What it cannot show
//
// Hardware offload, DPDK, and timing of large clusters. The kernel datapath needs a kernel that has it: `lab up --machine` and
// package machine boot one under QEMU. ovn-kubernetes' sharing of one address between the node and its gateway router is not
// modelled: each gateway router has an address of its own on the underlay.
package lab
