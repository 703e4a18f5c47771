# Moves itself into the cgroups named before "--", then becomes the command after it.
set -eu
while [ "$1" != -- ]; do
    echo 0 >"$1/cgroup.procs"
    shift
done
shift
exec "$@"
