//! Management datagrams by the names of their fields.
//!
//! The fields are those of `rdmalab-wire`'s tables, so that every field of every message can be given; a message
//! of communication management is named by `message`, which sets class, version, method and attribute.

use core::net::IpAddr;

use rdmalab_wire::mad::{CmMessage, Field, FieldGroup, Form, Mad, MadHeader, RawMad};
use rdmalab_wire::{Gid, mad};
use toml::{Table, Value as Toml};

use crate::error::clipped;
use crate::value::{Bytes, Value, Written, number};

/// The names of the messages, by attribute.
fn message_name(attribute: u16) -> Option<&'static str> {
    CmMessage::decode(attribute, &[0; mad::DATA_LENGTH]).map(|message| message.name())
}

/// The attributes of communication management.
fn attributes() -> impl Iterator<Item = u16> {
    0x10..=0x1a
}

/// The 256 bytes that a table describes.
pub(crate) fn encode(table: &Table) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; Mad::LENGTH];
    let mut given = Vec::new();
    flatten("", table, &mut given);
    if let Some(message) = table.get("message") {
        let Toml::String(name) = message else {
            return Err(format!(
                "mad.message = {}: expected a message's name, as \"REQ\"",
                clipped(&message.to_string())
            ));
        };
        let attribute = attributes().find(|attribute| message_name(*attribute) == Some(name));
        let attribute = attribute.ok_or_else(|| {
            let names: Vec<_> = attributes().filter_map(message_name).collect();
            format!("mad.message {:?} is none of {}", clipped(name), names.join(", "))
        })?;
        for (field, value) in [
            ("base_version", 1),
            ("class", 7),
            ("class_version", 2),
            ("method", 3),
            ("attribute_id", attribute),
        ] {
            set(MadHeader::FIELDS, 0, field, &Toml::Integer(value.into()), &mut bytes)?;
        }
    }
    let given = given.into_iter().filter(|(name, _)| name != "message");
    // What the fields of a header are called depends on others: the attribute, then the service.
    let (late, early): (Vec<_>, Vec<_>) = given.partition(|(name, _)| name.starts_with("ip_cm."));
    let (header, body): (Vec<_>, Vec<_>) = early.into_iter().partition(|(name, _)| is_of_header(name));
    for (name, value) in header {
        let name = name.strip_prefix("header.").unwrap_or(&name);
        set(MadHeader::FIELDS, 0, name, value, &mut bytes)?;
    }
    for (name, value) in body {
        let fields = RawMad::parse(&bytes).message().map(|message| message.fields());
        let data = [Field { byte: 0, bit: 0, bits: mad::DATA_LENGTH * 8, name: "data", ..EMPTY }];
        set(fields.unwrap_or(&data), MadHeader::LENGTH, &name, value, &mut bytes)?;
    }
    for version_first in [true, false] {
        for (name, value) in late.iter().filter(|(name, _)| (name == "ip_cm.ip_version") == version_first) {
            let group =
                ip_cm(&bytes).ok_or("mad.ip_cm needs a REQ or SIDR_REQ whose service_id is an IP port's")?;
            set(group.fields, group.base, name, value, &mut bytes)?;
        }
    }
    Ok(bytes)
}

/// Names that both the common header and messages have; `header.` in front of them means the header's.
const IN_BOTH: [&str; 2] = ["status", "reserved"];

fn is_of_header(name: &str) -> bool {
    let in_header = |name: &str| MadHeader::FIELDS.iter().any(|field| field.name == name);
    name.starts_with("header.") || in_header(name) && !IN_BOTH.contains(&name)
}

/// A field of nothing, to take the rest of one from.
const EMPTY: Field =
    Field { byte: 0, bit: 0, bits: 0, name: "", wireshark: "", known_to_wireshark: false, form: Form::Bytes };

/// Where RDMA-CM's header is, if there is one.
fn ip_cm(bytes: &[u8]) -> Option<FieldGroup> {
    let message = RawMad::parse(bytes).message()?;
    message.field_groups().find(|group| group.fields.iter().any(|field| field.name.starts_with("ip_cm.")))
}

/// The table that describes these bytes, if one does.
pub(crate) fn describe(bytes: &[u8]) -> Option<Table> {
    let raw = RawMad::parse(bytes);
    raw.mad()?;
    let message = raw.message()?;
    let mut table = Table::new();
    table.insert("message".to_owned(), Toml::String(message.name().to_owned()));
    for field in MadHeader::FIELDS {
        let implied = match field.name {
            "base_version" => 1,
            "class" => 7,
            "class_version" => 2,
            "method" => 3,
            "attribute_id" => u64::from(message.attribute_id()),
            _ => 0,
        };
        let part = if IN_BOTH.contains(&field.name) { "header." } else { "" };
        insert(&mut table, part, field, 0, bytes, implied);
    }
    let ip_cm = ip_cm(bytes);
    for field in message.fields().iter().filter(|field| ip_cm.is_none() || field.name != "private_data") {
        insert(&mut table, "", field, MadHeader::LENGTH, bytes, 0);
    }
    // The first of the group is the header as a whole.
    for field in ip_cm.iter().flat_map(|group| group.fields.iter()).filter(|field| field.name != "ip_cm") {
        insert(&mut table, "", field, ip_cm.map_or(0, |group| group.base), bytes, 0);
    }
    (encode(&table).ok()? == bytes).then_some(table)
}

