#!/usr/bin/env bash
# laptop.sh DIR PLUGIN KUBELET: asks a running ovn-kubernetes kit in DIR from a network namespace in which only the API server is in
# reach, with a kubeconfig and nothing else, and holds the answers against those of the nodes. PLUGIN is kubectl-ovnctl, KUBELET the
# program of internal/lab/kubernetes that carries out pods/exec: the kit's own makes pods only. The kit's matrix must have been run
# live, with OVNCTL: its packets and verdicts are in DIR/traces. Prints rows RESULT|SECONDS|BY HAND, the seconds of the same by
# `kubectl exec`; the exit status is not 0 if anything differs.
set -euo pipefail
dir=$(cd "$1" && pwd) plugin=$(realpath "$2") kubelet=$(realpath "$3")
. "$dir/env.sh"
config=$R/kubeconfig lap=$PFX-lap namespace=ovn-kubernetes
work=$(mktemp -d /tmp/laptop.XXXX) pids=() failed=0
cleanup() {
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
	ip netns del "$lap" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# The laptop: its only route is that to the API server.
ip netns add "$lap"
ip link add lap0 netns "$lap" type veth peer name "$PFX-lap" netns "$PFX-fab"
ip -n "$PFX-fab" addr add 192.0.2.1/30 dev "$PFX-lap"
ip -n "$PFX-fab" link set "$PFX-lap" up
ip -n "$lap" addr add 192.0.2.2/30 dev lap0
ip -n "$lap" link set lo up
ip -n "$lap" link set lap0 up
ip -n "$lap" route add "$API/32" via 192.0.2.1
laptop() { env -i PATH="$PATH" HOME="$work" ip netns exec "$lap" "$@"; }
ask() { laptop "$plugin" --kubeconfig "$config" -t 30 "$@"; }
hand() { laptop "$KUBECTL" --kubeconfig "$config" -n "$namespace" exec "ovnkube-node-$1" -c ovn-controller -- "${@:2}"; }

# What the cluster of a user has and the kit has not: a kubelet that runs commands, and the pods of ovn-kubernetes.
"$dir/k" get namespace "$namespace" >/dev/null 2>&1 || "$dir/k" create namespace "$namespace" >/dev/null
for node in $NODES; do
	printf '#!/bin/sh\nshift 2\nexec %s/on %s "$@"\n' "$dir" "$node" >"$work/enter-$node"
	chmod 755 "$work/enter-$node"
	nsenter -t "$(box "$node")" -n "$kubelet" -listen ":10250" -certificate "$R/pki/apiserver.crt" -key "$R/pki/apiserver.key" -enter "$work/enter-$node" 2>"$work/kubelet-$node.log" &
	pids+=($!)
	"$dir/k" patch node "$node" --subresource=status --type=merge -p '{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}},"addresses":[{"type":"InternalIP","address":"'"${NIP[$node]}"'"}]}}' >/dev/null
	containers=$(for name in nb-ovsdb sb-ovsdb ovn-northd ovnkube-controller ovn-controller; do printf '{"name":"%s","image":"%s"},' $name $name; done)
	"$dir/k" apply -f - >/dev/null <<P
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ovnkube-node-$node","namespace":"$namespace","labels":{"app":"ovnkube-node"}},
"spec":{"nodeName":"$node","hostNetwork":true,"containers":[${containers%,}]}}
P
	"$dir/k" -n "$namespace" patch pod "ovnkube-node-$node" --subresource=status --type=merge -p '{"status":{"phase":"Running"}}' >/dev/null
done

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
# row STEP RESULT OK SECONDS HAND
row() {
	printf '%s|%s|%s|%s\n' "$1" "$2" "$4" "${5:--}"
	[ "$3" = 0 ] || failed=1
}
same() { [ "$1" = "$2" ] && echo 0 || echo 1; }

if laptop timeout 2 bash -c "exec 3<>/dev/tcp/${NIP[ovn-worker]}/10250" 2>/dev/null; then
	row "only the API server is in reach" "a node is, too" 1 0
fi

# topology: the objects that a node names with all nodes read.
start=$(now)
ask topology show -o json >"$work/topology.json" || true
took=$(since "$start")
start=$(now)
for node in $NODES; do
	hand "$node" ovn-nbctl show >/dev/null
	hand "$node" ovn-sbctl show >/dev/null
	hand "$node" ovs-vsctl show >/dev/null
done
by=$(since "$start")
"$dir/on" ovn-worker /opt/lab/ovnctl.real --node-exec '/opt/lab/probe rexec {hostname}' topology show -o json >"$work/there.json" || true
count() { python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); print(*(f"{len(d.get(k) or [])} {k}" for k in ("nodes", "switches", "routers", "ports", "tunnels") if k in d), sep=", ")' "$1"; }
row topology "$(count "$work/topology.json")" "$(same "$(count "$work/topology.json")" "$(count "$work/there.json")")" "$took" "$by"

