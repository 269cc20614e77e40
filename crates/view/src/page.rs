//! One page with everything in it: styles, script, data.
//!
//! Data stands in elements that browsers do not look into, as base64 of packed bytes: what a capture says cannot become markup.
//! What is needed at once comes first, then the script, then the frames: the page draws before all of it is there.

use std::io::{self, Write};

use rdmalab_lint::{Finding, OperationKind};
use serde_json::{Map, Value as Json, json};

use crate::columns::{Column, packed, write_base64, zigzag};
use crate::flows::Flow;
use crate::kind::{Kind, role_number};
use crate::model::Capture;

/// The page's parts, in the order in which they stand in it.
const STYLE: &str = include_str!("../page/style.css");
const BODY: &str = include_str!("../page/body.html");
const SCRIPTS: [&str; 24] = [
    include_str!("../page/bytes.js"),
    include_str!("../page/capture.js"),
    include_str!("../page/capture/frames.js"),
    include_str!("../page/capture/labels.js"),
    include_str!("../page/capture/connections.js"),
    include_str!("../page/fields.js"),
    include_str!("../page/choice.js"),
    include_str!("../page/look.js"),
    include_str!("../page/scale.js"),
    include_str!("../page/elements.js"),
    include_str!("../page/ladder.js"),
    include_str!("../page/ladder/columns.js"),
    include_str!("../page/ladder/bands.js"),
    include_str!("../page/ladder/rows.js"),
    include_str!("../page/ladder/dense.js"),
    include_str!("../page/ladder/times.js"),
    include_str!("../page/ladder/troubles.js"),
    include_str!("../page/plot.js"),
    include_str!("../page/details.js"),
    include_str!("../page/details/fields_and_bytes.js"),
    include_str!("../page/details/findings.js"),
    include_str!("../page/details/flows.js"),
    include_str!("../page/details/legend.js"),
    include_str!("../page/main.js"),
];

/// Nothing may be loaded from anywhere, whatever happens.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

