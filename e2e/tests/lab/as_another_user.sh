# Runs a command as an ordinary user, in a mount namespace in which such a user finds what a stock Debian desktop
# gives: a /dev/fuse for everybody, and a Python and caches that can be read, wherever root keeps them. Nothing
# of the host is changed. Arguments: a user id, the directories to be read, "--", the command.
set -eu
uid=$1
shift
mount -t tmpfs -o mode=755 tmpfs /mnt
mknod /mnt/fuse c 10 229
chmod 0666 /mnt/fuse
mount --bind /mnt/fuse /dev/fuse
mkdir /mnt/root
mount --rbind /root /mnt/root
mount -t tmpfs -o mode=755 tmpfs /root
while [ "$1" != -- ]; do
    case $1 in
    /root/*)
        mkdir -p "$1"
        mount --bind "/mnt$1" "$1"
        ;;
    esac
    shift
done
shift
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
