# Runs in the guest on the host's root, from the share /mnt. /mnt/setup.sh makes the interface and the RDMA device.
# Then orders come on the second serial port, a line each: `run NAME` runs NAME.cmd, several at once, leaving NAME.out,
# NAME.err and, last of all, NAME.status; `end NAME` ends one early; `stop` ends the guest. The host may end the
# guest at any time: nothing here is worth keeping.
#
# The guest has one slow processor, and starting a program costs it a lot: what waits here starts none and
# takes no time.
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

end_early() {
    # It may have been started just now.
    until [ -s "$1.pid" ]; do read -r -t 0.05 -u 9; done
    # timeout hands the signal on to all it has started.
    [ -e "$1.status" ] || kill -TERM "$(<"$1.pid")"
}

exec 8</dev/ttyS1
# Line by line: of a terminal, bash would else read ahead, and a `read` of a job would find what it has.
stty raw icanon -echo 115200 <&8
: >ready
while read -r order name <&8; do
    case $order in
    run) execute "$name" 8<&- & ;;
    end) end_early "$name" 8<&- & ;;
    stop) break ;;
    esac
done
