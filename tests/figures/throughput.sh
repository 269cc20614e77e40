#!/bin/bash
# Throughput of 64 KiB WRITEs, side by side with one TCP stream of iperf3 over the same path: over UDP sockets on the loopback
# interface, and over a veth pair with packet sockets. Rounds alternate; the medians are printed.
#
# Run by hand, as root, on a machine that does nothing else: tests/figures/throughput.sh RDMALAB [ROUNDS]
# Everything happens in network namespaces that it makes and removes.
set -euo pipefail
rdmalab=$(realpath "${1:?say where the program rdmalab is}")
rounds=${2:-5}
for program in ip iperf3 setpriv; do command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 2; }; done
a=rdmalab-figures-a-$$ b=rdmalab-figures-b-$$
cleanup() { ip netns del "$a" 2>/dev/null || true; ip netns del "$b" 2>/dev/null || true; }
trap cleanup EXIT
ip netns add "$a"; ip netns add "$b"
for space in "$a" "$b"; do ip -n "$space" link set lo up; done
ip -n "$a" link add veth0 mtu 4200 type veth peer name veth0 netns "$b"
ip -n "$b" link set veth0 mtu 4200 up; ip -n "$a" link set veth0 up
ip -n "$a" address add 10.8.0.1/24 dev veth0; ip -n "$b" address add 10.8.0.2/24 dev veth0
# Until the pair carries frames.
sleep 2
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all"

# write SPACE PREFIX SERVER_OPTIONS : SPACE PREFIX CLIENT_OPTIONS -> MiB/s
write() { # server-space client-space prefix server-options client-options server-address operation
    timeout 60 ip netns exec "$1" $3 "$rdmalab" perf "$7" $4 -s 65536 -D 3 >/dev/null 2>&1 & local server=$!
    sleep 0.7
    timeout 60 ip netns exec "$2" $3 "$rdmalab" perf "$7" $5 -s 65536 -D 3 "$6" 2>/dev/null | awk '$1 == 65536 { print $4 }'
    wait "$server" || true
}
iperf() { # server-space client-space address
    timeout 60 ip netns exec "$1" iperf3 -s -1 -B "$3" >/dev/null 2>&1 & local server=$!
    sleep 0.7
    timeout 60 ip netns exec "$2" iperf3 -c "$3" -t 3 -f m | awk '/receiver/ { print $7 / 8 / 1.048576 }'
    wait "$server" || true
}
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.0f", v[int((NR + 1) / 2)]; else printf "none" }'; }

out=$(mktemp -d)
for _ in $(seq "$rounds"); do
    iperf "$a" "$a" 127.0.0.1 >>"$out/iperf3, loopback"
    write "$a" "$a" "" "--ip 127.0.0.1" "--ip 127.0.0.2" 127.0.0.1 write >>"$out/WRITE, UDP sockets, loopback, root"
    write "$a" "$a" "$nobody" "--ip 127.0.0.1" "--ip 127.0.0.2" 127.0.0.1 write >>"$out/WRITE, UDP sockets, loopback, nobody"
    write "$a" "$a" "" "--ip 127.0.0.1" "--ip 127.0.0.2" 127.0.0.1 read >>"$out/READ, UDP sockets, loopback, root"
    iperf "$b" "$a" 10.8.0.2 >>"$out/iperf3, veth"
    write "$b" "$a" "" "--ip 10.8.0.2" "--ip 10.8.0.1" 10.8.0.2 write >>"$out/WRITE, UDP sockets, veth, root"
    write "$b" "$a" "" "--interface veth0 --ip 10.8.0.12/24" "--interface veth0 --ip 10.8.0.11/24" 10.8.0.12 write \
        >>"$out/WRITE, packet sockets, veth"
done
printf '| what | median of %s, MiB/s | of iperf3 on the same path |\n|---|---|---|\n' "$rounds"
for path in loopback veth; do
    base=$(median <"$out/iperf3, $path")
    for file in "$out"/*"$path"*; do
        value=$(median <"$file")
        printf '| %s | %s | %s |\n' "$(basename "$file")" "$value" "$(awk -v v="$value" -v b="$base" 'BEGIN { printf "%.2f", v / b }')"
    done
done
rm -r "$out"
