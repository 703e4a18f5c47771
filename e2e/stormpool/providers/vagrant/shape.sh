# Has a card's packets pass a shaper both ways: what comes in is shaped as it leaves a device in between
# (tc-mirred(8)).  Arguments: the card, the device in between, then what netem is to do; nothing: no shaping.
card=$1 between=$2
shift 2
if [ $# = 0 ]; then
    tc qdisc del dev "$card" root
    tc qdisc del dev "$card" ingress
    ip link del "$between"
    exit 0
fi
set -e
modprobe -a ifb sch_netem
if ! tc filter show dev "$card" parent ffff: 2>/dev/null | grep -q "$between"; then # the last thing that is made
    [ -e "/sys/class/net/$between/ifindex" ] || ip link add "$between" type ifb
    ip link set "$between" up
    tc qdisc replace dev "$card" ingress
    tc filter replace dev "$card" parent ffff: protocol all prio 1 u32 match u32 0 0 \
        action mirred egress redirect dev "$between"
fi
tc qdisc replace dev "$card" root "$@"
tc qdisc replace dev "$between" root "$@"
