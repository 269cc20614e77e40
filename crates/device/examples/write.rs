//! A WRITE between two devices in one process, over a cable in memory: no privilege, no network.
//!
//! `cargo run -p rdmalab-device --example write`

use rdmalab_device::{Access, Device, DeviceConfig, SendRequest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (one, other) = (DeviceConfig::at("10.0.0.1/24".parse()?), DeviceConfig::at("10.0.0.2/24".parse()?));
    let (a, b) = Device::pair(one, other)?;
    let at = "10.0.0.2:7471".parse()?;

    // Each side: a domain, a completion queue, memory that the peer may reach.
    let (domain_a, domain_b) = (a.protection_domain()?, b.protection_domain()?);
    let (done_a, done_b) = (a.completion_queue(16)?, b.completion_queue(16)?);
    let source = domain_a.register(32, Access::LOCAL_WRITE)?;
    let sink = domain_b.register(32, Access::FULL)?;
    source.write(0, b"hello")?;

    // b answers the call that a makes.
    let listener = b.listen_for_calls(at, 1)?;
    let answering = std::thread::spawn(move || {
        listener.next(None)?.expect("waited without end").answer(&domain_b, &done_b)
    });
    let connection = a.dial(at, &domain_a, &done_a)?;
    let _answered = answering.join().expect("the other side does not panic")?;

    // Where to, a peer elsewhere would have told.
    connection.queue_pair.post_send(&SendRequest::write(&[source.element(0, 5)], sink.remote(0)))?;
    println!("{}", done_a.wait(None)?.expect("waited without end").status);
    let mut found = [0; 5];
    sink.read(0, &mut found)?;
    println!("b's memory holds {:?}", String::from_utf8_lossy(&found));
    Ok(())
}
