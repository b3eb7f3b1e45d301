#!/usr/bin/env bash
# faults-kubeovn.sh DIR [NAME...]: faults of a real Kube-OVN, made on the running kit in DIR by its API, at its nodes and behind its back.
# OVNCTL is the path of ovnctl. Exit status 0: doctor found each, and it alone.
. "$(dirname "$(readlink -f "$0")")/faults.sh"

. "$kit/kit.conf"
nb=tcp:$NET.10:6641 sb=tcp:$NET.10:6642

row() { on central ovn-nbctl --bare --columns=_uuid find "$@"; }
port() { on "$1" ovs-vsctl --bare --columns=name find Interface "external_ids:iface-id=$2"; }

# The rows that kube-ovn-controller wrote, changed behind its back.
fault policy-group-gone acl-drops 'NetworkPolicy bank/allow-shop has no port group' 'nbctl pg-del allow.shop.bank'
fault policy-set-gone acl-drops 'allow.shop.bank.ingress.allow.IPv4.0, which does not exist' 'nbctl destroy Address_Set allow.shop.bank.ingress.allow.IPv4.0'
fault security-group-member acl-drops 'sec-1.tenant .* not in its port group ovn.sg.sg.app' 'nbctl clear Port_Group ovn.sg.sg.app ports'
fault subnet-policy kube-ovn-join-gap 'bank-net' 'nbctl lr-policy-del ovn-cluster 31000 "ip4.dst == 10.17.0.0/16"'
fault node-port kube-ovn-join-gap 'node node2 has no port on the switch join' 'nbctl lsp-del node-node2'
fault default-route kube-ovn-join-gap 'no default route' 'nbctl lr-route-del ovn-cluster 0.0.0.0/0'
fault eip-node-wrong dgp-chassis-not-bound 'tenant-a-external has gateway chassis node2, which does not exist' \
	'for g in $(row Gateway_Chassis); do nbctl destroy Gateway_Chassis "$g" || exit 1; done; nbctl lrp-set-gateway-chassis tenant-a-external node2 100'
fault fip-stale static-route-or-nat-unrealised 'NAT of 198.51.100.22 .* leads to 10.30.0.77' 'nbctl set NAT "$(row NAT type=dnat_and_snat)" logical_ip=10.30.0.77'
fault localnet-gone dangling-router-link 'switch external,.* has no port to the physical network' 'nbctl lsp-del localnet.external'
fault router-link dangling-router-link 'hub-net-ovn-cluster of switch hub-net leads to router port' 'nbctl lrp-del ovn-cluster-hub-net'
fault services-detached lb-on-wrong-switch 'ovn-default does not have the load balancer cluster-tcp-loadbalancer' 'nbctl ls-lb-del ovn-default cluster-tcp-loadbalancer'

# By its API, while nothing carries it out: a pod gets a label that a policy selects.
fault northd-stopped northd-not-active 'ovn-northd .* is down' \
	'stopped central central/ovnrun/ovn-northd.pid && "$kit/k" -n shop label pod client fault=made' \
	'started central; "$kit/k" -n shop label pod client fault-'

# At the nodes.
fault controller-stopped controller-not-running 'node3' 'stopped node3 node3/ovnrun/ovn-controller.pid' 'started node3'
fault bridge-mapping localnet-no-bridge-mapping 'external of node2 is mapped to bridge br-extern' \
	'map=$(on node2 ovs-vsctl get Open_vSwitch . external_ids:ovn-bridge-mappings) && on node2 ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings=external:br-extern' \
	'on node2 ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings="$map"'
fault unplugged port-unplugged 'web-2.shop is not plugged' \
	'dev=$(port node2 web-2.shop) && ids=$(on node2 ovs-vsctl get Interface "$dev" external_ids) && on node2 ovs-vsctl del-port br-int "$dev"' \
	'on node2 ovs-vsctl add-port br-int "$dev" -- set Interface "$dev" external_ids="$ids"'
fault ovn0-address kube-ovn-ovn0-wrong 'ovn0 on node1 lacks 100.64' \
	'a=$(on node1 ip -4 -o addr show ovn0 | grep -o "100[.]64[^ ]*/16") && on node1 ip addr del "$a" dev ovn0' \
	'on node1 ip addr add "$a" dev ovn0; for net in 10.16 10.17 10.18; do on node1 ip route replace $net.0.0/16 via 100.64.0.1 src "${a%/*}"; done'
fault pod-route cluster-route-or-snat-missing 'node1 has no route to the pods of 10.16.0.0/16' \
	'r=$(on node1 ip route show 10.16.0.0/16) && on node1 ip route del 10.16.0.0/16' 'on node1 ip route add $r'
fault masquerade-gone cluster-route-or-snat-missing 'node1 has no SNAT rule for IPv4' \
	'on node1 nft list table ip kit >"$work/nft" && on node1 nft delete table ip kit' '"$kit/on" node1 nft -f - <"$work/nft"'
fault pod-address pod-address-mismatch 'vault-1.bank has 10.17.9.9' \
	'a=$(on pod:bank/vault-1 ip -4 -o addr show eth0 | grep -o "10[.]17[^ ]*/16") && on pod:bank/vault-1 ip addr del "$a" dev eth0 && on pod:bank/vault-1 ip addr add 10.17.9.9/16 dev eth0' \
	'on pod:bank/vault-1 ip addr del 10.17.9.9/16 dev eth0; on pod:bank/vault-1 ip addr add "$a" dev eth0; on pod:bank/vault-1 ip route replace default via 10.17.0.1'

finish
