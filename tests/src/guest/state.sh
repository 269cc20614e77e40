# What a guest looks like from inside, for the report of a failed test: the RDMA device's counters, two seconds apart,
# and, in between, what runs or waits in the kernel, where, and the kernel's last words. Starts as few programs as
# it can: a guest that has failed may be a slow one.
counters() {
    echo "--- counters of the RDMA device, $1"
    local counter
    for counter in /sys/class/infiniband/rxe0/ports/1/hw_counters/*; do
        echo "${counter##*/} $(<"$counter")"
    done
}

counters before
echo "--- processes of user space, and kernel threads that run or wait for the kernel"
for process in /proc/[0-9]*; do
    {
        read -r command <"$process/comm" && read -r status <"$process/stat" && mapfile stack <"$process/stack"
    } 2>/dev/null || continue
    rest=${status##*) }
    state=${rest%% *}
    case $state in [SI]) [ -e "$process/exe" ] || continue ;; esac
    echo "${process#/proc/} $command: $state"
    printf '    %s' "${stack[@]}"
done
echo "--- the kernel's last words"
dmesg | tail -n 30
echo "--- queue pairs"
timeout 2 rdma resource show qp
read -r -t 2 _ <> <(:)
counters "two seconds later"
