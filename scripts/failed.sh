#!/usr/bin/env bash
# failed.sh [LOG]: the tests that failed in a log that test.sh wrote, each with the first lines that it said. Whoever sees no more
# than the end of a long run sees these.
set -euo pipefail
log=${1:-build/test.log}
[ -f "$log" ] || exit 0
sed -nE 's/^ *--- FAIL: ([^ ]+) .*/\1/p' "$log" | sort -u | while read -r name; do
	printf '%s failed\n' "$name"
	awk -v name="$name" '/^=== / { on = ($2 == "RUN" || $2 == "NAME") && $3 == name; next } /^ *--- / { on = 0 } on && !/OVNCTL_(SEED|TURN)=/' "$log" |
		cut -c1-300 | head -5 || true
done
