#!/usr/bin/env bash
# test.sh GO-TEST-COMMAND...: runs tests. Prints the closing line of each package, what was drawn, and the output of the tests
# that failed. The whole output is added to $TESTLOG, from which slowest.sh reads.
set -euo pipefail

log=${TESTLOG:=build/test.log}
mkdir -p "$(dirname "$log")"
run=$(mktemp)
trap 'cat "$run" >>"$log"; rm -f "$run"' EXIT

code=0
"$@" -v 2>&1 | tee "$run" | { grep --line-buffered -E '^(ok|FAIL|panic:)|OVNCTL_(SEED|TURN)|cases, |build failed' || true; } || code=$?
[ $code != 0 ] || exit 0

if grep -q '^panic: ' "$run"; then
	grep -A200 '^panic: ' "$run" | head -200 || true
fi
# What a test says stands below its name, wherever it had its turn.
sed -nE 's/^ *--- FAIL: ([^ ]+) .*/\1/p' "$run" | sort -u | while read -r name; do
	printf '\n%s failed:\n' "$name"
	awk -v name="$name" '/^=== / { on = ($2 == "RUN" || $2 == "NAME") && $3 == name; next } /^ *--- / { on = 0 } on' "$run" | cut -c1-1000 | head -60 || true
	grep -F -A25 -- "--- FAIL: $name " "$run" | cut -c1-1000 | head -40 || true
done
grep -q -- '--- FAIL' "$run" || tail -100 "$run" # it did not compile, or did not end
exit $code
