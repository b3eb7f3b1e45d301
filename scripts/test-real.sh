#!/usr/bin/env bash
# test-real.sh KITS: runs ovnctl against deployments that the real ovn-kubernetes, Neutron and Kube-OVN write, on this
# machine. KITS is a folder with the kits that start them: ovnk, neutron, kubeovn. For each, one after another: up, packets
# and `ovnctl trace` live (for ovn-kubernetes from another zone, too), `doctor` on each node, `capture`, packets and trace
# from the capture, doctor from the capture, down. Beside the packets, the causes that trace names. ovn-kubernetes is also asked from a
# laptop, by its API server alone. Prints a table; the exit status is not 0 if anything differs.
#
#   ONLY="neutron"   some of the kits
#   ROOTS=DIR        roots of the kits: sid, neutron, kubeovn (default: in the user's cache folder; made if missing)
#   KEEP=1           leaves logs and captures in the folder that is printed
set -uo pipefail
kits=$(cd "${1:?test-real.sh KITS}" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2
ovnctl=$PWD/bin/ovnctl
roots=${ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/ovnctl/real}
[ "$(id -u)" = 0 ] || { echo 'test-real.sh: the kits need root' >&2; exit 2; }
plugin=$PWD/bin/kubectl-ovnctl
[ -x "$ovnctl" ] && [ -x "$plugin" ] && [ -x build/kubelet ] || { echo "test-real.sh: the programs are built by: make test-real" >&2; exit 2; }
unset OVN_NB_DB OVN_SB_DB OVN_RUNDIR OVS_RUNDIR
mkdir -p "$roots"
work=$(mktemp -d /tmp/real.XXXX)
table=$work/table
printf 'kit|step|result|seconds\n' >"$table"
failed=0 running=

# stop ends the kit that runs, by its own script.
stop() {
	[ -n "$running" ] || return 0
	if [ -x "$running/down" ]; then ALL= "$running/down"; else "$running/down.sh"; fi >>"$work/down.log" 2>&1
	running=
}
trap 'stop; [ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# row KIT STEP RESULT START OK: adds a line to the table.
row() {
	printf '%s|%s|%s|%s\n' "$1" "$2" "$3" $((SECONDS - $4)) | tee -a "$table"
	[ "$5" = 0 ] || failed=1
}

# findings FILE [CHECK]: prints the errors and warnings in doctor's JSON, but for a check that the deployment asks for.
findings() {
	python3 -c 'import json, sys
for f in json.load(open(sys.argv[1])).get("findings") or []:
    if f["result"] in ("error", "warning") and f["check"] not in sys.argv[2:]: print(f["check"], f.get("object", {}).get("name", ""))' "$@"
}

# matrix KIT NAME PROGRAM: the kit's table of packets beside what a program says of them, and the causes of lost ones beside
# those of the deployment in testdata that has the same objects.
matrix() {
	local start=$SECONDS log=$work/$1.${2// /-}.log code named
	OVNCTL=$3 VERBOSE=1 "$(ls "$running"/matrix.py "$running"/matrix 2>/dev/null | head -1)" >"$log" 2>&1 && code=0 || code=$?
	row "$1" "packets, trace $2" "$(grep -E '^[0-9]+ tests' "$log" | tail -1)" "$start" "$code"
	[ $code = 0 ] || grep -E '!!|BAD|DIFFERS' "$log" | cut -c1-240
	named=$(scripts/real/causes.py compare testdata/deployments/"$1"-*.packets "$log") && code=0 || code=$?
	row "$1" "causes $2" "$named" "$SECONDS" "$code"
}

# doctor KIT STEP EXPECTED COMMAND...: runs doctor, which has to find nothing but the expected check.
doctor() {
	local start=$SECONDS kit=$1 step=$2 expected=$3 log=$work/$1.${2// /-}.json found
	shift 3
	"$@" doctor -o json >"$log" 2>"$log.err"
	if ! found=$(findings "$log" $expected 2>/dev/null); then found="no answer: $(head -1 "$log.err")"; fi
	[ -z "$found" ]
	local ok=$?
	[ $ok = 0 ] || found="$(wc -l <<<"$found"): $(paste -sd';' <<<"$found" | cut -c1-160)"
	row "$kit" "$step" "${found:-no finding}" "$start" $ok
}

# offline FILE PROGRAM CAPTURE: writes a program that answers from a capture whatever it is told to ask live.
offline() {
	cat >"$1" <<W
#!/bin/bash
args=()
while [ \$# -gt 0 ]; do
	case \$1 in
	--nb | --sb | --node-exec) shift ;;
	*) args+=("\$1") ;;
	esac
	shift
done
exec "$2" --offline "$3" "\${args[@]}"
W
	chmod 755 "$1"
}

# asking FILE COMMAND...: writes a program that asks as causes.py does.
asking() {
	printf '#!/bin/bash\nexec %s "$@"\n' "${*:2}" >"$1"
	chmod 755 "$1"
}

# laptop DIR: the steps of laptop.sh, which needs traces that name the sender's node alone.
laptop() {
	local start=$SECONDS code log=$work/ovnk.laptop.log
	OVNCTL=$ovnctl "$1/matrix.py" >"$work/ovnk.plain.log" 2>&1 || true
	scripts/real/laptop.sh "$1" "$plugin" build/kubelet >"$log" 2>"$log.err" && code=0 || code=$?
	while IFS='|' read -r step result took by; do
		printf 'ovnk|laptop: %s|%s|%s, by hand %s\n' "$step" "$result" "$took" "$by" | tee -a "$table"
	done <"$log"
	row ovnk laptop "$([ $code = 0 ] && echo 'as on the nodes' || tail -1 "$log.err")" "$start" $code
}

# kit NAME NODES EXPECTED: one kit, all steps. on NODE COMMAND... and live (the arguments of ovnctl there) are the kit's own.
kit() {
	local name=$1 nodes=$2 expected=$3 start=$SECONDS node
	local dir=$work/$name
	case $name in
	ovnk) env PFX=tr1 SID="$roots/sid" "$kits/ovnk/up.sh" "$dir" ;;
	*) env PFX=tr${#name} ROOT="$roots/$name" "$kits/$name/up.sh" "$dir" ;;
	esac >"$work/$name.up.log" 2>&1
	local code=$?
	running=$dir
	row "$name" up "$([ $code = 0 ] && echo up || tail -1 "$work/$name.up.log")" "$start" $code
	[ $code = 0 ] || { stop; return; }

	# Inside a node of ovnk, DIR/bin is /opt/lab; the others run programs of the machine.
	# There, a packet that the pod itself answers with a reset has failed; for the others, it arrived.
	local program=$ovnctl there=$dir/bin capture=$dir/bin/capture.tar.gz live=() resets=--resets-arrive
	mkdir -p "$dir/bin"
	cp scripts/real/causes.py "$dir/bin"
	case $name in
	ovnk)
		there=/opt/lab program=/opt/lab/ovnctl.real capture=/opt/lab/capture.tar.gz resets=
		cp "$ovnctl" "$dir/bin/ovnctl.real"
		live=(--node-exec '/opt/lab/probe rexec {hostname}')
		;;
	*)
		local net
		net=$(sed -n 's/^NET=//p' "$dir/kit.conf")
		live=(--nb "tcp:$net.10:6641" --sb "tcp:$net.10:6642" --node-exec "$dir/on {hostname}")
		;;
	esac
	asking "$dir/bin/live" "$there/causes.py" ask $resets "$program"
	matrix "$name" live "$dir/bin/live"
	if [ "$name" = ovnk ]; then
		# The matrix asks on the sender's node: pass it to a node of another zone.
		local other='$(case $(hostname) in ovn-worker) echo ovn-worker2 ;; *) echo ovn-worker ;; esac)'
		asking "$dir/bin/elsewhere" "$there/causes.py" ask /opt/lab/probe rexec "$other" "$program"
		matrix ovnk "from another zone" "$dir/bin/elsewhere"
	fi
	for node in $nodes; do
		doctor "$name" "doctor on $node" "$expected" "$dir/on" "$node" "$program" "${live[@]}"
	done
	start=$SECONDS
	"$dir/on" "${nodes%% *}" "$program" capture "$capture" "${live[@]}" >"$work/$name.capture.log" 2>&1
	code=$?
	row "$name" capture "$(head -1 "$work/$name.capture.log" | cut -c1-120)" "$start" $code
	[ "$name" != ovnk ] || laptop "$dir"
	offline "$dir/bin/offline" "$program" "$there/capture.tar.gz"
	asking "$dir/bin/captured" "$there/causes.py" ask $resets "$there/offline"
	matrix "$name" offline "$dir/bin/captured"
	doctor "$name" "doctor offline" "$expected" "$dir/on" "${nodes%% *}" "$program" --offline "$capture"
	start=$SECONDS
	stop
	row "$name" down "$([ -z "$(ip netns list | grep -E "^tr(1|${#name})-")" ] && echo gone || echo 'namespaces are left')" "$start" 0
}

for name in ${ONLY:-kubeovn neutron ovnk}; do
	case $name in
	ovnk) kit ovnk "ovn-control-plane ovn-worker ovn-worker2" "" ;;
	neutron) kit neutron "compute-1 compute-2 network-1" port-administratively-disabled ;; # the kit disables a port
	kubeovn) kit kubeovn "node1 node2 node3" "" ;;
	*) echo "test-real.sh: no kit $name" >&2; exit 2 ;;
	esac
done
printf '\n'
column -t -s '|' "$table"
[ -z "${KEEP:-}" ] || echo "logs: $work"
[ $failed = 0 ] && echo 'nothing differs' || echo 'something differs'
exit $failed
