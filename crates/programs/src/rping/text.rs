//! What is in the data: `rdma-ping-N: `, then the characters from `A` to `z` round and round, one further on in each ping,
//! and a zero at the very end (seen).

/// The first and the last character.
const FIRST: u8 = b'A';
const LAST: u8 = b'z';

/// Puts the data of a ping into `out`.
pub(super) fn fill(ping: u64, out: &mut [u8]) {
    let head = format!("rdma-ping-{ping}: ");
    let span = u64::from(LAST - FIRST) + 1;
    let mut next = FIRST + (ping % span) as u8;
    let mut head = head.bytes();
    for byte in out.iter_mut() {
        *byte = head.next().unwrap_or_else(|| {
            let this = next;
            next = follower(this);
            this
        });
    }
    if let Some(last) = out.last_mut() {
        *last = 0;
    }
}

/// The first byte that cannot be in the data of a ping: its offset, what is there, what should be. With which character
/// a client begins is its own affair.
pub(super) fn first_wrong(ping: u64, data: &[u8]) -> Option<(usize, u8, u8)> {
    let head = format!("rdma-ping-{ping}: ");
    let (last, body) = data.split_last()?;
    let mut expected: Option<u8> = None;
    for (offset, &found) in body.iter().enumerate() {
        let must = match (head.as_bytes().get(offset), expected) {
            (Some(&byte), _) => byte,
            (None, Some(next)) => next,
            (None, None) if (FIRST..=LAST).contains(&found) => found,
            (None, None) => FIRST,
        };
        if found != must {
            return Some((offset, found, must));
        }
        if offset >= head.len() {
            expected = Some(follower(found));
        }
    }
    (*last != 0).then_some((body.len(), *last, 0))
}

fn follower(character: u8) -> u8 {
    if character >= LAST { FIRST } else { character + 1 }
}

/// The text in the data, for those who print it.
pub(super) fn shown(data: &[u8]) -> String {
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    data.get(..end).unwrap_or_default().escape_ascii().to_string().replace(r"\\", r"\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_that_of_the_real_program() {
        let mut data = [1; 24];
        fill(0, &mut data);
        assert_eq!(&data, b"rdma-ping-0: ABCDEFGHIJ\0");
        fill(1, &mut data);
        assert_eq!(&data, b"rdma-ping-1: BCDEFGHIJK\0");
        let mut long = [0; 200];
        fill(0, &mut long);
        assert_eq!(&long[long.len() - 4..], b"JKL\0", "as in frame 7 of pcaps/rping.pcap");
        assert_eq!(shown(&data), "rdma-ping-1: BCDEFGHIJK");
    }

    #[test]
    fn each_byte_is_judged() {
        let mut data = vec![0; 300];
        for ping in [0, 7, 57, 58, 12345] {
            fill(ping, &mut data);
            assert_eq!(first_wrong(ping, &data), None);
            for place in 0..data.len() {
                data[place] ^= 1;
                // The first character may be any.
                let is_wrong = first_wrong(ping, &data).is_some();
                data[place] ^= 1;
                assert!(is_wrong, "byte {place}");
            }
        }
        assert_eq!(first_wrong(0, b"rdma-ping-1: ABCD\0"), Some((10, b'1', b'0')));
        assert_eq!(first_wrong(3, &[]), None);
    }
}
