# Runs in the guest on the host's root, from the share /mnt. /mnt/setup.sh makes the interface and the RDMA device;
# then each NAME.cmd that appears is run, several at once, leaving NAME.out, NAME.err and, last of all, NAME.status.
# NAME.end ends one early. The host may end the guest at any time: nothing here is worth keeping.
#
# The guest has one slow processor, and starting a program costs it a lot: the loop below starts none.
shopt -s nullglob
cd /mnt
ip link set lo up
if ! bash setup.sh; then
    echo "setup.sh failed"
    exit
fi

execute() {
    local name=$1 limit
    # The first line is a comment with the limit in seconds: no command of the guest outlives it.
    read -r _ limit <"$name.cmd"
    timeout --kill-after=2 "$limit" bash "$name.cmd" >"$name.out" 2>"$name.err" </dev/null &
    echo $! >"$name.pid"
    wait $!
    # In one write, with a line feed at its end, by which the host knows that it is whole.
    echo $? >"$name.status"
}

# Waiting for a pipe that nobody writes stands in for `sleep`.
mkfifo /run/nothing
exec 9<>/run/nothing
declare -A taken
: >ready
until [ -e stop ]; do
    for command in *.cmd; do
        name=${command%.cmd}
        if [ -z "${taken[$name]}" ]; then
            taken[$name]=yes
            execute "$name" &
        fi
    done
    for end in *.end; do
        # timeout hands the signal on to all it has started.
        kill -TERM "$(<"${end%.end}.pid")" && rm "$end"
    done
    read -r -t 0.05 -u 9
done
