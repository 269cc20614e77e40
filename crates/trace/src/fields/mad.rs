//! The fields of management datagrams: `rdmalab-wire` has them as tables with Wireshark's names.

use rdmalab_wire::RawMad;
use rdmalab_wire::mad::{Field, Form};

use super::{Value, Visitor};

/// `bytes` are those that the datagram was taken apart from.
pub(super) fn walk<E>(mad: &RawMad<'_>, bytes: &[u8], each: Visitor<'_, E>) -> Result<(), E> {
    for group in mad.field_groups() {
        let Some(part) = bytes.get(group.base..) else { continue };
        for field in group.fields {
            if let (Some((name, _)), Some(value)) = (field.text(part), value(field, part)) {
                each(name, value)?;
            }
        }
    }
    if !mad.surplus.is_empty() {
        each("rdmalab.mad.surplus", Value::Bytes(mad.surplus))?;
    }
    Ok(())
}

fn value<'a>(field: &Field, bytes: &'a [u8]) -> Option<Value<'a>> {
    let slice = field.slice(bytes)?;
    let number = || field.value(bytes);
    Some(match field.form {
        // At most 16 digits.
        Form::Hexadecimal(digits) => Value::Hex(number()?, digits.min(16) as u8),
        Form::Decimal if field.bits > 53 => Value::Wide(number()?),
        Form::Decimal => Value::Number(number()?),
        Form::Bytes => Value::Bytes(slice),
        Form::Ipv4 => Value::Ipv4((*slice.first_chunk::<4>()?).into()),
        Form::Ipv6 => Value::Ipv6((*slice.first_chunk::<16>()?).into()),
        Form::Gid(_) => match *slice {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d] => Value::Ipv4([a, b, c, d].into()),
            _ => Value::Ipv6((*slice.first_chunk::<16>()?).into()),
        },
    })
}
