# prepare.sh ROOT KEY: makes a root file system that debootstrap wrote boot by itself. KEY is the public key that may log in.
# It may be run again.
root=$1
key=$2

echo machine >"$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 machine\n::1 localhost\n' >"$root/etc/hosts"
printf '/dev/nvme0n1 / ext4 noatime 0 1\n/dev/vda /payload ext4 noatime,nofail,x-systemd.device-timeout=15min 0 2\n' >"$root/etc/fstab"
mkdir -p "$root/payload" "$root/root/.ssh" "$root/etc/systemd/system" "$root/etc/systemd/network" "$root/etc/NetworkManager/conf.d" "$root/etc/sysctl.d"
chmod 700 "$root/root/.ssh"
printf '%s\n' "$key" >"$root/root/.ssh/authorized_keys"

# The labs and tests start what they need: at boot nothing configures the network or starts Open vSwitch and OVN.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
rm -f "$root"/etc/systemd/system/ovn-*.service
for unit in openvswitch-switch ovn-central ovn-host ssh NetworkManager systemd-networkd networking docker containerd lxc lxc-net podman podman-restart; do
	chroot "$root" systemctl disable -q "$unit" 2>/dev/null || true
done
for unit in systemd-networkd-wait-online NetworkManager-wait-online apt-daily.timer apt-daily-upgrade.timer man-db.timer dpkg-db-backup.timer \
	e2scrub_all.timer e2scrub_reap fstrim.timer systemd-timesyncd getty@tty1 getty-static; do
	case $unit in *.*) ;; *) unit=$unit.service ;; esac
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

# The way in: a link of its own that no network service touches, and a server on it that waits for none of them. Port 22 of all
# addresses is for the machine's own server.
printf '[Match]\nMACAddress=52:54:00:00:00:02\n\n[Link]\nName=mgmt\n' >"$root/etc/systemd/network/05-mgmt.link"
printf '[Match]\nName=mgmt\n\n[Link]\nUnmanaged=yes\n' >"$root/etc/systemd/network/05-mgmt.network"
printf '[keyfile]\nunmanaged-devices=interface-name:mgmt\n' >"$root/etc/NetworkManager/conf.d/mgmt.conf"
cat >"$root/etc/systemd/system/mgmt.service" <<'U'
[Unit]
Description=The way into this machine
DefaultDependencies=no
After=local-fs.target
Conflicts=shutdown.target
Before=shutdown.target

[Service]
ExecStartPre=sh -c 'until ip link show mgmt; do sleep 1; done'
ExecStartPre=ip link set lo up
ExecStartPre=ip link set mgmt up
ExecStartPre=ip addr replace 10.0.3.15/24 dev mgmt
ExecStart=/usr/sbin/sshd -D -o PidFile=none -o ListenAddress=10.0.3.15:2222 -o UsePAM=no -o UseDNS=no
RuntimeDirectory=sshd
RuntimeDirectoryPreserve=yes
KillMode=process
TimeoutStartSec=infinity
Restart=on-failure

[Install]
WantedBy=multi-user.target
U
chroot "$root" systemctl enable -q mgmt

# No gre0, sit0 and the like in every namespace of a lab.
echo 'net.core.fb_tunnels_only_for_init_net = 2' >"$root/etc/sysctl.d/50-lab.conf"
