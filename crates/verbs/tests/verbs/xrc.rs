//! XRC domains and the shared receive queues in them.
//!
//! Rule: xrc-domain: A shared receive queue for XRC is reached through its domain alone, and has a completion queue of
//! its own.

use rdmalab_verbs::{Context, CreateError, Limits, RemoveError, SharedReceiveQueueConfig, XrcUse};

#[test]
fn a_queue_for_xrc_keeps_its_domain_and_its_completion_queue() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let xrc = XrcUse {
        domain: context.allocate_xrc_domain().unwrap(),
        completions: context.create_completion_queue(1).unwrap(),
    };
    let config = SharedReceiveQueueConfig { xrc: Some(xrc), ..Default::default() };
    let id = context.create_shared_receive_queue(domain, &config).unwrap();
    let queue = context.shared_receive_queue(id).unwrap();
    assert_eq!(queue.xrc_domain(), Some(xrc.domain));
    assert_eq!(queue.completions(), Some(xrc.completions));

    let in_use = Err(RemoveError::InUse { users: 1 });
    assert_eq!(context.deallocate_xrc_domain(xrc.domain), in_use);
    assert_eq!(context.destroy_completion_queue(xrc.completions), in_use);
    context.destroy_shared_receive_queue(id).unwrap();
    assert_eq!(context.deallocate_xrc_domain(xrc.domain), Ok(()));
    assert_eq!(context.destroy_completion_queue(xrc.completions), Ok(()));
    assert_eq!(context.deallocate_xrc_domain(xrc.domain), Err(RemoveError::NoSuchObject));
}

#[test]
fn a_queue_for_xrc_needs_what_it_names() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let xrc = XrcUse {
        domain: context.allocate_xrc_domain().unwrap(),
        completions: context.create_completion_queue(1).unwrap(),
    };
    let config = SharedReceiveQueueConfig { xrc: Some(xrc), ..Default::default() };
    context.destroy_completion_queue(xrc.completions).unwrap();
    assert_eq!(context.create_shared_receive_queue(domain, &config), Err(CreateError::NoSuchCompletionQueue));
    context.deallocate_xrc_domain(xrc.domain).unwrap();
    assert_eq!(context.create_shared_receive_queue(domain, &config), Err(CreateError::NoSuchXrcDomain));
    assert_eq!(context.deallocate_protection_domain(domain), Ok(()), "nothing was made");
}

#[test]
fn a_queue_that_is_not_for_xrc_is_in_no_domain() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let config = SharedReceiveQueueConfig::default();
    let id = context.create_shared_receive_queue(domain, &config).unwrap();
    let queue = context.shared_receive_queue(id).unwrap();
    assert_eq!((queue.xrc_domain(), queue.completions()), (None, None));
}

#[test]
fn the_limit_of_xrc_domains_holds() {
    let mut context = Context::new(Limits { xrc_domains: 1, ..Limits::default() });
    context.allocate_xrc_domain().unwrap();
    assert_eq!(context.allocate_xrc_domain().unwrap_err().limit, 1);
}
