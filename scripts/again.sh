#!/usr/bin/env bash
# again.sh GO-TEST-COMMAND...: runs tests; what fails is run once more, alone on fresh labs, and has to pass
# then. Faults are made on real daemons within seconds of each other: an election, or a start that takes long on a busy machine, is not
# a fault of the program. What was run twice is printed.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

if "$@" -v >"$log" 2>&1; then
	grep -E '^(---|ok)|OVNCTL_SEED|cases, ' "$log"
	exit 0
fi
grep -E '^(---|ok|FAIL)|OVNCTL_SEED|cases, ' "$log" | sed 's/^/first try: /'
if grep -q '^panic: ' "$log"; then
	grep -A100 '^panic: ' "$log" | head -200
	exit 1
fi

# The innermost tests that failed: no other name goes on from theirs.
mapfile -t failed < <(sed -nE 's/^ *--- FAIL: ([^ ]+) .*/\1/p' "$log" | sort -u |
	awk '{ all[NR] = $0 } END { for (i = 1; i <= NR; i++) { inner = 1; for (j = 1; j <= NR; j++) if (index(all[j], all[i] "/") == 1) inner = 0; if (inner) print all[i] } }')
if [ ${#failed[@]} = 0 ] || [ ${#failed[@]} -gt 12 ]; then
	tail -200 "$log"
	exit 1
fi
# What was drawn is drawn again.
seed=$(sed -nE 's/.*OVNCTL_SEED=([0-9]+).*/\1/p' "$log" | head -1)
export OVNCTL_SEED=${OVNCTL_SEED:-$seed}
for name in "${failed[@]}"; do
	printf '\n%s failed:\n' "$name"
	# What a test says stands below its name, wherever it had its turn.
	awk -v name="$name" '/^=== / { on = ($2 == "RUN" || $2 == "NAME") && $3 == name; next } /^ *--- / { on = 0 } on' "$log" | cut -c1-400 | head -40
	grep -F -A25 -- "--- FAIL: $name " "$log" | cut -c1-400 | head -40 || true
	pattern=$(printf '%s' "$name" | sed -E 's/[][().*+?^${}|\\]/\\&/g; s#/#$/^#g')
	printf '%s once more, alone:\n' "$name"
	OVNCTL_FAULTS=all "$@" -v -run "^$pattern\$" >"$log.again" 2>&1 || { grep -vE '^(testing: warning|PASS|ok|\?)' "$log.again" | cut -c1-1000 | tail -100; exit 1; }
	grep -qE '^ *--- PASS' "$log.again" || { echo "$name: it was not run"; exit 1; }
	grep -E '^ok' "$log.again"
	rm -f "$log.again"
done
printf '\n%d tests passed at the second try\n' ${#failed[@]}
