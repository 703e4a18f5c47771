# Becomes the lab's init, in new mount, pid, network and host-name namespaces, with a libvirt that only the lab
# sees.  What libvirt would write on the host lands in the lab's own memory: /run is the lab's, /etc and /var
# are the host's with the lab's changes over them.
# Arguments: how large disks and snapshots may grow.
set -eu
mount -t tmpfs -o "mode=755,size=$1" stormpool /run
mkdir -p /run/lab/door /run/lab/ways /run/lab/consoles
for directory in etc var; do
    changes=/run/lab/changes/$directory
    mkdir -p "$changes/upper" "$changes/work"
    mount -t overlay -o "lowerdir=/$directory,upperdir=$changes/upper,workdir=$changes/work" overlay "/$directory"
done
mkdir -p /etc/libvirt /var/lib/libvirt/images /var/cache/libvirt /var/log/libvirt
# libvirt looks these up as it starts, though all here runs as root.
grep -q ^libvirt-qemu: /etc/passwd || echo 'libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin' >>/etc/passwd
grep -q ^libvirt-qemu: /etc/group || echo 'libvirt-qemu:x:64055:' >>/etc/group
cat >/etc/libvirt/qemu.conf <<EOF
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
seccomp_sandbox = 0
stdio_handler = "file"
dynamic_ownership = 0
EOF
printf 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n' >/etc/libvirt/libvirtd.conf
ip link set lo up
libvirtd --daemon 2>/run/lab/libvirtd.log || { cat /run/lab/libvirtd.log >&2 && exit 1; }
echo up
exec tini -s -- cat >/dev/null
