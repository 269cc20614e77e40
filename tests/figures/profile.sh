#!/bin/bash
# Where the time of 64 KiB WRITEs over UDP sockets goes, on the sending and on the receiving side, by groups of functions.
#
# Run by hand, as root, with `perf` (package linux-perf): tests/figures/profile.sh RDMALAB [SECONDS]
# Everything happens in a network namespace of its own. Of the kernel, what it does for these two processes counts.
set -euo pipefail
rdmalab=$(realpath "${1:?say where the program rdmalab is}")
seconds=${2:-7}
for program in perf unshare; do command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 2; }; done
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
# By their own names, the two are told apart, and from other processes.
cp "$rdmalab" "$folder/receiver"; cp "$rdmalab" "$folder/sender"
export folder seconds
unshare --net bash -c '
    ip link set lo up
    timeout 60 "$folder/receiver" perf write --ip 127.0.0.1 -s 65536 -D $((seconds + 3)) >"$folder/receiver.txt" 2>&1 &
    sleep 0.7
    timeout 60 "$folder/sender" perf write --ip 127.0.0.2 -s 65536 -D $((seconds + 3)) 127.0.0.1 >"$folder/sender.txt" 2>&1 &
    sleep 1.5
    perf record -a -e cpu-clock -F 1999 -o "$folder/data" -- sleep "$seconds" >/dev/null 2>&1
    wait
'
perf script -i "$folder/data" -F pid,ip,sym,dso 2>/dev/null >"$folder/samples"
# A sample is "PID ADDRESS SYMBOL (DSO)". The threads of a process share its number, whatever they are called.
awk '
    function group(symbol, dso) {
        if (symbol ~ /crc32fast|icrc/) return "ICRC"
        if (symbol ~ /HeapMemory/ || symbol ~ /mem(move|cpy)/) return "copies, ours"
        if (symbol ~ /^_?copy_(from|to)_iter|rep_movs|copy_user/) return "copies, the kernel"
        if (symbol ~ /futex|[Mm]utex|Condvar|pthread|eventfd|poller|Notices|do_sys_poll|udp_poll|sock_poll|pollwait|schedule|finish_task_switch/)
            return "locks and waiting"
        if (dso ~ /kernel|vdso|bpf/) return "the kernel but for that"
        if (symbol ~ /rdmalab_(roce|verbs|wire)/) return "state machines and headers"
        if (symbol ~ /rdmalab_(device|net|host|cm)|nix::|sendmsg|recvmsg/) return "device and sockets"
        return "rest"
    }
    NR == FNR { if (match($0, /\/(sender|receiver)\)$/)) role[$1] = substr($0, RSTART + 1, RLENGTH - 2); next }
    $1 in role {
        dso = $NF; symbol = $0; sub(/^ *[0-9]+ +[0-9a-f]+ /, "", symbol); sub(/ \([^()]*\)$/, "", symbol)
        count[role[$1], group(symbol, dso)]++; all[role[$1]]++
    }
    END {
        print "| | sender | receiver |\n|---|---:|---:|"
        split("ICRC|copies, ours|copies, the kernel|the kernel but for that|locks and waiting|state machines and headers|device and sockets|rest", names, "|")
        for (i = 1; i in names; i++)
            printf "| %s | %.0f %% | %.0f %% |\n", names[i], 100 * count["sender", names[i]] / all["sender"], 100 * count["receiver", names[i]] / all["receiver"]
        printf "samples: %d and %d\n", all["sender"], all["receiver"]
    }
' "$folder/samples" "$folder/samples"
awk '$1 == 65536 { print "meanwhile: " $4 " MiB/s" }' "$folder/sender.txt"
