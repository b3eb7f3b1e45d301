#!/usr/bin/env bash
# faults-neutron.sh DIR [NAME...]: faults of a real Neutron with OVN, made on the running kit in DIR by its API, at its nodes and behind its back.
# OVNCTL is the path of ovnctl. Exit status 0: doctor found each, and it alone.
. "$(dirname "$(readlink -f "$0")")/faults.sh"

. "$kit/kit.conf"
nb=tcp:$NET.10:6641 sb=tcp:$NET.10:6642

# object NAME KEY: of what the kit made, as Neutron answered.
object() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]][sys.argv[3]])' "$kit/objs.json" "$@"; }
row() { on central ovn-nbctl --bare --columns=_uuid find "$@"; }
name() { on central ovn-nbctl --bare --columns=name find "$@"; }
group() { object "$1" id | sed 's/^/pg_/; s/-/_/g'; }
tap() { object "$1" id | cut -c1-11 | sed 's/^/tap/'; }
fip=$(object fip-web-1 floating_ip_address)

# The rows that Neutron wrote, changed behind its back.
fault security-group-member acl-drops '2 ports have a security group but are not in its port group' 'nbctl clear Port_Group "$(group db)" ports'
fault default-deny-gone neutron-rows-missing 'neutron_pg_drop has no rule that drops' 'nbctl clear Port_Group neutron_pg_drop acls'
fault floating-ip-gone neutron-rows-missing "floating IP $fip .*web-1.* has no NAT" 'nbctl lr-nat-del "neutron-$(object edge id)" dnat_and_snat "$fip"'
fault floating-ip-stale static-route-or-nat-unrealised "NAT of $fip .* leads to 10.1.0.250" 'nbctl set NAT "$(row NAT external_ip="$fip")" logical_ip=10.1.0.250'
fault dhcp-gone neutron-rows-missing 'subnet 10.1.0.0/24 .* has no DHCP options' 'nbctl destroy DHCP_Options "$(row DHCP_Options cidr=10.1.0.0/24)"'
fault localnet-gone dangling-router-link 'public.* has no port to the physical network' \
	'ports=$(on central ovn-nbctl lsp-list "neutron-$(object public id)" | grep -o "provnet-[^)]*") && nbctl lsp-del "$ports"'
fault router-interface-gone dangling-router-link 'web-net.* which does not exist' 'nbctl lrp-del "$(name Logical_Router_Port networks=10.1.0.1/24)"'
fault gateway-chassis-wrong dgp-chassis-not-bound 'which does not exist' 'for g in $(row Gateway_Chassis); do nbctl set Gateway_Chassis "$g" chassis_name="gone-$g"; done'

# By its API, while nothing carries it out.
fault northd-stopped northd-not-active 'ovn-northd .* is down' \
	'stopped central central/ovnrun/ovn-northd.pid && "$kit/api" PUT "routers/$(object edge id)" "{\"router\":{\"name\":\"edge-renamed\"}}" | grep edge-renamed' \
	'started central; "$kit/api" PUT "routers/$(object edge id)" "{\"router\":{\"name\":\"edge\"}}"'

# At the nodes.
fault controller-stopped controller-not-running 'compute-1' 'stopped compute-1 node1/ovnrun/ovn-controller.pid' 'started compute-1'
fault bridge-mapping localnet-no-bridge-mapping 'physnet of compute-2 is mapped to bridge br-exx' \
	'map=$(on compute-2 ovs-vsctl get Open_vSwitch . external_ids:ovn-bridge-mappings) && on compute-2 ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings=physnet:br-exx' \
	'on compute-2 ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings="$map"'
fault unplugged port-unplugged 'web-1.* is not plugged' \
	'dev=$(tap web-1) && ids=$(on compute-1 ovs-vsctl get Interface "$dev" external_ids) && on compute-1 ovs-vsctl del-port br-int "$dev"' \
	'on compute-1 ovs-vsctl add-port br-int "$dev" -- set Interface "$dev" external_ids="$ids"'
fault address-changed pod-address-mismatch 'db-1.* has 10.2.0.99' \
	'a=$(on vm:db-1 ip -4 -o addr show eth0 | grep -o "10[.]2[^ ]*/24") && on vm:db-1 ip addr del "$a" dev eth0 && on vm:db-1 ip addr add 10.2.0.99/24 dev eth0' \
	'on vm:db-1 ip addr del 10.2.0.99/24 dev eth0; on vm:db-1 ip addr add "$a" dev eth0; on vm:db-1 ip route replace default via 10.2.0.1'
fault mac-changed pod-address-mismatch 'lab-1.* has MAC address fa:16:3e:00:00:09' 'on vm:lab-1 ip link set eth0 address fa:16:3e:00:00:09' \
	'on vm:lab-1 ip link set eth0 address "$(object lab-1 mac_address)"; on vm:lab-1 ip route replace default via 10.3.0.1'
fault uplink-lost uplink-not-in-bridge 'bridge br-ex has no port' 'on compute-2 ovs-vsctl del-port br-ex eth0' \
	'on compute-2 ovs-vsctl add-port br-ex eth0 -- set Port eth0 other_config:transient=true'
fault stale-chassis duplicate-chassis-stale 'compute-1' \
	'id=$(on compute-1 ovs-vsctl get Open_vSwitch . external_ids:system-id) && stopped compute-1 node1/ovnrun/ovn-controller.pid && on compute-1 ovs-vsctl set Open_vSwitch . external_ids:system-id=00000000-1111-4222-8333-444444444444 && sleep 1 && started compute-1' \
	'stopped compute-1 node1/ovnrun/ovn-controller.pid; on compute-1 ovs-vsctl set Open_vSwitch . external_ids:system-id="$id"; sleep 1; on central ovn-sbctl --if-exists chassis-del 00000000-1111-4222-8333-444444444444; started compute-1'

finish
