# Puts links to all that the payload has where it belongs, and makes the lab's directories; idempotent.
# Arguments: the agent's data directory, Python's, then the directories that Python is to import from.
set -eu
data=$1 python=$2
shift 2
cd /lab/payload
while read -r path; do
    mkdir -p "${path%/*}"
    ln -sfn "$PWD/tree$path" "$path"
done <paths
printf '%s\n' "$@" >"$python/stormpool.pth"
mkdir -p /lab/cloud /lab/disk /lab/door /lab/processes "$data"
ln -sfn /dev/mapper /lab/disk/vdevs
