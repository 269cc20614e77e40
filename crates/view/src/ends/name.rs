//! What names an end beside its address, and how an end is called by it.

use std::collections::BTreeSet;

/// What names an end; a flow names the one that its requests go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Name {
    QueuePair(u32),
    Flow(u32),
    /// Of TCP.
    Port(u16),
    /// Of connection management.
    Communication(u32),
    /// Who asks for a service, by the ID of the question.
    Question(u32),
}

/// Names that are told, each with more of its kind.
const MOST_TOLD: usize = 2;

/// What names an end, as behind its address: its queue pairs, or without any, its ports.
pub(super) fn words(names: &BTreeSet<Name>) -> String {
    let queue_pairs = names.iter().filter_map(|name| match name {
        Name::QueuePair(number) => Some(format!("{number:#x}")),
        _ => None,
    });
    let ports = names.iter().filter_map(|name| match name {
        Name::Port(number) => Some(number.to_string()),
        _ => None,
    });
    let (what, all): (&str, Vec<String>) = match queue_pairs.collect::<Vec<_>>() {
        none if none.is_empty() => ("port", ports.collect()),
        some => ("qp", some),
    };
    let (told, more) = all.split_at(all.len().min(MOST_TOLD));
    match (told.is_empty(), more.len()) {
        (true, _) => String::new(),
        (false, 0) => format!(" {what} {}", told.join(", ")),
        (false, more) => format!(" {what} {} +{more}", told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_named_by_queue_pairs_and_else_by_ports() {
        let named = |names: &[Name]| words(&names.iter().copied().collect());
        assert_eq!(named(&[Name::Port(7174), Name::QueuePair(17)]), " qp 0x11");
        assert_eq!(named(&[Name::Port(7174)]), " port 7174");
        assert_eq!(named(&[17, 18, 19].map(Name::QueuePair)), " qp 0x11, 0x12 +1");
        assert_eq!(named(&[Name::Flow(3)]), "");
    }
}
