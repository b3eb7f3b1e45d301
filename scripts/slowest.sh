#!/usr/bin/env bash
# slowest.sh [LOG]: the 20 slowest tests of a log that test.sh wrote, of those that have no tests within them.
set -euo pipefail
awk '
	match($0, /^ *--- (PASS|FAIL): /) { n = $3; took[n] = substr($4, 2) + 0; while (sub("/[^/]*$", "", n)) outer[n] = 1 }
	/^(ok|FAIL)[ \t]+[^ \t]/ {
		for (n in took) if (!(n in outer)) printf "%8.1f s  %s  %s\n", took[n], $2, n
		delete took; delete outer
	}
' "${1:-build/test.log}" | sort -rn | awk 'NR <= 20'
