//! Complete operations by their kinds, in the rows of flows and of streams.

use core::fmt;

use serde_json::{Map, Value, json};

use crate::packet::OperationKind;

/// How many operations of each kind are complete, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations([(u64, u64); OperationKind::ALL.len()]);

impl Operations {
    pub(crate) fn add(&mut self, kind: OperationKind, bytes: u64) {
        if let Some((count, sum)) = self.0.get_mut(kind as usize) {
            *count += 1;
            *sum = sum.saturating_add(bytes);
        }
    }

    /// Each kind that there are operations of, with their number and bytes.
    pub fn iter(&self) -> impl Iterator<Item = (OperationKind, u64, u64)> {
        let all = OperationKind::ALL.into_iter().zip(self.0);
        all.filter(|(_, (count, _))| *count > 0).map(|(kind, (count, bytes))| (kind, count, bytes))
    }

    /// All operations.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(count, _)| count).sum()
    }

    /// The bytes of all.
    pub fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    pub(super) fn json(&self) -> Value {
        let each = self
            .iter()
            .map(|(kind, count, bytes)| (kind.name().to_owned(), json!({ "count": count, "bytes": bytes })));
        Value::Object(each.collect::<Map<_, _>>())
    }
}

/// A line for each kind, each behind the end of the one before.
impl fmt::Display for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count, bytes) in self.iter() {
            write!(f, "\n  {:<12} {count:>8}  {bytes:>12} bytes", kind.name())?;
        }
        Ok(())
    }
}
