//! An echo server with connection management over UDP sockets, and a client of it: nothing privileged. Real peers that call
//! by `rdma_cm` would do as well.
//!
//! `cargo run -p rdmalab-device --example echo`

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use rdmalab_device::{
    Access, Call, Capabilities, CompletionKind, CompletionStatus, ConnectionParameters, Device, DeviceConfig,
    Operation, QueuePairOptions, QueuePairType, ReceiveRequest, SendFlags, SendRequest,
};

/// Bytes of a message at most.
const SIZE: usize = 1024;
const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let (ours, theirs) = ("127.0.0.12/8".parse()?, "127.0.0.11/8".parse()?);
    let at: SocketAddr = "127.0.0.11:7777".parse()?;
    let server = Device::open_udp(DeviceConfig::new(vec![theirs]))?;
    let listener = server.listen_for_calls(at, 16)?;
    let serving = std::thread::spawn(move || match listener.next(PATIENCE)? {
        Some(call) => answer(&server, call),
        None => Err("nobody called".into()),
    });
    for reply in ask(&Device::open_udp(DeviceConfig::new(vec![ours]))?, at, &["hello", "are you there?"])? {
        println!("the echo of {reply:?}");
    }
    serving.join().map_err(|_| "the server panicked")?
}

/// Sends back whatever a caller sends, until it ends the connection.
fn answer(device: &Device, call: Call) -> Result<()> {
    let domain = device.protection_domain()?;
    let completions = device.completion_queue(16)?;
    let memory = domain.register(SIZE, Access::LOCAL_WRITE)?;
    let whole = [memory.element(0, SIZE as u32)];
    let receive = ReceiveRequest { id: 0, elements: &whole };
    let options = QueuePairOptions::new(QueuePairType::Rc, &completions);
    let connection = call.accept(
        &domain,
        &options,
        &ConnectionParameters::default(),
        // Before the caller may send.
        |queue_pair| Ok(queue_pair.post_receive(&receive)?),
        PATIENCE,
    )?;
    while let Some(completion) = completions.wait(PATIENCE)? {
        match (completion.kind, completion.status) {
            (CompletionKind::Receive, CompletionStatus::Success) => {
                let elements = [memory.element(0, completion.length)];
                let (operation, flags) = (Operation::Send, SendFlags::SIGNALED);
                let echo = SendRequest { operation, flags, elements: &elements, ..SendRequest::default() };
                connection.queue_pair.post_send(&echo)?;
            }
            // The echo has arrived: its memory is free for the next message.
            (_, CompletionStatus::Success) => connection.queue_pair.post_receive(&receive)?,
            // Flushed: the caller has ended the connection.
            _ => break,
        }
    }
    Ok(())
}

/// Sends messages one by one and returns what comes back.
fn ask(device: &Device, server: SocketAddr, messages: &[&str]) -> Result<Vec<String>> {
    let domain = device.protection_domain()?;
    let (sent, received) = (device.completion_queue(16)?, device.completion_queue(16)?);
    let memory = domain.register(SIZE, Access::LOCAL_WRITE)?;
    let options = QueuePairOptions::new(QueuePairType::Rc, &sent);
    let capabilities = Capabilities { max_inline: SIZE as u32, ..Capabilities::default() };
    let options = QueuePairOptions { receive: &received, capabilities, ..options };
    let connection =
        device.call(server, &domain, &options, &ConnectionParameters::default(), |_| Ok(()), PATIENCE)?;
    let mut replies = Vec::new();
    for message in messages {
        let whole = [memory.element(0, SIZE as u32)];
        connection.queue_pair.post_receive(&ReceiveRequest { id: 0, elements: &whole })?;
        // Copied when it is posted, so that it needs no registered memory.
        let inline = Some(message.as_bytes());
        connection.queue_pair.post_send(&SendRequest { inline, ..SendRequest::default() })?;
        let completion = received.wait(PATIENCE)?.ok_or("no echo")?;
        let mut bytes = vec![0; completion.length as usize];
        memory.read(0, &mut bytes)?;
        replies.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    Ok(replies)
}
