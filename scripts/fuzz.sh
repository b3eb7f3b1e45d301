#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz test of the module for TIME, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME}

packages=$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal pkg | xargs -r -n1 dirname | sort -u)
[ -n "$packages" ] || { echo 'no fuzz test found' >&2; exit 1; }
for package in $packages; do
	for name in $(go test -tags lab -list '^Fuzz' "./$package" | grep '^Fuzz'); do
		echo "== $package $name"
		go test -tags lab -run '^$' -fuzz "^$name\$" -fuzztime "$time" "./$package"
	done
done
