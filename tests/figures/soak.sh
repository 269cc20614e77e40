#!/bin/bash
# Mixed traffic from four clients against one `rdmalab serve`, with 2 % of all packets lost each way, over UDP sockets on
# loopback addresses: no error, no leak, no queue that grows. Prints what was done, and the server's memory as time goes by.
#
# Run by hand: tests/figures/soak.sh RDMALAB [MINUTES]. As root everything happens in a network namespace of its own.
set -euo pipefail
rdmalab=$(realpath "${1:?say where the program rdmalab is}")
minutes=${2:-10}
if [ "$(id -u)" = 0 ] && [ -z "${RDMALAB_SOAK_INSIDE:-}" ]; then
    RDMALAB_SOAK_INSIDE=1 exec unshare --net bash -c 'ip link set lo up; exec "$@"' soak "$0" "$@"
fi
folder=$(mktemp -d)
end=$((SECONDS + minutes * 60))
"$rdmalab" serve --ip 127.0.0.1 --drop-rate 0.02 --every 60 --idle 60 >"$folder/serve.txt" 2>&1 & server=$!
trap 'kill "$server" 2>/dev/null || true; rm -r "$folder"' EXIT
for _ in $(seq 100); do grep -q 'until Ctrl-C' "$folder/serve.txt" && break; sleep 0.1; done

# One client: its address, then the commands that it runs in turn, each with what it needs to be told.
client() {
    local number=$1 done=0; shift
    while [ $SECONDS -lt $end ]; do
        for what in "$@"; do
            # shellcheck disable=SC2086 # the words of a command
            if ! timeout 120 "$rdmalab" ${what/ADDRESS/--ip 127.0.1.$number --drop-rate 0.02} >"$folder/last-$number.txt" 2>&1; then
                printf 'client %s: %s failed:\n' "$number" "$what" >>"$folder/failures.txt"
                cat "$folder/last-$number.txt" >>"$folder/failures.txt"
            fi
            done=$((done + 1))
        done
    done
    echo "$done" >"$folder/done-$number"
}
client 1 "perf write ADDRESS -p 18516 -s 65536 -n 5000 127.0.0.1" "perf read ADDRESS -p 18517 -s 65536 -n 1000 127.0.0.1" &
one=$!
client 2 "perf send ADDRESS -p 18518 -s 65536 -n 1000 127.0.0.1" "perf atomic ADDRESS -p 18519 -n 1000 127.0.0.1" &
two=$!
client 3 "rping -c -a 127.0.0.1 ADDRESS -C 200 -V" &
three=$!
client 4 "pingpong ADDRESS -m 1024 -n 1000 127.0.0.1" "rping -c -a 127.0.0.1 ADDRESS -C 50 -S 4096 -V" &
four=$!
memory() { awk '/VmRSS/ { print $2 }' "/proc/$server/status"; }
while [ $SECONDS -lt $end ]; do
    printf '%4d s  server: %s KiB resident\n' $((SECONDS)) "$(memory)"
    sleep 30
done
wait "$one" "$two" "$three" "$four"
sleep 5
printf 'after  server: %s KiB resident\n' "$(memory)"
for number in 1 2 3 4; do printf 'client %s: %s runs\n' "$number" "$(cat "$folder/done-$number")"; done
kill -INT "$server"
wait "$server" || { echo "the server failed"; cat "$folder/serve.txt"; exit 1; }
tail -40 "$folder/serve.txt"
if [ -e "$folder/failures.txt" ]; then cat "$folder/failures.txt"; exit 1; fi
echo "no failure"
