# Starts a command in a session of its own, with its outputs in a file, and says its pid.  A shell waits for it, and
# writes down how it ended: neither knows of the connection it was started over.
# Arguments: a directory, then the command.
mkdir -p "$1"
cd "$1"
shift
setsid sh -c '
    "$@" >>log 2>&1 </dev/null &
    echo $! >pid.new
    mv pid.new pid
    wait $!
    echo $? >code.new
    mv code.new code' sh "$@" >/dev/null 2>&1 </dev/null &
until [ -s pid ]; do sleep 0.02; done
cat pid
