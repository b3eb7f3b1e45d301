#!/usr/bin/env bash
# faults-ovnk.sh DIR [NAME...]: faults of a real ovn-kubernetes with a zone for each node, made on the running kit in DIR by its API, at its
# nodes and behind its back. OVNCTL is the path of ovnctl. Exit status 0: doctor found each, and it alone, and trace was right about the packets.
. "$(dirname "$(readlink -f "$0")")/faults.sh"

cp "$ovnctl" "$kit/bin/ovnctl.faults" # where the nodes see it
zone=ovn-control-plane asker=ovn-worker2
asked() { on $asker /opt/lab/ovnctl.faults --node-exec '/opt/lab/probe rexec {hostname}' "$@"; }
nbctl() { on "$zone" ovn-nbctl --timeout=60 --wait=hv "$@"; }
row() { on "$zone" ovn-nbctl --bare --columns=_uuid find "$@"; }
rows() { row "$1" "external_ids:\"k8s.ovn.org/$2\"=\"$3\""; } # TABLE KEY VALUE: those that ovnkube marked
port() { on "$1" ovs-vsctl --bare --columns=name find Interface "external_ids:iface-id=$2"; }

# pod FROM COMMAND...: runs a command in the network of a pod, or of a node (node:NAME).
pod() {
	local at=$1
	shift
	case $at in
	node:*) on "${at#node:}" "$@" ;;
	*) "$kit/in" "$at" "$@" </dev/null ;;
	esac
}

# of NODE: the faults that follow change that zone.
of() {
	zone=$1
	NB=/proc/$(cat "$kit/run/$zone.pid")/root/run/ovn/ovnnb_db.sock
}

# address TO: of a pod, a service (svc:NAMESPACE/NAME) or itself. With ip: in front, trace gets the address, too.
address() {
	case ${1#ip:} in
	svc:*) "$kit/k" -n "$(cut -d: -f2 <<<"${1%/*}")" get svc "${1#*/}" -o jsonpath='{.spec.clusterIP}' ;;
	*/*)
		set -- "${1#ip:}"
		"$kit/k" -n "${1%/*}" get pod "${1#*/}" -o jsonpath='{.status.podIP}'
		;;
	*) echo "$1" ;;
	esac
}

# sent FROM TO PROTO PORT: sends packets from a pod, twice if the first is lost.
sent() {
	local to
	to=$(address "$2"):$4
	pod "$1" /opt/lab/probe "$3" "$to" || pod "$1" /opt/lab/probe "$3" "$to"
}
traced() {
	local to=$2
	[ "$to" = "${to#ip:}" ] || to=$(address "$to")
	asked trace "$1" "$to" "--$3" "$4"
}

# unassigned EGRESSIP: the transit address of a node that neither has the egress IP nor is the zone.
unassigned() {
	local n has
	has=$("$kit/k" get egressip "$1" -o jsonpath='{.status.items[0].node}')
	for n in ovn-control-plane ovn-worker ovn-worker2; do
		[ "$n" = "$has" ] || [ "$n" = "$zone" ] && continue
		on "$n" ovn-nbctl --bare --columns=networks find Logical_Router_Port "name=rtots-$n" | cut -d/ -f1
		return
	done
}

# northd and ovn-controller, as the service manager ends and starts them.
ended() { on "$1" sh -c "kill \$(cat /run/ovn/$2.pid) && while [ -e /run/ovn/$2.pid ]; do sleep 0.1; done"; }
northd() { on "$1" /usr/share/ovn/scripts/ovn-ctl start_northd --no-monitor --ovn-manage-ovsdb=no; }
controller() { on "$1" /usr/share/ovn/scripts/ovn-ctl --no-monitor start_controller; }

# The rows that ovnkube wrote, changed behind its back.
of ovn-control-plane
fault policy-group-gone ovnk-zones-differ 'NetworkPolicy bank/allow-shop .* in zone ovn-control-plane' \
	'nbctl destroy Port_Group "$(rows Port_Group id default-network-controller:NetworkPolicy:bank:allow-shop)"' '' \
	'shop/client bank/vault-1 tcp 8080|bank'
fault service-gone ovnk-zones-differ 'shop/web .* in zone ovn-control-plane' 'nbctl lb-del Service_shop/web_TCP_cluster' '' 'shop/client svc:shop/web tcp 80|shop/web|10.96'
fault service-detached lb-on-wrong-switch 'Service_shop/web_TCP_cluster is on no switch' \
	'for g in $(row Load_Balancer_Group); do nbctl remove Load_Balancer_Group "$g" load_balancer "$(row Load_Balancer name=Service_shop/web_TCP_cluster)"; done' '' 'shop/client svc:shop/web tcp 80|shop/web|10.96'
