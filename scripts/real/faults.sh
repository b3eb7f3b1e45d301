# Sourced by faults-KIT.sh: makes faults on a running kit, one at a time, and verifies that `ovnctl doctor` finds each, with
# nothing beside it that it does not explain, and nothing once it is healed.
#
#   fault NAME CHECK TITLE MAKE [HEAL [PACKET]]
#
# TITLE is a regular expression that the finding's title matches. MAKE and HEAL are shell text. The rows of the Northbound
# are put back without a HEAL. PACKET is what `ovnctl trace` must be right about while the fault is there: the arguments of
# the kit's function sent, then, behind "|", a regular expression for what trace prints if the packet is lost.

set -uo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
kit=$(readlink -f "${1:?usage: $(basename "$0") DIR [NAME...]; OVNCTL=path of ovnctl}")
shift
only=("$@")
ovnctl=$(readlink -f "${OVNCTL:?OVNCTL=path of ovnctl}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
made=0 failed=()
export NB=$kit/central/ovnrun/ovnnb_db.sock

on() { "$kit/on" "$@" </dev/null; }
asked() { on central "$ovnctl" --nb "$nb" --sb "$sb" --node-exec "$kit/on {hostname}" "$@"; }
nbctl() { on central ovn-nbctl --timeout=60 --wait=hv "$@"; }

# found N [CHECK TITLE]: asks doctor up to N times for the fault, or for health.
found() {
	local tries=$1 i
	shift
	for ((i = 0; i < tries; i++)); do
		asked doctor -o json >"$work/report" 2>"$work/errors"
		"$here/found.py" "$@" <"$work/report" >"$work/says" && return 0
		sleep 2
	done
	return 1
}

# argv NODE PIDFILE: the command of a running daemon, one argument a line.
argv() { tr '\0' '\n' <"/proc/$(cat "$kit/$2")/cmdline"; }

# stopped NODE PIDFILE: ends a daemon as the service manager does, and keeps how it was started.
stopped() {
	argv "$1" "$2" >"$work/argv" && kill "$(cat "$kit/$2")"
}

# started NODE: starts what stopped ended.
started() {
	local words
	mapfile -t words <"$work/argv"
	on "$1" "${words[@]}"
}

# followed PACKET: compares trace with the packet.
followed() {
	[ -n "$1" ] || return 0
	local words real=1 said
	read -r -a words <<<"${1%%|*}"
	sent "${words[@]}" >/dev/null 2>&1 && real=0
	traced "${words[@]}" >"$work/trace" 2>&1
	said=$?
	if [ $said != $real ]; then
		echo "NOT EXPECTED: trace says $said, the packet $real: $(head -n 3 "$work/trace")"
	elif [ $real = 1 ] && ! grep -Eq -- "${1#*|}" "$work/trace"; then
		echo "NOT EXPECTED: trace names not ${1#*|}: $(head -n 3 "$work/trace")"
	else
		echo "; trace agrees: $(head -n 1 "$work/trace")"
		return 0
	fi
	return 1
}

fault() {
	local name=$1 check=$2 title=$3 make=$4 heal=${5:-} packet=${6:-}
	if [ ${#only[@]} -gt 0 ] && ! [[ " ${only[*]} " == *" $name "* ]]; then return; fi
	made=$((made + 1))
	"$here/rows.py" save "$work/rows" || exit 1
	eval "$make" >"$work/output" 2>&1
	local code=$?
	"$here/rows.py" save "$work/made" || exit 1
	if [ $code != 0 ]; then
		printf 'FAIL  %-28s could not be made: %s\n' "$name" "$(tail -n 1 "$work/output")"
		failed+=("$name")
	elif found 20 "$check" "$title" && sleep 5 && found 1 "$check" "$title" && followed "$packet" >>"$work/says"; then
		printf 'ok    %-28s %-28s %s\n' "$name" "$check" "$(paste -sd' ' "$work/says")"
	else
		printf 'FAIL  %-28s %-28s\n' "$name" "$check"
		sed 's/^/        /' "$work/says" "$work/errors"
		failed+=("$name")
	fi
	eval "$heal" >"$work/output" 2>&1 || printf 'FAIL  %-28s could not be healed: %s\n' "$name" "$(tail -n 1 "$work/output")"
	[ -n "$heal" ] || "$here/rows.py" restore "$work/rows" "$work/made"
	if ! found 45; then
		printf 'FAIL  %-28s is found after it was healed\n' "$name"
		sed 's/^/        /' "$work/says" "$work/errors"
		failed+=("$name")
	fi
}

# finish prints the sum; it is the exit status.
finish() {
	printf '\n%d faults made, %d not as expected%s\n' "$made" ${#failed[@]} "${failed[*]:+: ${failed[*]}}"
	[ ${#failed[@]} = 0 ] && [ "$made" -gt 0 ]
}
