//! How much is drawn at most, and whether a capture has more.

use std::io::Read;

use rdmalab_trace::{Filter, Reader, Streams, Unpacked};

use crate::error::ViewError;

/// Most packets that are drawn.
pub const MOST_PACKETS: usize = 1_000_000;
/// Most bytes that they may have together.
pub const MOST_BYTES: u64 = 512 << 20;

/// Limits of a capture; tests have lower ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    packets: usize,
    bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { packets: MOST_PACKETS, bytes: MOST_BYTES }
    }
}

impl Limits {
    /// Whether there is room for one packet more than there are, with which they have so many bytes. `fits` is the number in the
    /// file of the last that there was room for.
    ///
    /// # Errors
    /// If there is none.
    pub fn hold(self, packets: usize, bytes: u64, fits: Option<u64>) -> Result<(), ViewError> {
        let fits = fits.unwrap_or_default();
        if packets >= self.packets {
            return Err(ViewError::TooMany { fits });
        }
        if bytes > self.bytes {
            return Err(ViewError::TooLarge { fits });
        }
        Ok(())
    }
}

/// Whether there is room for a capture, or for what a filter leaves of it: [`read`](super::read) finds that out as well, but judges
/// what there is room for first, which takes many times as long. Without a filter no packet is taken apart.
///
/// Of a capture that cannot be read, or a filter that does not fit its fields, `read` says so.
///
/// # Errors
/// If there is no room, as of `read`.
pub fn fits(input: impl Read, filter: Option<&Filter>) -> Result<(), ViewError> {
    fits_within(input, filter, Limits::default())
}

fn fits_within(input: impl Read, filter: Option<&Filter>, limits: Limits) -> Result<(), ViewError> {
    let Ok(input) = Unpacked::new(input) else { return Ok(()) };
    let Ok(mut reader) = Reader::new(input) else { return Ok(()) };
    let mut streams = Streams::new();
    let (mut packets, mut bytes, mut last, mut first_time) = (0, 0, None, None);
    while let Ok(Some(record)) = reader.next() {
        first_time = first_time.or(record.time);
        if let Some(filter) = filter {
            match filter.matches(&record, &streams.dissect(&record), first_time) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => return Ok(()),
            }
        }
        bytes += record.data.len() as u64;
        limits.hold(packets, bytes, last)?;
        packets += 1;
        last = Some(record.frame);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rdmalab_trace::{LinkType, Writer};

    use super::super::{Options, read_within};
    use super::*;
    use crate::model::Capture;

    /// So many packets of a hundred bytes.
    fn file(packets: u64) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let interface = writer.interface_of("limits", LinkType::ETHERNET).unwrap();
        for time in 0..packets {
            writer.write(rdmalab_trace::Entry::new(interface, time, &[0x55; 100])).unwrap();
        }
        writer.finish().unwrap()
    }

    fn drawn(file: &[u8], limits: Limits, filter: Option<&str>) -> Result<Capture, ViewError> {
        let filter: Option<Filter> = filter.map(|text| text.parse().unwrap());
        let options = Options { filter: filter.as_ref(), keeps_frames: true };
        let drawn = read_within(file, options, limits);
        // Whether there is room is known without reading all of it.
        let refused = fits_within(file, filter.as_ref(), limits).err().map(|error| error.to_string());
        assert_eq!(refused, drawn.as_ref().err().map(ToString::to_string));
        drawn
    }

    #[test]
    fn as_many_packets_as_there_is_room_for_are_drawn_and_one_more_is_refused() {
        let limits = Limits { packets: 10, ..Limits::default() };
        assert_eq!(drawn(&file(10), limits, None).unwrap().packets(), 10);
        let error = drawn(&file(11), limits, None).unwrap_err();
        assert!(matches!(error, ViewError::TooMany { fits: 10 }), "{error}");
        assert_eq!(error.to_string(), "more than 1000000 packets; those up to frame 10 can be drawn");
    }

    #[test]
    fn as_many_bytes_as_there_is_room_for_are_drawn_and_one_more_is_refused() {
        let limits = Limits { bytes: 1_000, ..Limits::default() };
        assert_eq!(drawn(&file(10), limits, None).unwrap().bytes(), 1_000);
        let error = drawn(&file(11), limits, None).unwrap_err();
        assert!(matches!(error, ViewError::TooLarge { fits: 10 }), "{error}");
        let text = "its packets have more than 512 MiB together; those up to frame 10 can be drawn";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn of_what_cannot_be_read_there_is_room_for_what_can() {
        let file = file(5);
        let limits = Limits { packets: 4, ..Limits::default() };
        let cut = &file[..file.len() - 120];
        assert!(fits_within(&file[..], None, limits).is_err() && fits_within(cut, None, limits).is_ok());
        assert!(fits_within(&b"no capture"[..], None, limits).is_ok());
        let filter: Filter = "frame.number == \"five\"".parse().unwrap();
        assert!(fits_within(&file[..], Some(&filter), limits).is_ok());
    }

    /// The limit is one of what is drawn: the filter that an error tells of draws as much as there is room for.
    #[test]
    fn the_filter_that_an_error_names_cuts_the_capture_to_what_can_be_drawn() {
        let many = file(100);
        for limits in
            [Limits { packets: 10, ..Limits::default() }, Limits { bytes: 1_099, ..Limits::default() }]
        {
            for (filter, last) in [(None, 10), (Some("frame.number >= 51"), 60)] {
                let error = drawn(&many, limits, filter).unwrap_err();
                let fitting = error.fitting_filter().unwrap();
                assert_eq!(fitting, format!("frame.number <= {last}"));
                let both = filter.map_or(fitting.clone(), |filter| format!("{filter} && {fitting}"));
                assert_eq!(drawn(&many, limits, Some(&both)).unwrap().packets(), 10);
            }
        }
    }

    #[test]
    fn the_limits_are_those_that_are_told() {
        let limits = Limits::default();
        assert_eq!((limits.packets, limits.bytes), (1_000_000, 536_870_912));
    }
}
