#!/usr/bin/env bash
# again.sh GO-TEST-COMMAND...: runs the fault labs. It is for them alone: faults are made on real daemons within seconds of
# each other, and an election, or a slow start on a busy machine, is not a fault of the program. No other test is retried.
#
# The rule, for each case (an innermost test) that fails:
#
#  1. It is run once more, alone on a fresh lab, and has to pass.
#  2. A case in scripts/flakes has failed in an earlier run, and is not run once more: the same case in two runs fails.
#  3. No more than 2 % of the cases of a run are run once more (one case, of fewer than a hundred).
#
# A case that passes the second time is printed as a line for scripts/flakes. Commit that line, since the list is all that one
# run knows of another. Whoever repairs the case removes its line.
set -euo pipefail
here=$(dirname "$0")
flakes=$here/flakes

log=$(mktemp)
trap 'rm -f "$log" "$log.again"' EXIT
TESTLOG=$log "$here/test.sh" "$@" && code=0 || code=$?
mkdir -p build
cat "$log" >>"${TESTLOG:-build/test.log}"
[ $code != 0 ] || exit 0
! grep -q '^panic: ' "$log" || exit 1

# innermost lists the tests with one of the results whose names no other name continues.
innermost() {
	sed -nE "s/^ *--- ($1): ([^ ]+) .*/\2/p" "$log" | sort -u |
		awk '{ name[NR] = $0; for (n = $0; sub("/[^/]*$", "", n);) outer[n] = 1 } END { for (i = 1; i <= NR; i++) if (!(name[i] in outer)) print name[i] }'
}
mapfile -t failed < <(innermost FAIL)
cases=$(innermost 'PASS|FAIL' | wc -l)
budget=$((cases / 50 > 1 ? cases / 50 : 1))
if [ ${#failed[@]} = 0 ] || [ ${#failed[@]} -gt $budget ]; then
	printf '\n%d of %d cases failed; %d may be run once more\n' ${#failed[@]} "$cases" $budget
	exit 1
fi
for name in "${failed[@]}"; do
	if grep -qE "^$(printf '%s' "$name" | sed -E 's/[][().*+?^${}|\\]/\\&/g')( |\$)" "$flakes"; then
		printf '\n%s is in %s: it failed in an earlier run too\n' "$name" "$flakes"
		exit 1
	fi
done

# What was drawn is drawn again.
seed=$(sed -nE 's/.*OVNCTL_SEED=([0-9]+).*/\1/p' "$log" | head -1)
export OVNCTL_SEED=${OVNCTL_SEED:-$seed}
for name in "${failed[@]}"; do
	pattern=$(printf '%s' "$name" | sed -E 's/[][().*+?^${}|\\]/\\&/g; s#/#$/^#g')
	printf '\n%s once more, alone:\n' "$name"
	OVNCTL_FAULTS=all TESTLOG=$log.again "$here/test.sh" "$@" -run "^$pattern\$"
	grep -qE '^ *--- PASS' "$log.again" || { echo "$name: it was not run"; exit 1; }
	rm -f "$log.again"
done
printf '\n%d of %d cases passed the second time. Add to %s:\n' ${#failed[@]} "$cases" "$flakes"
printf '%s  # %s\n' "${failed[0]}" "$(date -u +%F)"
for name in "${failed[@]:1}"; do printf '%s  # %s\n' "$name" "$(date -u +%F)"; done
