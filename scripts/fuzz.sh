#!/usr/bin/env bash
# fuzz.sh TIME [SHORT] [FLAG...]: runs every fuzz test of the module: those of what others write, the untrusted parsers, for TIME, the
# rest for SHORT, which is TIME unless given, with FLAGs of `go test`. Each that ends gets its line in docs/fuzzing.md, and a few of the inputs that
# took new paths go into its testdata/fuzz. Those that already ran as long on the same code are left out: call it again to go on.
# ONLY='ovsdb FuzzReply|pcap' restricts it to those whose package and name match.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME [SHORT]}
short=${2:-$time}
shift $(($# > 1 ? 2 : 1))
table=docs/fuzzing.md
sources=(cmd internal pkg go.mod go.sum)
untrusted='ovsdb FuzzParseFile|ovsdb FuzzReply|archive FuzzOpen|anonymize FuzzFile|node Fuzz(Unixctl|ParseDatapaths)|snapshot Fuzz.*|openflow Fuzz(Parse(FlowEntry|Dump|DatapathFlow)|SwitchTexts)|ovs FuzzDatapath|ovnexpr Fuzz(Match|Actions)|pcap FuzzRead'
# How many new inputs are kept, and up to which size: all of them run with the unit tests.
kept=8 bytes=1024

seconds() { case $1 in *h) echo $((${1%h} * 3600)) ;; *m) echo $((${1%m} * 60)) ;; *) echo "${1%s}" ;; esac }
[ -z "$(git status --porcelain -- ':!docs' ':!*testdata/fuzz*' "${sources[@]}")" ] || echo 'fuzz.sh: uncommitted changes: the commit of a line is not the code that ran' >&2

# code_of prints what a target is built from, its own package's tests among it, other tests not: the last commit of it, and a hash of its
# contents, by which a line still counts when commits were made anew.
code_of() { # package
	local files
	mapfile -t files < <(
		go list -deps -f '{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}' "./$1" | sed "/^\$/d; s|^$PWD/||"
		ls "$1"/*_test.go
	)
	git log -1 --format=%h --abbrev=10 -- "${files[@]}"
	sha256sum "${files[@]}" | LC_ALL=C sort -k2 | sha256sum | cut -c1-10
}

# seeds copies the smallest new inputs from the cache into the repository.
seeds() { # package name newer-than
	local cache into
	cache=$(go env GOCACHE)/fuzz/$(go list "./$1")/$2 into=$1/testdata/fuzz/$2
	[ -d "$cache" ] || return 0
	find "$cache" -type f -newer "$3" -size -$((bytes + 1))c -printf '%s %p\n' | sort -n | sed -n "1,${kept}p" | while read -r _ input; do
		mkdir -p "$into"
		[ "$(find "$into" -type f | wc -l)" -ge $((3 * kept)) ] || cp "$input" "$into/"
	done
}

# line replaces a target's line in the table, which is sorted.
line() { # package name time executions new
	local rows
	rows=$(grep '^| `' "$table" | grep -v "^| \`$1 $2\` " || true)
	sed -i '/^| `/d' "$table"
	printf '%s\n| `%s %s` | %s | %s | %s | %s | %s |\n' "$rows" "$1" "$2" "$commit" "$code" "$3" "$4" "$5" | sed '/^$/d' | LC_ALL=C sort >>"$table"
}

failed=0
packages=$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal pkg | xargs -r -n1 dirname | sort -u)
[ -n "$packages" ] || { echo 'no fuzz test found' >&2; exit 1; }
for package in $packages; do
	{ read -r commit; read -r code; } < <(code_of "$package")
	for name in $(go test -tags lab -list '^Fuzz' "./$package" | grep '^Fuzz'); do
		[[ "${package##*/} $name" =~ ${ONLY:-.} ]] || continue
		want=$short
		[[ "${package##*/} $name" =~ ^($untrusted)$ ]] && want=$time
		had=$(sed -n "s/^| \`${package//\//\\/} $name\` | [0-9a-f]* | $code | \([0-9]*\) s .*/\1/p" "$table")
		if [ "${had:-0}" -ge "$(seconds "$want")" ]; then
			continue
		fi
		echo "== $package $name"
		log=$(mktemp) began=$(mktemp)
		if go test -tags lab -run '^$' -fuzz "^$name\$" -fuzztime "$want" "$@" "./$package" 2>&1 | tee "$log"; then
			last=$(grep -o 'execs: [0-9]*.*' "$log" | tail -n 1)
			line "$package" "$name" "$(seconds "$want") s" "$(sed 's/execs: \([0-9]*\).*/\1/' <<<"$last")" "$(sed 's/.*new interesting: \([0-9]*\).*/\1/' <<<"$last")"
			seeds "$package" "$name" "$began"
		else
			failed=1
		fi
		rm -f "$log" "$began"
	done
done
exit $failed
