//! The answers that came last, to tell one that is in the capture twice from two that are alike.

use rdmalab_wire::Psn;

use crate::packet::Seen;

/// IP identifications below this are those of the pieces of one send, which the kernel cut up, and come again and again.
pub(crate) const IDENTIFIES: u16 = 64;
/// The same again within so many nanoseconds is one packet, if it names no packet and nothing was sent again in between.
pub(crate) const SOON: i64 = 500_000;
/// What comes again within so many nanoseconds is seen twice: the shortest timeout in use is longer.
pub(crate) const AT_ONCE: i64 = 60_000;
/// Between the identifications of packets that may change places there are at most so many.
const NEAR: u16 = 1024;
/// Places for answers, and how many each takes.
const PLACES: u32 = 128;
const OF_EACH: usize = 2;

/// Whether two packets that say the same are one that was seen twice, by their IP identifications, which vary or not, and the time
/// between. `None` if these do not tell.
pub(crate) fn same_packet((before, now): (u16, u16), varies: bool, time: i64) -> Option<bool> {
    if before != now {
        return Some(false);
    }
    match varies && now > 0 {
        true if now >= IDENTIFIES || time <= AT_ONCE => Some(true),
        _ => None,
    }
}

/// Whether a packet with one IP identification was sent before one with another, as far as these tell.
pub(crate) fn was_sent_before(one: u16, other: u16) -> bool {
    // What begins a send whose pieces are numbered has none.
    one > 0 && (1..=NEAR).contains(&other.wrapping_sub(one))
}

/// What an answer says, and how it came.
#[derive(Clone, Copy, Debug)]
struct Answer {
    psn: Psn,
    opcode: u8,
    syndrome_and_msn: u32,
    sum: Option<u32>,
    ip_id: u16,
    time: i64,
    repeated: u64,
    /// How often the same has come by then, this one included.
    came: u32,
}

impl Answer {
    fn says_what(&self, other: &Answer) -> bool {
        (self.psn, self.opcode, self.syndrome_and_msn, self.sum)
            == (other.psn, other.opcode, other.syndrome_and_msn, other.sum)
    }
}

/// The last answers to the requests of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// By PSNs, and identifications where these differ: there may be many answers to one request. None until there is one.
    places: Vec<[Option<Answer>; OF_EACH]>,
    /// The identification of the last one, and whether it changes from one to the next.
    last_ip_id: u16,
    varies: bool,
}

impl Heard {
    /// Takes an answer whose payload has this checksum, after so many requests sent again, and what it answers sent so often. Says whether
    /// it has been here.
    pub fn takes_again(&mut self, seen: &Seen<'_>, sum: Option<u32>, repeated: u64, asked: u32) -> bool {
        let is_first = self.places.is_empty();
        if is_first {
            self.places.resize(PLACES as usize, [None; OF_EACH]);
        }
        self.varies |= !is_first && seen.ip_id != self.last_ip_id;
        self.last_ip_id = seen.ip_id;
        let varies = self.varies;
        let mut now = Answer {
            psn: seen.bth.psn,
            opcode: seen.row.opcode,
            syndrome_and_msn: seen
                .headers
                .aeth
                .map_or(0, |aeth| u32::from(aeth.syndrome.to_byte()) << 24 | aeth.msn.value()),
            sum,
            ip_id: seen.ip_id,
            time: seen.time,
            repeated,
            came: 0,
        };
        let named = if now.ip_id >= IDENTIFIES { u32::from(now.ip_id) } else { 0 };
        let place = ((now.psn.value() + named) % PLACES) as usize;
        let Some(place) = self.places.get_mut(place) else { return false };
        let mut came = 0;
        for before in place.iter_mut().flatten().filter(|before| before.says_what(&now)) {
            let between = if seen.has_time { now.time.saturating_sub(before.time) } else { i64::MAX };
            // Where these do not tell: what was asked for again is answered again, the first answer being under way yet.
            let may_be_it = between <= SOON && before.repeated == repeated && before.came >= asked;
            if same_packet((before.ip_id, now.ip_id), varies, between).unwrap_or(may_be_it) {
                before.time = now.time;
                return true;
            }
            came = came.max(before.came);
        }
        now.came = came.saturating_add(1);
        place.rotate_right(1);
        place[0] = Some(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_with_other_identifications_are_two() {
        assert_eq!(same_packet((29, 30), true, 10), Some(false));
        assert_eq!(same_packet((300, 301), true, 10), Some(false));
        assert_eq!(same_packet((300, 300), true, 10), Some(true));
        // The pieces of one send may have those of another's.
        assert_eq!(same_packet((3, 3), true, AT_ONCE + 1), None);
        assert_eq!(same_packet((0, 0), false, 10), None);
    }
}
