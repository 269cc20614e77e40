//! Loss, and what else netem does, on what the guest sends, of RoCE packets or TCP segments only: address resolution is spared.
//!
//! netem drops before the TAP sees the packet, so a capture there does not hold what was lost.

use std::time::Duration;

use super::Guest;

const LIMIT: Duration = Duration::from_secs(20);

impl Guest {
    /// Loses `percent` of the RoCE packets that the guest sends from now on. The count of drops begins at zero.
    #[track_caller]
    pub fn netem_roce_loss(&self, percent: u32) {
        self.netem_roce(&format!("loss {percent}%"));
    }

    /// Has netem do to the RoCE packets that the guest sends from now on what it is told in `words`.
    #[track_caller]
    pub fn netem_roce(&self, words: &str) {
        self.netem(words, |ip| format!("match {ip} protocol 17 0xff match {ip} dport 4791 0xffff"));
    }

    /// Has netem do to the TCP segments that the guest sends from now on, iWARP's among them, what it is told in `words`.
    #[track_caller]
    pub fn netem_tcp(&self, words: &str) {
        self.netem(words, |ip| format!("match {ip} protocol 6 0xff"));
    }

    /// Has netem do what it is told in `words` to the packets that are matched, in the words of `tc`, by what is said for
    /// each version of IP.
    #[track_caller]
    fn netem(&self, words: &str, matched: impl Fn(&str) -> String) {
        let (v4, v6) = (matched("ip"), matched("ip6"));
        // Three ordinary bands and a fourth that only the filters lead to. The kernel's netem cannot be seeded
        // by Debian 12's tc, so which packets are lost differs from run to run.
        let commands = format!(
            "tc qdisc del dev eth0 root 2>/dev/null; set -e\n\
             tc qdisc add dev eth0 root handle 1: prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1\n\
             tc qdisc add dev eth0 parent 1:4 handle 40: netem limit 100000 {words}\n\
             tc filter add dev eth0 parent 1: protocol ip prio 1 u32 \
             {v4} flowid 1:4\n\
             tc filter add dev eth0 parent 1: protocol ipv6 prio 2 u32 \
             {v6} flowid 1:4\n"
        );
        self.run(&commands, LIMIT).expect_success("setting up netem in the guest");
    }

    /// How many packets the loss has taken since it was set up.
    #[track_caller]
    pub fn netem_dropped(&self) -> u64 {
        let said = self.run("tc -s qdisc show dev eth0", LIMIT).expect_success("tc");
        dropped(&said.stdout).unwrap_or_else(|| panic!("no netem in: {}", said.stdout))
    }

    /// How many packets it has let through, late and twice as it may be.
    #[track_caller]
    pub fn netem_passed(&self) -> u64 {
        let said = self.run("tc -s qdisc show dev eth0", LIMIT).expect_success("tc");
        passed(&said.stdout).unwrap_or_else(|| panic!("no netem in: {}", said.stdout))
    }

    /// Takes the loss away.
    #[track_caller]
    pub fn clear_netem(&self) {
        // There may be none.
        self.run("tc qdisc del dev eth0 root 2>/dev/null", LIMIT);
    }
}

/// The count that `tc -s qdisc` gives for netem.
fn dropped(text: &str) -> Option<u64> {
    let netem = &text[text.find("qdisc netem")?..];
    let count = netem.split_once("(dropped ")?.1.split(',').next()?;
    count.trim().parse().ok()
}

/// The count of packets that `tc -s qdisc` gives for netem.
fn passed(text: &str) -> Option<u64> {
    let netem = &text[text.find("qdisc netem")?..];
    let (before, _) = netem.split_once(" pkt (dropped")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_drops_is_netems_own() {
        let text = "qdisc prio 1: root refcnt 2 bands 4 priomap 1 2\n\
                     Sent 5 bytes 1 pkt (dropped 9, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n\
                    qdisc netem 40: parent 1:4 limit 100000 loss 5%\n\
                     Sent 5 bytes 1 pkt (dropped 42, overlimits 0 requeues 0)\n";
        assert_eq!(dropped(text), Some(42));
        assert_eq!(passed(text), Some(1));
        assert_eq!(dropped("qdisc noqueue 0: root"), None);
    }
}
