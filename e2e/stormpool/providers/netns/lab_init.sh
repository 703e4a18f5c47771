# Becomes the lab's init, in new mount, pid and network namespaces.  Only this init lives in them; nodes nest
# inside.  /run becomes the lab's own memory, where the nodes' disks are, and lab0 the network between them.
# Arguments: how large the disks may grow, the directory shared with the harness.
set -eu
mount -t tmpfs -o "mode=755,size=$1" stormpool /run
mkdir -p /run/lab/cloud /run/lab/disks /run/lab/roots /run/lab/door
mount --bind "$2" /run/lab/door
ip -batch - <<EOF
link set lo up
link add lab0 type bridge
link set lab0 up
EOF
echo up
exec tini -s -- cat >/dev/null
