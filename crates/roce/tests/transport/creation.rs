//! Making queue pairs: limits, what they need, and what they keep alive.
//!
//! Rule: qp-creation: A queue pair begins in RESET, keeps what it is made with alive, and its number is not
//! given again soon.

use rdmalab_roce::{CreateError, Endpoint, EndpointConfig, QueuePairConfig};
use rdmalab_verbs::{Capabilities, Context, LimitReached, ModifyError, QueuePairType, RemoveError, State};
use rdmalab_wire::{PathMtu, Qpn};

use crate::side::address;

struct Port {
    context: Context,
    endpoint: Endpoint,
    config: QueuePairConfig,
}

fn port(max_queue_pairs: usize) -> Port {
    let mut context = Context::default();
    let protection_domain = context.allocate_protection_domain().unwrap();
    let queue = context.create_completion_queue(16).unwrap();
    let capabilities = Capabilities { max_send_requests: 1, max_receive_requests: 1, ..Default::default() };
    Port {
        context,
        endpoint: Endpoint::new(EndpointConfig {
            max_queue_pairs,
            ..EndpointConfig::new(vec![address(1)], PathMtu::M4096)
        }),
        config: QueuePairConfig::new(QueuePairType::Rc, protection_domain, queue, capabilities),
    }
}

impl Port {
    fn create(&mut self) -> Result<Qpn, CreateError> {
        self.endpoint.create_queue_pair(&mut self.context, &self.config)
    }

    fn create_with(&mut self, change: impl FnOnce(&mut Capabilities)) -> Result<Qpn, CreateError> {
        let mut config = self.config;
        change(&mut config.capabilities);
        self.endpoint.create_queue_pair(&mut self.context, &config)
    }
}

#[test]
fn a_queue_pair_begins_in_reset() {
    let mut port = port(1);
    let number = port.create().unwrap();
    assert_eq!(port.endpoint.state(number), Some(State::Reset));
}

#[test]
fn the_special_numbers_are_not_given_out_and_no_number_twice() {
    let mut port = port(1000);
    let numbers: std::collections::BTreeSet<_> = (0..1000).map(|_| port.create().unwrap()).collect();
    assert_eq!(numbers.len(), 1000);
    for special in [Qpn::SMI, Qpn::GSI, Qpn::MULTICAST] {
        assert!(!numbers.contains(&special));
    }
}

#[test]
fn a_number_that_is_gone_is_not_given_again_at_once() {
    let mut port = port(1);
    let mut numbers = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let number = port.create().unwrap();
        assert!(numbers.insert(number));
        port.endpoint.destroy_queue_pair(&mut port.context, number).unwrap();
        assert_eq!(port.endpoint.state(number), None);
        let again = port.endpoint.destroy_queue_pair(&mut port.context, number);
        assert_eq!(again, Err(ModifyError::NoSuchQueuePair));
    }
}

#[test]
fn there_are_as_many_queue_pairs_as_the_port_was_made_for() {
    let mut port = port(3);
    let first = port.create().unwrap();
    port.create().unwrap();
    port.create().unwrap();
    let full = CreateError::LimitReached(LimitReached { what: "queue pairs", limit: 3 });
    assert_eq!(port.create(), Err(full));
    port.endpoint.destroy_queue_pair(&mut port.context, first).unwrap();
    port.create().unwrap();
}

#[test]
fn queues_and_requests_have_a_largest_size() {
    let mut port = port(10);
    let requests = CreateError::LimitReached(LimitReached { what: "requests of a queue", limit: 1 << 15 });
    let elements = CreateError::LimitReached(LimitReached { what: "elements of a request", limit: 32 });
    port.create_with(|made| made.max_send_requests = 1 << 15).unwrap();
    port.create_with(|made| made.max_receive_requests = 1 << 15).unwrap();
    assert_eq!(port.create_with(|made| made.max_send_requests = (1 << 15) + 1), Err(requests));
    assert_eq!(port.create_with(|made| made.max_receive_requests = u32::MAX), Err(requests));
    port.create_with(|made| made.max_send_elements = 32).unwrap();
    port.create_with(|made| made.max_receive_elements = 32).unwrap();
    assert_eq!(port.create_with(|made| made.max_send_elements = 33), Err(elements));
    assert_eq!(port.create_with(|made| made.max_receive_elements = u32::MAX), Err(elements));
}

#[test]
fn a_queue_pair_keeps_its_domain_and_queues_alive() {
    let mut port = port(1);
    let number = port.create().unwrap();
    let (domain, queue) = (port.config.protection_domain, port.config.send_queue);
    let in_use = |answer: Result<(), RemoveError>| matches!(answer, Err(RemoveError::InUse { .. }));
    assert!(in_use(port.context.deallocate_protection_domain(domain)));
    assert!(in_use(port.context.destroy_completion_queue(queue)));
    port.endpoint.destroy_queue_pair(&mut port.context, number).unwrap();
    port.context.deallocate_protection_domain(domain).unwrap();
    port.context.destroy_completion_queue(queue).unwrap();
    assert_eq!(port.create(), Err(CreateError::NoSuchObject));
}

#[test]
fn a_refused_queue_pair_keeps_nothing_alive() {
    let mut port = port(0);
    port.create().unwrap_err();
    port.context.deallocate_protection_domain(port.config.protection_domain).unwrap();
    port.context.destroy_completion_queue(port.config.send_queue).unwrap();
}