# trace: all rows of the matrix.
tests=0 equal=0 total=0
for file in "$dir"/traces/*.txt; do
	line=$(sed -n 's/.*ovnctl trace \(.*\) --node-exec .*/\1/p;1q' "$file")
	packets=$(sed -n 's/^packets: \([A-Z]*\).*/\1/p' "$file")
	[ -n "$line" ] && [ -n "$packets" ] || continue
	tests=$((tests + 1)) start=$(now) code=0
	# shellcheck disable=SC2086 # words
	ask trace $line -o json >"$work/trace.json" 2>"$work/trace.err" || code=$?
	total=$(awk -v a="$total" -v b="$(since "$start")" 'BEGIN { print a + b }')
	outcome=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["verdict"]["outcome"])' "$work/trace.json" 2>/dev/null || head -1 "$work/trace.err")
	there=$(sed -n '5s/ .*//p' "$file" | tr '[:upper:]' '[:lower:]')
	if [ "$code" = "$([ "$packets" = OK ] && echo 0 || echo 1)" ] && [ "$outcome" = "$there" ]; then
		equal=$((equal + 1))
	else
		echo "  $line: $outcome, exit $code; on the node $there; packets $packets" >&2
	fi
done
# The commands of such a trace; the packet matters little for the time.
start=$(now)
hand ovn-worker ovn-trace --db=unix:/var/run/ovn/ovnsb_db.sock --minimal ovn-worker 'inport == "shop_web-2"' >/dev/null 2>&1 || true
hand ovn-worker ovs-appctl ofproto/trace br-int in_port=1 >/dev/null 2>&1 || true
hand ovn-worker2 ovn-trace --db=unix:/var/run/ovn/ovnsb_db.sock --minimal ovn-worker2 'inport == "shop_web-3"' >/dev/null 2>&1 || true
hand ovn-worker2 ovs-appctl ofproto/trace br-int in_port=1 >/dev/null 2>&1 || true
row trace "$equal of $tests as the packets and as on the sender's node" "$(same "$tests/$equal" "$equal/$tests")" "$(awk -v t="$total" -v n="$tests" 'BEGIN { printf "%.1f each", t / (n ? n : 1) }')" "$(since "$start") (4 commands)"
[ "$tests" -gt 40 ] || row trace "only $tests rows" 1 0

# doctor: no finding, all nodes read.
start=$(now) code=0
ask doctor --all-nodes -o json >"$work/doctor.json" 2>"$work/doctor.err" || code=$?
took=$(since "$start")
found=$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(len([f for f in d["findings"] if f["result"] in ("error", "warning")]), "findings on", len(d["nodes"]), "nodes")' "$work/doctor.json" 2>/dev/null || head -1 "$work/doctor.err")
row "doctor --all-nodes" "$found" "$(same "$found/$code" "0 findings on 3 nodes/0")" "$took"

# capture, and what it answers.
start=$(now) code=0
ask capture "$work/capture.tar.gz" >"$work/capture.log" 2>&1 || code=$?
took=$(since "$start")
start=$(now)
for node in $NODES; do
	for database in nb sb; do hand "$node" ovsdb-client backup "unix:/var/run/ovn/ovn${database}_db.sock" >/dev/null; done
	hand "$node" ovsdb-client backup unix:/var/run/openvswitch/db.sock >/dev/null
	hand "$node" ovs-ofctl dump-flows br-int >/dev/null
done
row capture "$(head -1 "$work/capture.log" | sed "s|$work/||" | cut -c1-100)" "$code" "$took" "$(since "$start") (databases and flows alone)"
code=0
"$plugin" --offline "$work/capture.tar.gz" doctor -o json >"$work/doctor.json" 2>/dev/null || code=$?
row "doctor from the capture" "exit status $code" "$code" 0

# compare: nothing has changed since, but what routers have learned: three gateways announce the same addresses.
start=$(now) code=0
ask compare "$work/capture.tar.gz" live >"$work/compare" 2>"$work/compare.err" || code=$?
took=$(since "$start")
changed=$(grep -E '^[a-z]+$' "$work/compare" | grep -vxE 'learned|flows' | paste -sd' ' || true)
row "compare with the capture" "exit status $code, changed:${changed:- nothing} but what was learned" "$([ $code -le 1 ] && [ -z "$changed" ] && echo 0 || echo 1)" "$took"

# reach: as on a node.
start=$(now)
ask reach --tcp 8080 -o json >"$work/reach.json" 2>"$work/reach.err" || true
took=$(since "$start")
"$dir/on" ovn-worker /opt/lab/ovnctl.real --node-exec '/opt/lab/probe rexec {hostname}' reach --tcp 8080 -o json >"$work/there.json" 2>/dev/null || true
reach=$(python3 -c 'import json, sys
def answers(file):
    d = json.load(open(file))
    return {(p["from"], p["to"]): (p["outcome"], p["cause"] is not None and d["causes"][p["cause"]]["text"]) for p in d["pairs"]}
here, there = map(answers, sys.argv[1:])
other = [k for k in here | there if here.get(k) != there.get(k)]
for k in other: print(" ", *k, here.get(k), "on a node:", there.get(k), file=sys.stderr)
print(f"{len(here)} pairs, {len(other)} not as on a node")' "$work/reach.json" "$work/there.json")
row reach "$reach" "$([[ $reach == [1-9]*" 0 not "* ]] && echo 0 || echo 1)" "$took"
exit $failed
