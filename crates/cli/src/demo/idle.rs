//! Options that have no effect, or none together: who asks for them is told, and the demonstration runs.

use rdmalab_device::{CongestionControl, Profile};

use super::transport::Transport;

/// Options that were given and are another transport's; one line.
pub fn foreign(transport: Transport, of_roce: &[(&str, bool)], of_iwarp: &[(&str, bool)]) -> Option<String> {
    let (foreign, why) = match transport {
        Transport::Iwarp => (of_roce, "RoCE's; iWARP leaves congestion to TCP, and has --iwarp-profile"),
        _ => (of_iwarp, "iWARP's; add --transport iwarp"),
    };
    let given: Vec<&str> = foreign.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
    match given[..] {
        [] => None,
        [one] => Some(format!("{one} changes nothing: it is {why}")),
        _ => Some(format!("{} change nothing: they are {why}", given.join(", "))),
    }
}

/// Which option changes nothing, and why; one line. `marking` is the one by which packets are marked.
pub fn note(
    transport: Transport,
    profile: &Profile,
    congestion: CongestionControl,
    marking: Option<&str>,
) -> Option<String> {
    let is_controlled = matches!(congestion, CongestionControl::Dcqcn(_));
    let takes_part = profile.ecn_capable && profile.notifications.is_some();
    let because = match (is_controlled, marking.is_some()) {
        (true, _) if transport == Transport::Ud => {
            "datagrams are never answered by notifications; take another --transport, or fixed=RATE"
                .to_owned()
        }
        (true, _) if !takes_part => {
            format!("the profile {} takes no part in it; add --profile spec", profile.name)
        }
        (true, false) => "the link marks no packet; add --mark 0.2".to_owned(),
        (false, true) if !profile.ecn_capable => {
            format!("packets of the profile {} cannot be marked; add --profile spec", profile.name)
        }
        _ => return None,
    };
    let option = if is_controlled { "--congestion dcqcn" } else { marking.unwrap_or_default() };
    Some(format!("{option} changes nothing: {because}"))
}
