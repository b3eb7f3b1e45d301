#!/usr/bin/env bash
# turn.sh: prints the number of this run of the tests, by which the slow ones take turns: one more than the last on this
# machine, or the number of commits where there was none.
set -euo pipefail
cd "$(dirname "$0")/.."
last=${XDG_CACHE_HOME:-$HOME/.cache}/ovnctl/turn
mkdir -p "$(dirname "$last")"
turn=$(cat "$last" 2>/dev/null || git rev-list --count HEAD)
echo $((turn + 1)) | tee "$last"