fn insert(table: &mut Table, part: &str, field: &Field, base: usize, bytes: &[u8], implied: u64) {
    let Some(slice) = bytes.get(base..).and_then(|bytes| field.slice(bytes)) else { return };
    let value = match bytes.get(base..).and_then(|bytes| field.value(bytes)) {
        Some(number) if !matches!(field.form, Form::Ipv4 | Form::Ipv6) => {
            if number == implied {
                return;
            }
            match i64::try_from(number) {
                Ok(number) if number < 1 << 16 => Toml::Integer(number),
                _ => Toml::String(format!("{number:#x}")),
            }
        }
        _ => {
            let used = slice.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if used == 0 {
                return;
            }
            Toml::String(text(field, slice, used))
        }
    };
    let name = format!("{part}{}", field.name);
    let (table, name) = match name.split_once('.') {
        None => (table, &*name),
        Some((part, name)) => {
            let entry = table.entry(part.to_owned()).or_insert_with(|| Toml::Table(Table::new()));
            let Toml::Table(table) = entry else { return };
            (table, name)
        }
    };
    table.insert(name.to_owned(), value);
}

fn text(field: &Field, slice: &[u8], used: usize) -> String {
    match (field.form, slice.first_chunk::<4>(), slice.first_chunk::<16>()) {
        (Form::Ipv4, Some(bytes), _) => IpAddr::from(*bytes).to_string(),
        (Form::Ipv6 | Form::Gid(_), _, Some(bytes)) => IpAddr::from(*bytes).to_string(),
        _ => match Bytes(slice.get(..used).unwrap_or(slice).to_vec()).write() {
            Written::Text(text) => text,
            Written::Number(number) => number.to_string(),
        },
    }
}

fn flatten<'a>(front: &str, table: &'a Table, out: &mut Vec<(String, &'a Toml)>) {
    for (key, value) in table {
        let name = if front.is_empty() { key.clone() } else { format!("{front}.{key}") };
        match value {
            Toml::Table(inner) if front.is_empty() => flatten(&name, inner, out),
            value => out.push((name, value)),
        }
    }
}

/// Puts a value into the field of this name; `base` is where the fields count from.
fn set(fields: &[Field], base: usize, name: &str, value: &Toml, bytes: &mut [u8]) -> Result<(), String> {
    let field = fields.iter().find(|field| field.name == name).ok_or_else(|| {
        let names: Vec<_> = fields.iter().map(|field| field.name).collect();
        format!("mad has no field {:?}; here it has {}", clipped(name), names.join(", "))
    })?;
    let wrong = |expects: &str| format!("mad.{name} = {}: expected {expects}", clipped(&value.to_string()));
    let place = bytes.get_mut(base..).unwrap_or_default();
    let is_bytes =
        field.bits > 64 || matches!(field.form, Form::Ipv4 | Form::Ipv6 | Form::Gid(_) | Form::Bytes);
    if let (true, Toml::String(text)) = (is_bytes, value) {
        let length = field.bits / 8;
        let given = match (text.parse::<IpAddr>(), length) {
            (Ok(IpAddr::V4(address)), 4) => address.octets().to_vec(),
            (Ok(address), 16) => Gid::from(address).0.to_vec(),
            _ => Bytes::from_text(text).ok_or_else(|| wrong("bytes in hexadecimal digits or an address"))?.0,
        };
        let place = place.get_mut(field.byte..).and_then(|place| place.get_mut(..given.len()));
        let place = place.filter(|place| place.len() <= length);
        place.ok_or_else(|| wrong(&format!("at most {length} bytes")))?.copy_from_slice(&given);
        return Ok(());
    }
    let given = match value {
        Toml::Integer(number) => u64::try_from(*number).ok(),
        Toml::String(text) => number(text),
        Toml::Boolean(flag) => Some((*flag).into()),
        _ => None,
    };
    let given = given.filter(|number| field.bits >= 64 || *number < 1 << field.bits);
    let given = given.ok_or_else(|| wrong(&format!("a number of {} bits", field.bits)))?;
    let end = field.bit + field.bits;
    let touched = place.get_mut(field.byte..).and_then(|place| place.get_mut(..end.div_ceil(8)));
    let touched = touched.ok_or_else(|| wrong("a field inside"))?;
    let behind = touched.len() * 8 - end;
    let mask = ((1_u128 << field.bits.min(64)) - 1) << behind;
    let old = touched.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let new = old & !mask | u128::from(given) << behind;
    let new = new.to_be_bytes();
    touched.copy_from_slice(new.get(new.len().saturating_sub(touched.len())..).unwrap_or_default());
    Ok(())
}
