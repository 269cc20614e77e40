#!/bin/bash
# Many clients of all kinds at once against one `rdmalab serve`, over UDP sockets on loopback addresses: what fails, and how
# long it takes until the last has ended. Each client is a process with a device of its own.
#
# Run by hand: tests/figures/clients.sh RDMALAB [CLIENTS...]. As root everything happens in a network namespace of its own.
set -euo pipefail
rdmalab=$(realpath "${1:?say where the program rdmalab is}")
shift
[ $# -gt 0 ] || set -- 1 8 24 64 200
if [ "$(id -u)" = 0 ] && [ -z "${RDMALAB_CLIENTS_INSIDE:-}" ]; then
    RDMALAB_CLIENTS_INSIDE=1 exec unshare --net bash -c 'ip link set lo up; exec "$@"' clients "$0" "$rdmalab" "$@"
fi
server=127.0.0.1
kinds=(
    "perf write -p 18516 -s 65536 -n 1000 OWN $server" "pingpong OWN -p 18515 $server"
    "rping -c -a $server OWN -C 100 -S 4096 -V" "perf read -p 18517 -s 65536 -n 1000 OWN $server"
    "pingpong OWN --transport uc -p 18524 $server" "perf send -p 18518 -s 65536 -n 1000 OWN $server"
    "pingpong OWN --transport ud -p 18525 $server" "pingpong OWN --transport srq -p 18526 $server"
    "ucmatose -s $server OWN" "perf write --lat -p 18520 -s 2 -n 1000 OWN $server"
    "perf atomic -p 18519 -n 1000 OWN $server"
)
folder=$(mktemp -d)
"$rdmalab" serve --ip $server --every 60 >"$folder/serve.txt" 2>&1 & host=$!
trap 'kill "$host" 2>/dev/null || true; rm -r "$folder"' EXIT
for _ in $(seq 100); do grep -q 'until Ctrl-C' "$folder/serve.txt" && break; sleep 0.1; done
for count in "$@"; do
    clients=() failed=0 start=$(date +%s%N)
    for ((number = 0; number < count; number++)); do
        what=${kinds[number % ${#kinds[@]}]}
        # shellcheck disable=SC2086 # the words of a command
        "$rdmalab" ${what/OWN/--ip 127.0.$((1 + number / 250)).$((1 + number % 250))} >"$folder/$number.txt" 2>&1 &
        clients+=($!)
    done
    for number in "${!clients[@]}"; do
        wait "${clients[number]}" && continue
        failed=$((failed + 1))
        printf '    %s: %s\n' "${kinds[number % ${#kinds[@]}]%% OWN*}" "$(tail -1 "$folder/$number.txt")"
    done
    time=$((($(date +%s%N) - start) / 1000000))
    # Of the port 4791, which /proc writes in hexadecimal.
    lost=$(awk '$2 == "0100007F:12B7" { print $NF }' /proc/net/udp)
    printf '%d clients: %d failed, %d.%03d s; the server'"'"'s socket has lost %s datagrams so far\n' \
        "$count" "$failed" $((time / 1000)) $((time % 1000)) "${lost:-?}"
done
