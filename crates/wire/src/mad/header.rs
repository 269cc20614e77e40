//! MAD common header: who is asked, what, and under which number.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 8 | base version: 1 |
//! | 1 | 8 | management class |
//! | 2 | 8 | class version |
//! | 3 | 8 | method; the top bit says that it is an answer |
//! | 4 | 16 | status |
//! | 6 | 16 | class specific |
//! | 8 | 64 | transaction ID |
//! | 16 | 16 | attribute ID |
//! | 18 | 16 | reserved |
//! | 20 | 32 | attribute modifier |

use core::fmt;

use super::class::{MadClass, MadMethod};
use super::field::Field;

/// The common header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MadHeader {
    /// Version of this header; 1.
    pub base_version: u8,
    /// Whom the MAD is for.
    pub class: MadClass,
    /// Version of the class; of communication management 2.
    pub class_version: u8,
    /// What it asks.
    pub method: MadMethod,
    /// Of an answer: whether it went well. Otherwise zero.
    pub status: u16,
    /// Used by directed routes only.
    pub class_specific: u16,
    /// Number by which the asker finds the answer. Messages of one exchange carry the same.
    pub transaction_id: u64,
    /// What is asked for; of communication management, which message it is.
    pub attribute_id: u16,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u16,
    /// Which part of the attribute.
    pub attribute_modifier: u32,
}

impl MadHeader {
    /// Length in bytes.
    pub const LENGTH: usize = 24;

    /// The fields by name, offsets counted from the header's start.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 8, "base_version", "infiniband.mad.baseversion"),
        Field::number(1, 0, 8, "class", "infiniband.mad.mgmtclass"),
        Field::number(2, 0, 8, "class_version", "infiniband.mad.classversion"),
        Field::number(3, 0, 8, "method", "infiniband.mad.method"),
        Field::number(4, 0, 16, "status", "infiniband.mad.status"),
        Field::number(6, 0, 16, "class_specific", "infiniband.mad.classspecific"),
        Field::number(8, 0, 64, "transaction_id", "infiniband.mad.transactionid"),
        Field::number(16, 0, 16, "attribute_id", "infiniband.mad.attributeid"),
        Field::bytes(18, 2, "reserved", "infiniband.reserved"),
        Field::number(20, 0, 32, "attribute_modifier", "infiniband.mad.attributemodifier"),
    ];

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 24]) -> Self {
        let [
            base_version,
            class,
            class_version,
            method,
            s0,
            s1,
            c0,
            c1,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
            a0,
            a1,
            r0,
            r1,
            m0,
            m1,
            m2,
            m3,
        ] = *bytes;
        MadHeader {
            base_version,
            class: MadClass(class),
            class_version,
            method: MadMethod(method),
            status: u16::from_be_bytes([s0, s1]),
            class_specific: u16::from_be_bytes([c0, c1]),
            transaction_id: u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            attribute_id: u16::from_be_bytes([a0, a1]),
            reserved: u16::from_be_bytes([r0, r1]),
            attribute_modifier: u32::from_be_bytes([m0, m1, m2, m3]),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; 24] {
        let [s0, s1] = self.status.to_be_bytes();
        let [c0, c1] = self.class_specific.to_be_bytes();
        let [t0, t1, t2, t3, t4, t5, t6, t7] = self.transaction_id.to_be_bytes();
        let [a0, a1] = self.attribute_id.to_be_bytes();
        let [r0, r1] = self.reserved.to_be_bytes();
        let [m0, m1, m2, m3] = self.attribute_modifier.to_be_bytes();
        [
            self.base_version,
            self.class.0,
            self.class_version,
            self.method.0,
            s0,
            s1,
            c0,
            c1,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
            a0,
            a1,
            r0,
            r1,
            m0,
            m1,
            m2,
            m3,
        ]
    }
}

/// As in `SUBN_ADM method=GET attr=0x0035 mod=0x00000000 tid=0x0000000000000001`.
impl fmt::Display for MadHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} method={} attr={:#06x} mod={:#010x} tid={:#018x}",
            self.class, self.method, self.attribute_id, self.attribute_modifier, self.transaction_id
        )?;
        if self.status != 0 {
            write!(f, " status={:#06x}", self.status)?;
        }
        Ok(())
    }
}
