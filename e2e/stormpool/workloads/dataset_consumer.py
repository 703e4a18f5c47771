"""The task that uses a dataset under a storm: what it does, and what its output says of its lives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stormpool.events import Life, Tried

# Says what it may do, that it begins and in which dataset, and what it finds there; then writes a line a
# tenth of a second, made durable by who wrote it before it is told of, until it is told to stop. Fails after
# so many lines, once in its allocation or always, where that is asked for.
SCRIPT = r"""
trap 'exit 0' INT TERM
life=$(mktemp -u XXXXXXXX)
echo "tries $(id -u) $(cat /etc/shadow 2>/dev/null | wc -l)"
dataset=$(mount | awk -v at="$DATASET" '$3 == at { print $1 }')
echo "begins $life in $dataset"
[ -n "$dataset" ] || exit 3
[ ! -e "$DATASET/writes" ] || awk -v life="$life" '
  $2 == found[$1] + 1 { found[$1]++ }
  END { for (writer in found) print "finds", life, found[writer], writer }' "$DATASET/writes"
n=0
while :; do
  n=$((n + 1))
  line="$NOMAD_ALLOC_ID/$life $n"
  echo "$line" | dd of="$DATASET/writes" oflag=append conv=notrunc,fsync 2>/dev/null || exit 5
  echo "wrote $life $n"
  if [ "$n" = "$FAILS_AT" ] && { [ -n "$ALWAYS" ] || [ ! -e /alloc/failed ]; }; then
    touch /alloc/failed
    exit 7
  fi
  usleep 100000
done"""
TRY = 'echo "tries $(id -u) $(wc -l </etc/shadow)"'  # the same of a task that sees the node as it is

TRIES = re.compile(r"^tries (\d+) (\d+)$", re.MULTILINE)
BEGINS = re.compile(r"^begins (\S+) in ?(\S*)$", re.MULTILINE)
FINDS = re.compile(r"^finds (\S+) (\d+) (\S+)$", re.MULTILINE)
WROTE = re.compile(r"^wrote (\S+) (\d+)$", re.MULTILINE)


def lives_in(output: str, alloc: str, t: int) -> Iterator[Life]:
    """The lives of an allocation's task, by its output as it was at a time of the run."""
    found: dict[str, dict[str, int]] = {}
    for life, count, writer in FINDS.findall(output):
        found.setdefault(life, {})[writer] = int(count)
    wrote = {life: int(count) for life, count in WROTE.findall(output)}
    for number, (life, dataset) in enumerate(BEGINS.findall(output), 1):
        yield Life(t, alloc, life, number, dataset, found.get(life, {}), wrote.get(life, 0))


def tried_in(output: str, alloc: str, task: str, t: int) -> Tried | None:
    """What a task came to with what it tried; None where it said nothing of it."""
    said = TRIES.search(output)
    return Tried(t, alloc, task, int(said[1]), int(said[2])) if said else None