impl Capture {
    /// Writes the page. `name` is what it calls the capture, `damage` says why the file was not read to its end.
    ///
    /// The capture must have been read with its frames.
    ///
    /// # Errors
    /// If writing fails.
    pub fn page(&self, out: &mut impl Write, name: &str, damage: Option<&str>) -> io::Result<()> {
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>rdmalab view</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{BODY}"
        )?;
        let (columns, lengths) = self.columns();
        let mut about = self.about(name, damage);
        if let Some(fields) = about.as_object_mut() {
            fields.insert("columns".to_owned(), lengths);
        }
        element(out, "about", &packed(about.to_string().as_bytes()))?;
        element(out, "columns", &packed(&columns))?;
        element(out, "lines", &packed(self.lines.text.as_bytes()))?;
        out.write_all(b"<script>\n(() => {\n\"use strict\";\n")?;
        SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes()))?;
        out.write_all(b"})();\n</script>\n")?;
        for (number, (piece, _)) in self.frames.pieces.iter().enumerate() {
            element(out, &format!("frames-{number}"), piece)?;
        }
        out.write_all(b"</body>\n</html>\n")?;
        out.flush()
    }

    /// What the page knows of the whole capture.
    fn about(&self, name: &str, damage: Option<&str>) -> Json {
        let rules: Vec<Json> = rdmalab_lint::RULES
            .iter()
            .map(|rule| {
                json!([rule.name, rule.severity.to_string(), rule.sentence, rule.source, rule.explanation])
            })
            .collect();
        json!({
            "name": name,
            "damage": damage,
            "packets": self.packets.len(),
            "passed_over": self.passed_over,
            "bytes": self.frames.bytes,
            "absent": self.report.absent(),
            "first_time": self.first_time.map(|time| time.to_string()),
            "addresses": self.ends.addresses.all,
            "places": self.places,
            "names": self.names,
            "pairs": self.ends.pairs.all,
            "kinds": Kind::ALL.map(Kind::name),
            "operations": OperationKind::ALL.map(OperationKind::name),
            "flows": self.flows.iter().map(|flow| self.flow(flow)).collect::<Vec<_>>(),
            "rules": rules,
            "findings": self.findings.iter().map(|finding| self.finding(finding)).collect::<Vec<_>>(),
            "layouts": self.layouts.json(),
            "explained": self.explained.all,
            "explanations": self.explanations(),
            "pieces": self.frames.pieces.iter().map(|(_, frames)| *frames).collect::<Vec<_>>(),
        })
    }

    /// Explanations that packets have, by name: title, paragraph, source.
    fn explanations(&self) -> Json {
        let names = self.explained.all.iter().flatten();
        let found = names.filter_map(|name| rdmalab_explain::named(name));
        found
            .map(|told| (told.name.to_owned(), json!([told.title, told.text, told.source])))
            .collect::<Map<_, _>>()
            .into()
    }

    fn flow(&self, flow: &Flow) -> Json {
        let row = flow.row.filter(|_| !flow.is_tcp).and_then(|row| self.report.flows.get(row));
        let stream = flow.row.filter(|_| flow.is_tcp).and_then(|row| self.report.streams.get(row));
        json!({
            "number": flow.number,
            "ends": [flow.addresses.0, flow.addresses.1],
            "to": flow.to,
            "from": flow.from,
            "tcp": flow.is_tcp,
            "connection": flow.connection,
            "transport": row.map(|row| row.transport.to_string()),
            "report": row.map(ToString::to_string).or(stream.map(ToString::to_string)),
        })
    }

    fn finding(&self, finding: &Finding) -> Json {
        let places: Vec<usize> = finding.frames.iter().filter_map(|frame| self.place(*frame)).collect();
        let flow =
            finding.flow.and_then(|number| self.flows.iter().position(|flow| flow.number == Some(number)));
        json!([finding.rule as usize, flow, places, finding.frames, finding.what])
    }

    /// The columns, one behind the other, and the names and lengths of them.
    fn columns(&self) -> (Vec<u8>, Json) {
        let mut all: [(&str, Column); NAMES.len()] = NAMES.map(|name| (name, Column::default()));
        let mut before = (0, 0);
        for packet in &self.packets {
            let (seconds, nanoseconds) = packet.time.map_or((0, None), |time| {
                let (seconds, rest) = (time.div_euclid(1_000_000_000), time.rem_euclid(1_000_000_000));
                // Within 52 bits, as it was read.
                (seconds as i64, Some(rest as u64))
            });
            let seconds_since = if nanoseconds.is_some() { seconds - before.1 } else { 0 };
            let marks = u64::from(packet.marks.0) | u64::from(packet.finer_than_microseconds) << 7;
            let or_none = |number: Option<u32>| number.map_or(0, |number| u64::from(number) + 1);
            let numbers: [u64; OF_PACKETS] = [
                packet.frame - before.0,
                zigzag(seconds_since),
                nanoseconds.map_or(0, |nanoseconds| nanoseconds + 1),
                packet.pair.into(),
                (packet.kind as u8).into(),
                role_number(packet.role, packet.is_resent_by_acks).into(),
                marks,
                or_none(packet.flow),
                or_none(packet.queue_pair),
                or_none(packet.sequence),
                or_none(packet.band),
                packet.layout.into(),
                packet.extras.into(),
                packet.captured.into(),
                packet.length.into(),
                packet.explained.into(),
            ];
            all.iter_mut().zip(numbers).for_each(|((_, column), number)| column.push(number));
            before.0 = packet.frame;
            if nanoseconds.is_some() {
                before.1 = seconds;
            }
        }
        for band in &self.bands {
            let (first_psn, last_psn) = band.psns.unwrap_or_default();
            let numbers: [u64; OF_BANDS] = [
                band.flow.into(),
                band.kind as u64,
                band.bytes,
                first_psn.into(),
                last_psn.into(),
                band.packets.0.into(),
                band.packets.1.into(),
                band.repeated,
                band.ending as u64,
                band.beside.into(),
            ];
            all.iter_mut()
                .skip(OF_PACKETS)
                .zip(numbers)
                .for_each(|((_, column), number)| column.push(number));
        }
        let mut bytes = Vec::new();
        let mut lengths = Vec::new();
        for (name, column) in &all {
            bytes.extend_from_slice(column.bytes());
            lengths.push(json!([name, column.bytes().len()]));
        }
        (bytes, Json::from(lengths))
    }
}

/// Columns of packets, and behind them columns of bands.
const OF_PACKETS: usize = 16;
const OF_BANDS: usize = 10;
const NAMES: [&str; OF_PACKETS + OF_BANDS] = [
    "frame",
    "seconds",
    "nanoseconds",
    "pair",
    "kind",
    "role",
    "marks",
    "flow",
    "queue_pair",
    "sequence",
    "band",
    "layout",
    "extras",
    "captured",
    "length",
    "explained",
    "band_flow",
    "band_kind",
    "band_bytes",
    "band_first",
    "band_last",
    "band_begun",
    "band_done",
    "band_repeated",
    "band_ending",
    "band_beside",
];

/// An element that holds bytes.
fn element(out: &mut impl Write, id: &str, bytes: &[u8]) -> io::Result<()> {
    write!(out, "<script type=\"application/octet-stream\" id=\"{id}\">")?;
    write_base64(out, bytes)?;
    out.write_all(b"</script>\n")
}
