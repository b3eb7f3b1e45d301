#!/usr/bin/env bash
# Brings up three nodes of real Open vSwitch and OVN in network namespaces, as
# ovn-kubernetes sets them up, and asks ovnctl on the first of them.
# KEEP=1 leaves the lab up. Needs root; `make demo` builds what it runs.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/bin:$PATH:/usr/sbin:/sbin

dir=$(mktemp -d /tmp/ovnctl-demo.XXXXXX)
lab=$dir/lab

leave() {
	if [ -n "${KEEP:-}" ] && [ -d "$lab" ]; then
		printf '\nThe lab stays up. Try for example\n\n  %s node1 %s/bin/ovnctl trace ops/debug shop/web-1 --tcp 22\n' "$lab/enter" "$PWD"
		printf '  %s node2 ovs-vsctl show\n\nand take it down with\n\n  %s/bin/lab down %s\n' "$lab/enter" "$PWD" "$lab"
		return
	fi
	[ ! -d "$lab" ] || lab down "$lab"
	rm -rf "$dir"
}
trap leave EXIT
trap 'exit 130' INT TERM

# ask runs ovnctl as an operator on node1 would. Exit code 1 is no failure: a packet is not delivered.
ask() {
	printf '\n\n### node1: ovnctl %s\n\n' "$*"
	"$lab/enter" node1 ovnctl "$@" --node-exec "$lab/enter {hostname}" || [ $? = 1 ]
}

lab up --dir "$lab"
ask topology show
ask trace shop/client shop/web-2 --tcp 8080     # delivered, through the tunnel
ask trace shop/client svc:shop/web --tcp 80     # a service: every backend
ask trace ops/toolbox bank/vault-1 --tcp 8080   # a network policy drops it
ask doctor                                      # nothing is wrong

printf '\n\n### node1 loses its uplink: ovs-vsctl del-port br-ex eth0\n'
"$lab/enter" node1 ovs-vsctl del-port br-ex eth0
state=$dir/state
repair() {
	printf '\n\n### node1: ovnctl %s\n\n' "$*"
	"$lab/enter" node1 ovnctl -t 1 "$@" --state-dir "$state" 2>&1
}
repair doctor --fix --yes --max-risk high --confirm southbound
