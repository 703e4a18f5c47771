# What a node's kernel shows of its processes, sockets, cgroups and network namespaces, in sections that begin
# with `== NAME`. A handful of programs for all processes together: one each would take seconds on a busy host.
# Needs GNU grep and find. Of environments only the few variables below are read: the rest is nobody's business.
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
cd /proc || exit
printf 'a\0b' | grep -qaz '^b' || { echo "this takes GNU grep" >&2; exit 3; }
find . -maxdepth 0 -printf '' || exit 3
exec 2>/dev/null # processes come and go

section() { printf '\n== %s\n' "$1"; }

section user
id -u

# A line a process, as in proc_pid_stat(5).
section stat
cat [0-9]*/stat

# PID/task/TID/status:voluntary_ctxt_switches: N, of each thread in uninterruptible sleep
section stuck
find [0-9]*/task -mindepth 2 -maxdepth 2 -name stat -exec grep -lE '^[0-9]+ \(.*\) D ' {} + |
    while read -r at; do grep -H '^voluntary_ctxt_switches:' "${at%/stat}/status"; done

# PID/cmdline:WORD, a line a word.
section words
grep -Haz '' [0-9]*/cmdline | tr '\n\0' ' \n'

# PID/environ:NAME=VALUE
section environment
grep -HazE '^(NOMAD_(ALLOC_ID|JOB_ID|TASK_NAME|PLUGIN_MAGIC_COOKIE)|CSI_ENDPOINT|PLUGIN_UNIX_SOCKET_DIR|TMPDIR)=' \
    [0-9]*/environ | tr '\n\0' ' \n'

# PID/fd/N TARGET and PID/cwd TARGET, where the target is a socket, or is one of an agent's files.
section links
find [0-9]*/cwd [0-9]*/fd -type l -printf '%p %l\n' |
    grep -E ' (socket:|.*/[0-9a-f]{8}-[0-9a-f]{4}-|.*/state\.db$)'

# /proc/net/unix of every network namespace, once each (proc_net(5)).
section unix
find [0-9]*/ns/net -maxdepth 0 -printf '%l %h\n' | sort -u -k1,1 | while read -r _ at; do cat "${at%/ns}/net/unix"; done

# PATH, and one of the processes in it, if any.
section cgroups
find /sys/fs/cgroup -maxdepth 6 -type d -name '????????-????-????-????-????????????*' -path '*/nomad*' |
    while read -r at; do
        read -r first <"$at/cgroup.procs" || first=
        echo "$at $first"
    done

section namespaces
ls /run/netns

section zfs
command -v zpool && command -v zfs && { ls /dev/zfs || grep -lx zfs-fuse [0-9]*/comm; }
section end
