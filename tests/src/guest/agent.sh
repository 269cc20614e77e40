# Runs in the guest on the host's root, from the share /mnt. /mnt/setup.sh makes the interface and the RDMA device;
# then each NAME.cmd that appears is run, several at once, leaving NAME.out, NAME.err and, last of all, NAME.status.
# NAME.end ends one early. The host may end the guest at any time: nothing here is worth keeping.
shopt -s nullglob
cd /mnt
ip link set lo up
if ! bash setup.sh; then
    echo "setup.sh failed"
    exit
fi

execute() {
    local name=$1 limit
    # The first line is the limit in seconds: no command of the guest outlives it.
    read -r limit <"$name.run"
    tail -n +2 "$name.run" >"$name.sh"
    timeout --kill-after=2 "$limit" bash "$name.sh" >"$name.out" 2>"$name.err" </dev/null &
    echo $! >"$name.pid"
    wait $!
    echo $? >"$name.status.part"
    mv "$name.status.part" "$name.status"
}

# Waiting for a pipe that nobody writes costs less than starting `sleep` each time.
mkfifo /run/nothing
exec 9<>/run/nothing
: >ready
until [ -e stop ]; do
    for command in *.cmd; do
        name=${command%.cmd}
        mv "$command" "$name.run"
        execute "$name" &
    done
    for end in *.end; do
        # timeout hands the signal on to all it has started.
        kill -TERM "$(<"${end%.end}.pid")" && rm "$end"
    done
    read -r -t 0.05 -u 9
done