fault remote-port-missing ic-transit-broken 'tstor-ovn-worker .* in zone ovn-control-plane' 'nbctl lsp-del tstor-ovn-worker' '' 'shop/client shop/web-2 tcp 8080|tstor-ovn-worker|transit'
fault pod-port-gone iface-id-without-binding 'shop_web-1' 'nbctl lsp-del shop_web-1' '' 'shop/client ip:shop/web-1 tcp 8080|nothing on its switch leads'
of ovn-worker
fault egress-firewall ovnk-zones-differ 'EgressFirewall fence/default .* in zone ovn-worker' \
	'g=$(rows Port_Group id default-network-controller:Namespace:fence) && for a in $(rows ACL owner-type EgressFirewall); do [ "$(nbctl --bare get ACL "$a" action)" != drop ] || nbctl remove Port_Group "$g" acls "$a" || exit 1; done' '' 'fence/cell 203.0.113.10 tcp 9090|'
fault egress-ip-node ovnk-egressip-stale 'EgressIP exit-ip' \
	'p=$(rows Logical_Router_Policy id default-network-controller:EgressIP:100:exit-ip_exit/walker:ip4:default) && hop=$(unassigned exit-ip) && nbctl set Logical_Router_Policy "$p" nexthops="\"$hop\""' '' \
	'exit/walker 203.0.113.10 tcp 8080|'

# While nothing carries changes out.
of ovn-worker
fault northd-stopped northd-not-active 'ovn-northd of ovn-worker is down' 'ended ovn-worker ovn-northd' 'northd ovn-worker' 'shop/client shop/web-2 tcp 8080|'
fault controller-stopped controller-not-running 'ovn-worker' 'ended ovn-worker ovn-controller' 'controller ovn-worker' 'shop/client shop/web-2 tcp 8080|ovn-worker'

# At the nodes.
fault unplugged port-unplugged 'shop/web-2 .*is not plugged|shop_web-2 .*is not plugged|web-2.* is not plugged' \
	'dev=$(port ovn-worker shop_web-2) && ids=$(on ovn-worker ovs-vsctl get Interface "$dev" external_ids) && on ovn-worker ovs-vsctl del-port br-int "$dev"' \
	'on ovn-worker ovs-vsctl add-port br-int "$dev" -- set Interface "$dev" external_ids="$ids" -- set Port "$dev" other_config:transient=true' 'shop/client shop/web-2 tcp 8080|web-2'
fault mac-changed pod-address-mismatch 'shop/web-3|shop_web-3' 'pod shop/web-3 ip link set eth0 address 0a:58:00:00:00:09' \
	'a=$(address shop/web-3) && pod shop/web-3 ip link set eth0 address "$(printf "0a:58:%02x:%02x:%02x:%02x" ${a//./ })" && pod shop/web-3 ip route replace default via "${a%.*}.1"' 'shop/client shop/web-3 tcp 8080|web-3'
asker=ovn-worker # nobody else reaches it
fault uplink-lost uplink-not-in-bridge 'br-ex' 'number=$(on ovn-worker ovs-vsctl get Interface eth0 ofport) && on ovn-worker ovs-vsctl del-port br-ex eth0' \
	'on ovn-worker ovs-vsctl add-port br-ex eth0 -- set Port eth0 other_config:transient=true -- set Interface eth0 ofport_request="$number"'
asker=ovn-worker2
fault management-port-down pod-address-mismatch 'k8s-ovn-worker is down: its link ovn-k8s-mp0 is down' \
	'r=$(on ovn-worker ip route show dev ovn-k8s-mp0 | grep via) && on ovn-worker ip link set ovn-k8s-mp0 down' \
	'on ovn-worker ip link set ovn-k8s-mp0 up; while read -r line; do on ovn-worker ip route replace $line dev ovn-k8s-mp0; done <<<"$r"' 'node:ovn-worker shop/web-2 tcp 8080|ovn-k8s-mp0'
fault stale-chassis duplicate-chassis-stale 'cannot register: its tunnel address belongs to the old chassis' \
	'id=$(on ovn-worker ovs-vsctl get Open_vSwitch . external_ids:system-id) && ended ovn-worker ovn-controller && on ovn-worker ovs-vsctl set Open_vSwitch . external_ids:system-id=00000000-1111-4222-8333-444444444444 && sleep 1 && controller ovn-worker' \
	'ended ovn-worker ovn-controller; on ovn-worker ovs-vsctl set Open_vSwitch . external_ids:system-id="$id"; sleep 1; on ovn-worker ovn-sbctl --if-exists chassis-del 00000000-1111-4222-8333-444444444444; controller ovn-worker'

finish
