//! Why a peer refuses, in words for people, with the code that is on the wire.

use rdmalab_device::{RejReason, SidrStatus};

/// Why a connection was refused.
pub(crate) fn refused(reason: RejReason) -> String {
    let words = match reason {
        RejReason::INVALID_SERVICE_ID => {
            "nobody listens at that port by rdma_cm; is the server started, and is the port right?"
        }
        RejReason::NO_RESOURCES | RejReason::NO_QP => {
            "it has no room for more clients now; try again later, or with fewer connections"
        }
        RejReason::CONSUMER_REJECT => "the program that listens there does not want it",
        RejReason::TIMEOUT => "an answer did not come to it in time",
        RejReason::STALE_CONNECTION => {
            "it takes our queue pair for connected already, by an earlier run; try again in a moment"
        }
        RejReason::INVALID_TRANSPORT_SERVICE_TYPE => {
            "what listens at that port is not for connections of this kind; is it another program's port?"
        }
        RejReason::INVALID_PATH_MTU => {
            "our path MTU is larger than its own: take a smaller one (-m), or give our link one (`ip link set DEV mtu N`)"
        }
        RejReason::PRIMARY_REMOTE_GID_REJECTED => "the address that was called is not the one it answers for",
        RejReason::UNSUPPORTED_REQUEST => "it does not support what was asked for",
        RejReason::INSUFFICIENT_RESPONDER_RESOURCES => {
            "it answers fewer READs and atomics at once than we ask for"
        }
        RejReason::INVALID_CLASS_VERSION => "it speaks another version of connection management",
        RejReason::PORT_CM_REDIRECT | RejReason::PORT_REDIRECT => {
            "it sends us to another address, where nothing here follows"
        }
        _ => "for a reason that the code tells",
    };
    format!("{words} (REJ reason {}, {reason})", reason.0)
}

/// Why nobody said where a datagram service is.
pub(crate) fn not_served(status: SidrStatus) -> String {
    let words = match status {
        SidrStatus::SERVICE_ID_NOT_SUPPORTED => {
            "nobody serves datagrams at that port; is the server started, and is the port right?"
        }
        SidrStatus::NO_QP => {
            "it has no room for more clients now; try again later, or with fewer at once (-c)"
        }
        SidrStatus::REJECTED => "the program that serves there does not want us",
        SidrStatus::REDIRECTED => "it sends us to another address, where nothing here follows",
        SidrStatus::UNSUPPORTED_VERSION => "it speaks another version of connection management",
        _ => "for a reason that the code tells",
    };
    format!("{words} (SIDR status {}, {status})", status.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_a_sentence_with_its_code() {
        for (reason, name) in RejReason::NAMED {
            let text = refused(*reason);
            assert!(
                text.ends_with(&format!("(REJ reason {}, {name})", reason.0)) && text.contains(' '),
                "{text}"
            );
        }
        for (status, name) in SidrStatus::NAMED {
            assert!(not_served(*status).ends_with(&format!("(SIDR status {}, {name})", status.0)));
        }
        assert!(refused(RejReason(999)).ends_with("(REJ reason 999, 0x03e7)"));
    }
}
