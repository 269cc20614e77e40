//! What can be posted to the two ends of an extended reliable connection, and what they are made with.
//!
//! Rule: xrc-one-way: an initiator only sends requests, a target only receives them.

use rdmalab_roce::{CreateError, QueuePairConfig};
use rdmalab_verbs::{
    Capabilities, PostError, QueuePairType, ReceiveRequest, SharedReceiveQueueConfig, Target,
};

use super::{initiator, target};
use crate::script::*;

#[test]
fn a_target_has_no_send_queue() {
    for (work, operation) in [(send(1), "SEND"), (read(1), "RDMA_READ"), (local_invalidate(1), "LOCAL_INV")] {
        let refused = PostError::NotSupported { operation, kind: QueuePairType::XrcTarget };
        assert_eq!(target().try_post(work), Err(refused));
    }
}

#[test]
fn neither_has_a_receive_queue_of_its_own() {
    for (mut t, refused) in [
        (target(), PostError::SharedReceiveQueue),
        (initiator(), PostError::NotSupported { operation: "receive", kind: QueuePairType::XrcInitiator }),
    ] {
        let Side { endpoint, context, queue_pair, .. } = &mut t.side;
        let answer = endpoint.post_receive(context, *queue_pair, &ReceiveRequest::default());
        assert_eq!(answer, Err(refused));
    }
}

#[test]
fn a_request_of_an_initiator_names_a_queue() {
    let mut t = initiator();
    let path = t.side.handle_to(peer());
    let datagram = Target::Datagram { path, queue_pair: PEER_QUEUE_PAIR, queue_key: QUEUE_KEY };
    for target in [Target::Connected, datagram] {
        let refused = t.try_post(send(1).to(target));
        assert_eq!(refused, Err(PostError::WrongTarget(QueuePairType::XrcInitiator)));
    }
}

#[test]
fn targets_and_only_they_are_made_with_an_xrc_domain_and_neither_with_a_shared_queue() {
    let mut t = target();
    let Side { endpoint, context, domain, completions, xrc_domain, .. } = &mut t.side;
    let plain = context.create_shared_receive_queue(*domain, &SharedReceiveQueueConfig::default()).unwrap();
    for kind in QueuePairType::ALL {
        let config = QueuePairConfig::new(kind, *domain, *completions, Capabilities::default());
        let with_domain = QueuePairConfig { xrc_domain: *xrc_domain, ..config };
        let is_target = kind == QueuePairType::XrcTarget;
        let right = if is_target { with_domain } else { config };
        let wrong = if is_target { config } else { with_domain };
        assert!(endpoint.create_queue_pair(context, &right).is_ok());
        assert_eq!(endpoint.create_queue_pair(context, &wrong), Err(CreateError::XrcDomain));
        if matches!(kind, QueuePairType::XrcInitiator | QueuePairType::XrcTarget) {
            let shared = QueuePairConfig { shared_receive_queue: Some(plain), ..right };
            let refused = endpoint.create_queue_pair(context, &shared);
            assert_eq!(refused, Err(CreateError::NoSharedReceiveQueue));
        }
    }
}
