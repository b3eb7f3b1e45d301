#!/bin/sh
# containers.sh RUNTIME up | down | on NODE LINE: two containers of docker, podman or LXC that are the nodes of a deployment, whose
# databases are on this machine. Programs are this machine's, mounted read-only; files and processes are the container's own.
set -eu
runtime=$1
verb=$2
base=/var/lib/containers-of-test
under=172.31.0

on() { # NODE LINE
	case $runtime in
	lxc) lxc-attach -n "$1" -- sh -ec "$2" ;;
	*) "$runtime" exec -i "$1" sh -ec "$2" ;;
	esac
}

# folder writes what a container has of its own.
folder() {
	mkdir -p "$1"
	for d in bin sbin lib lib64; do ln -s "usr/$d" "$1/$d"; done
	mkdir -p "$1"/usr "$1"/dev "$1"/proc "$1"/sys "$1"/run "$1"/tmp "$1"/root "$1"/etc/openvswitch "$1"/var/log/openvswitch "$1"/var/log/ovn "$1"/var/lib/openvswitch/pki "$1"/var/lib/ovn
	ln -s /run "$1/var/run"
	: >"$1/etc/resolv.conf"
	cp -a /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/alternatives "$1/etc/"
}

# The first process of a container collects what ended.
first='while sleep 60; do :; done'

create() { # NODE
	case $runtime in
	lxc)
		folder "/var/lib/lxc/$1/rootfs"
		cat >"/var/lib/lxc/$1/config" <<C
lxc.uts.name = $1
lxc.rootfs.path = dir:/var/lib/lxc/$1/rootfs
lxc.init.cmd = /usr/bin/sh /first
lxc.net.0.type = empty
lxc.mount.auto = proc:rw sys:rw cgroup:rw
lxc.mount.entry = /usr usr none ro,bind 0 0
lxc.apparmor.profile = unconfined
lxc.cap.drop =
lxc.autodev = 1
C
		echo "$first" >"/var/lib/lxc/$1/rootfs/first"
		lxc-start -n "$1"
		;;
	*)
		"$runtime" run -d --privileged --network none --name "$1" --hostname "$1" -v /usr:/usr:ro node:1 sh -c "$first" >/dev/null
		;;
	esac
}

pid() {
	case $runtime in
	lxc) lxc-info -n "$1" -p -H ;;
	*) "$runtime" inspect -f '{{.State.Pid}}' "$1" ;;
	esac
}

up() {
	modprobe -a openvswitch geneve veth
	ip link add under type bridge
	ip address add $under.1/24 dev under
	ip link set under up
	sysctl -qw net.bridge.bridge-nf-call-iptables=0 2>/dev/null || : # docker has iptables drop what bridges forward
	export PATH="$PATH:/usr/share/ovn/scripts"
	ovn-ctl start_northd >/dev/null
	ovn-sbctl --timeout=600 set-connection ptcp:6642:$under.1
	if [ "$runtime" != lxc ]; then
		folder $base/image
		tar -C $base/image -c . | "$runtime" import - node:1 >/dev/null
	fi
	n=0
	for node in node1 node2; do
		n=$((n + 1))
		create $node
		ip link add "on-$node" type veth peer name eth0 netns "$(pid $node)"
		ip link set "on-$node" master under up
		on $node "ip link set lo up; ip address add $under.1$n/24 dev eth0; ip link set eth0 up
export PATH=\$PATH:/usr/share/openvswitch/scripts:/usr/share/ovn/scripts
ovs-ctl --system-id=$node --no-mlockall --no-record-hostname start >/dev/null
ovs-vsctl set Open_vSwitch . external_ids:hostname=$node external_ids:ovn-remote=tcp:$under.1:6642 external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip=$under.1$n
ovn-ctl start_controller >/dev/null"
	done
	ovn-nbctl --timeout=600 ls-add lan
	pod node1 client 1
	pod node2 web 2
	ovn-nbctl --timeout=600 --wait=hv sync
}

pod() { # NODE NAME NUMBER
	on "$1" "ip netns add $2
ip link add $2 type veth peer name eth0 mtu 1400 netns $2
ip -n $2 link set eth0 address 0a:00:00:00:00:0$3
ip -n $2 address add 10.0.0.$3/24 dev eth0
ip -n $2 link set lo up
ip -n $2 link set eth0 up
ip link set $2 up
ovs-vsctl add-port br-int $2 -- set Interface $2 external_ids:iface-id=$2"
	ovn-nbctl --timeout=600 lsp-add lan "$2" -- lsp-set-addresses "$2" "0a:00:00:00:00:0$3 10.0.0.$3"
}

down() {
	for node in node1 node2; do
		case $runtime in
		lxc) lxc-destroy -f -n $node ;;
		*) "$runtime" kill $node >/dev/null && "$runtime" rm -f $node >/dev/null ;;
		esac
	done
	/usr/share/ovn/scripts/ovn-ctl stop_northd >/dev/null
	rm -rf /var/lib/ovn/* $base
	ip link delete under
}

case $verb in
up) up ;;
down) down ;;
on) on "$3" "$4" ;;
esac
