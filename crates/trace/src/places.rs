//! Where the fields of a packet stand in its frame, for those who show a packet's bytes.
//!
//! [`fields`](crate::fields()) names the fields as every other output of this crate does, and looks each up in one table of
//! places (`places/table.rs`), which count from the beginnings of headers (`places/starts.rs`). A place is told only if the
//! bytes there say what the field says: what they do not, since the packet is broken or lies in several frames, has none.

mod starts;
mod table;

use crate::dissect::Dissection;
use crate::fields::{self, Value};
use crate::record::Record;
use starts::Starts;
use table::spot;

/// Bits of a frame that a field is read from, or is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// From the frame's first bit to its first one.
    pub bit: usize,
    /// How many.
    pub bits: usize,
    /// What they have to do with the value.
    pub reading: Reading,
}

/// What a field's value has to do with the bits at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// It is the number there times so many, or the bytes themselves.
    Times(u8),
    /// It is how many bytes these are.
    Length,
    /// It is said of them and not written there, as a verdict on a checksum.
    About,
}

/// A field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Value<'a>,
    /// Where it stands, if it does.
    pub place: Option<Place>,
    /// Of which of the things that the packet completed of iWARP it is; none of the packet itself.
    pub unit: Option<usize>,
}

/// Tells every field of a packet in the order of the wire, as in `dump -v`, with its place.
///
/// `first` is the time of the capture's first packet, in nanoseconds.
pub fn fields(
    record: &Record<'_>,
    dissection: &Dissection<'_>,
    first: Option<i128>,
    each: &mut dyn FnMut(&Field<'_>),
) {
    let starts = Starts::of(record, dissection);
    let mut data = starts.management(dissection).into_iter();
    let told: Result<(), Never> = fields::walk_packet(record, dissection, first, &mut |name, value| {
        // Names of management datagrams may stand several times, but their order is that of their places.
        let place = match data.clone().position(|(known, _)| known == name) {
            Some(index) => data.nth(index).map(|(_, place)| place),
            None => starts.spot(name).and_then(|spot| starts.place(spot, &value)),
        };
        each(&Field {
            name,
            value,
            place: place.filter(|place| says(record.data, place, &value)),
            unit: None,
        });
        Ok(())
    });
    let Ok(()) = told;
    for (index, (unit, start)) in dissection.iwarp.iter().zip(starts.units(dissection)).enumerate() {
        let told: Result<(), Never> = fields::walk_unit(unit, &mut |name, value| {
            let place = spot(name)
                .zip(start)
                .and_then(|(spot, start)| start.place(spot, &value))
                .filter(|place| says(record.data, place, &value));
            each(&Field { name, value, place, unit: Some(index) });
            Ok(())
        });
        let Ok(()) = told;
    }
}

/// Nothing goes wrong with a walk that only tells.
enum Never {}

/// Whether the bytes there are in the frame, and say what the field says.
fn says(data: &[u8], place: &Place, value: &Value<'_>) -> bool {
    let end = place.bit.checked_add(place.bits).filter(|end| *end <= data.len() * 8 && place.bits > 0);
    let (Some(end), Reading::Times(times)) = (end, place.reading) else { return end.is_some() };
    let bytes = data.get(place.bit / 8..end.div_ceil(8)).unwrap_or_default();
    let whole = |other: &[u8]| place.bit.is_multiple_of(8) && bytes == other;
    match value {
        Value::Number(number) | Value::Wide(number) | Value::Hex(number, _) => {
            number_at(data, place).and_then(|found| found.checked_mul(times.into())) == Some(*number)
        }
        Value::Flag(flag) => number_at(data, place) == Some((*flag).into()),
        Value::Ethernet(address) => whole(&address.0),
        // A GID that is an IPv4 address is shown as that.
        Value::Ipv4(address) => whole(&address.octets()) || whole(&address.to_ipv6_mapped().octets()),
        Value::Ipv6(address) => whole(&address.octets()),
        Value::Bytes(expected) => whole(expected),
        Value::Time(_) | Value::Text(_) => false,
    }
}

/// The number in so many bits; none of more than 64.
fn number_at(data: &[u8], place: &Place) -> Option<u64> {
    let end = place.bit.checked_add(place.bits)?;
    if place.bits > 64 {
        return None;
    }
    let bytes = data.get(place.bit / 8..end.div_ceil(8))?;
    let number = bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let behind = end.div_ceil(8) * 8 - end;
    // As many bits as asked for, at most 64.
    Some((number >> behind & ((1 << place.bits) - 1)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_whose_bytes_say_otherwise_is_none() {
        let data = [0x12, 0x34, 0x56];
        let at = |bit, bits, times| Place { bit, bits, reading: Reading::Times(times) };
        assert!(says(&data, &at(4, 8, 1), &Value::Number(0x23)));
        assert!(says(&data, &at(4, 8, 4), &Value::Number(0x23 * 4)));
        assert!(!says(&data, &at(4, 8, 1), &Value::Number(0x24)));
        assert!(!says(&data, &at(20, 8, 1), &Value::Number(0x60)), "beyond the frame");
        assert!(!says(&data, &at(0, 0, 1), &Value::Number(0)), "of no bits");
        assert!(says(&data, &at(8, 16, 1), &Value::Bytes(&[0x34, 0x56])));
        assert!(!says(&data, &at(9, 15, 1), &Value::Bytes(&[0x34, 0x56])));
        assert!(!says(&data, &at(usize::MAX, 8, 1), &Value::Number(0)));
        let about = Place { bit: 0, bits: 24, reading: Reading::About };
        assert!(says(&data, &about, &Value::Text("ok")));
        assert!(!says(&data[..2], &about, &Value::Text("ok")));
    }
}
