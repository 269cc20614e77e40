//! A WRITE between two devices in one process, over a cable in memory: no privilege, no network.
//!
//! `cargo run -p rdmalab-device --example write`

use rdmalab_device::{
    Access, ConnectionParameters, Device, DeviceConfig, Operation, QueuePairOptions, QueuePairType,
    SendFlags, SendRequest,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (a, b) = Device::pair(
        DeviceConfig::new(vec!["10.0.0.1/24".parse()?]),
        DeviceConfig::new(vec!["10.0.0.2/24".parse()?]),
    )?;

    // Each side: a domain, a completion queue, memory that the peer may reach.
    let (domain_a, domain_b) = (a.protection_domain()?, b.protection_domain()?);
    let (done_a, done_b) = (a.completion_queue(16)?, b.completion_queue(16)?);
    let source = domain_a.register(32, Access::LOCAL_WRITE)?;
    let sink = domain_b.register(32, Access::FULL)?;
    source.write(0, b"hello")?;

    // b accepts the call that a makes; who accepts tells where to write to.
    let listener = b.listen_for_calls("10.0.0.2:7471".parse()?, 1)?;
    let remote = sink.remote(0);
    let accepting = std::thread::spawn(move || {
        let call = listener.next(None)?.expect("waited without end");
        let options = QueuePairOptions::new(QueuePairType::Rc, &done_b);
        call.accept(&domain_b, &options, &ConnectionParameters::default(), |_| Ok(()), None)
    });
    let options = QueuePairOptions::new(QueuePairType::Rc, &done_a);
    let parameters = ConnectionParameters::default();
    let connection = a.call("10.0.0.2:7471".parse()?, &domain_a, &options, &parameters, |_| Ok(()), None)?;
    let _accepted = accepting.join().expect("the other side does not panic")?;

    let elements = [source.element(0, 5)];
    let (operation, flags) = (Operation::RdmaWrite(remote), SendFlags::SIGNALED);
    connection.queue_pair.post_send(&SendRequest {
        operation,
        flags,
        elements: &elements,
        ..SendRequest::default()
    })?;
    println!("{:?}", done_a.wait(None)?.map(|completion| completion.status));
    let mut found = [0; 5];
    sink.read(0, &mut found)?;
    println!("b's memory holds {:?}", String::from_utf8_lossy(&found));
    Ok(())
}
