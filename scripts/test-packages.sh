#!/usr/bin/env bash
# test-packages.sh [SUITE]: installs the Debian package in dist/ with apt-get in a clean root of a Debian suite, uses it there as a
# newcomer would, removes it, and compares what it installed with the RPM. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${INSIDE:-}" != 1 ]; then # mounts and processes of the root end with this script
	exec env INSIDE=1 unshare --mount --propagation private --pid --fork --kill-child --mount-proc -- "$0" "$@"
fi

suite=${1:-bookworm}
deb=$(echo dist/ovnctl_*_"$(dpkg --print-architecture)".deb)
rpm=$(echo dist/ovnctl-*."$(uname -m)".rpm)
work=$(mktemp -d)
trap 'umount -R "$work" 2>/dev/null || true; rm -rf "$work"' EXIT
mount -t tmpfs -o mode=755,size=2G packages "$work"
root=$work/root

step() { printf '\n== %s\n' "$*"; }
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
# has TEXT: standard input contains it.
has() {
	cat >"$work/output"
	grep -qF -- "$1" "$work/output" || {
		cat "$work/output"
		fail "no $1"
	}
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=xterm DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} "$@"; }
# files: what is in the root, but for what apt, dpkg and man write of all packages.
files() { inside find / -xdev \( -path /proc -o -path /dev -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log -o -path /tmp \) -prune -o -print | sort; }

step "a clean root of $suite"
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)
debootstrap --variant=minbase --include=man-db,bash-completion "$suite" "$root" "$mirror" >"$work/log" 2>&1 || {
	tail -20 "$work/log"
	fail "no root"
}
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp "$deb" "$root/tmp/"
files >"$work/before"

step "apt-get install ./$(basename "$deb")"
inside apt-get install -y -q "/tmp/$(basename "$deb")" 2>&1 | tail -3
inside ovnctl version | has ovnctl
[ -z "$(inside dpkg --verify ovnctl)" ] || fail "dpkg --verify"

step "man pages"
for page in ovnctl ovnctl-topology-show ovnctl-trace ovnctl-doctor ovnctl-fix-undo; do
	inside man -P cat "$page" 2>/dev/null | tr -d '\b' | has "$page"
done
for page in $(inside sh -c 'cd /usr/share/man/man8 && ls ovnctl*.8.gz'); do
	[ -z "$(inside man --warnings -E UTF-8 -l -Tutf8 -Z "/usr/share/man/man8/$page" 2>&1 >/dev/null)" ] || fail "man has warnings about $page"
done

step "completion of bash"
# complete LINE: the words that bash offers at its end.
complete() {
	inside bash -c '. /usr/share/bash-completion/bash_completion
		{ _comp_load ovnctl || _completion_loader ovnctl; } 2>/dev/null
		read -ra COMP_WORDS <<<"$1"
		[ "${1% }" = "$1" ] || COMP_WORDS+=("")
		COMP_LINE=$1 COMP_POINT=${#1} COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
		COMPREPLY=()
		__start_ovnctl ovnctl 2>/dev/null # compopt: bash itself does not ask
		printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
complete 'ovnctl doc' | has doctor
complete 'ovnctl trace --offline demo shop/cl' | has shop/client
complete 'ovnctl topology show -o ' | has json

step "ovnctl --offline demo doctor"
code=0
inside ovnctl --offline demo doctor >"$work/doctor" 2>&1 || code=$?
head -8 "$work/doctor"
[ $code = 1 ] || fail "exit $code: the demo has faults, which are exit 1"
inside ovnctl --offline demo trace shop/client shop/web-2 | has shop/web-2
inside ovnctl explain uplink-not-in-bridge >/dev/null

step "apt-get purge"
inside apt-get purge -y -q ovnctl >/dev/null 2>&1
files >"$work/after"
diff "$work/before" "$work/after" || fail "it leaves files"

step "the RPM has the same files"
mkdir "$work/deb" "$work/rpm"
dpkg-deb -x "$deb" "$work/deb"
rpm2archive -n <"$rpm" | tar -x -C "$work/rpm" # tar takes the slash off its names, cpio would write to this machine
rpm -qlp "$rpm" 2>/dev/null | sort >"$work/listed"
(cd "$work/rpm" && find . -type f -o -type l) | sed 's/^\.//' | sort >"$work/unpacked"
diff <(while read -r path; do [ -d "$work/rpm$path" ] || echo "$path"; done <"$work/listed") "$work/unpacked" || fail "rpm -qlp lists other files than it unpacks"
# Where the two families of distributions keep the same file.
move() {
	mkdir -p "$(dirname "$work/deb$2")"
	mv "$work/deb$1" "$work/deb$2"
}
move /lib/systemd/system/ovnctl-exporter.service /usr/lib/systemd/system/ovnctl-exporter.service
move /usr/share/zsh/vendor-completions/_ovnctl /usr/share/zsh/site-functions/_ovnctl
move /usr/share/doc/ovnctl/copyright /usr/share/licenses/ovnctl/LICENSE
find "$work/deb" -type d -empty -delete
diff -r "$work/deb" "$work/rpm" || fail "they differ"
echo "$(wc -l <"$work/unpacked") files are equal"

echo
echo "ok: $(basename "$deb") on $suite, $(basename "$rpm")"
