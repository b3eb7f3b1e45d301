#!/bin/sh
# install.sh [demo|machine|kubernetes|prometheus|packages]: installs what the tests need on a Debian machine, if it is missing, without starting
# the packaged services; only what the lab of the demo needs; or with it what boots a machine under QEMU (package machine), what an API server
# needs (package kubernetes), Prometheus with promtool, or what reads RPMs.
set -eu

packages="openvswitch-switch openvswitch-common ovn-central ovn-host ovn-common iproute2 iputils-ping ethtool nftables iptables openssl debootstrap ca-certificates"
if [ "${1:-}" != demo ]; then
	packages="$packages ovn-ic ovn-ic-db tcpdump openssh-client openssh-server python3-openvswitch python3-netaddr python3-pyparsing chromium fonts-dejavu-core hugo"
	command -v npm >/dev/null || packages="$packages npm" # fetches axe-core
fi
[ "${1:-}" != machine ] || packages="$packages qemu-system-x86 e2fsprogs"
if [ "${1:-}" = kubernetes ]; then
	packages="$packages etcd-server"
	command -v kubectl >/dev/null || packages="$packages kubernetes-client" # others package it, too
fi
[ "${1:-}" != prometheus ] || packages="$packages prometheus"
[ "${1:-}" != packages ] || packages="$packages rpm"

missing=
for p in $packages; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "install.sh: root is needed to install:$missing" >&2
	exit 1
fi

# The labs start daemons themselves, in their namespaces. policy-rc.d is how a Debian machine says that a package must not.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086 # a list of words
apt-get install -q -y --no-install-recommends $missing

# With policy-rc.d the services are not started now; they must not come up at the next boot either.
if [ -d /run/systemd/system ]; then
	for p in openvswitch-switch ovn-central ovn-host ovn-ic ovn-ic-db etcd-server openssh-server prometheus; do
		unit=${p%-server}
		[ "$p" != openssh-server ] || unit=ssh
		case " $missing " in
		*" $p "*) systemctl disable "$unit" >/dev/null 2>&1 || true ;;
		esac
	done
fi
