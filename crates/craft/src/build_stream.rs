//! From the table of a stream to its segments.

use std::collections::BTreeMap;

use rdmalab_wire::iwarp::{
    AtomicOperation, AtomicRequest, AtomicResponse, Enhanced, Framing, Header, Model, MpaFrame, MpaKind,
    Place, ReadRequest, Stag, Terminate, TerminateError,
};

use crate::effect;
use crate::error::{clipped, there_are};
use crate::flow::{Host, Way, host_number};
use crate::spec::{FpduSpec, MpaSpec, StreamSpec};
use crate::stream::Stream;
use crate::value::{Bytes, Given};

/// The port of rping. Wireshark would take those of NVMe over fabrics for NVMe over TCP.
const PORT: u16 = 7174;
const SOURCE_PORT: u16 = 0xc000;
/// Data in a segment on an Ethernet of 1500 bytes.
const SEGMENT: u16 = 1460;

/// Hands out the frames of a stream.
pub(crate) fn run<E: From<String>>(
    spec: &StreamSpec,
    hosts: &BTreeMap<&str, Host>,
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let (from, to) = (host(spec.from.as_deref(), 0, hosts)?, host(spec.to.as_deref(), 1, hosts)?);
    let ports = [spec.source_port.map_or(SOURCE_PORT, |g| g.0), spec.port.map_or(PORT, |g| g.0)];
    let segment = spec.segment.map_or(SEGMENT, |given| given.0);
    if segment == 0 {
        return Err("segment = 0: a segment has to carry something".to_owned().into());
    }
    let stream = Stream::new(&from, &to, ports, segment.into());
    let mut stream = stream.ok_or_else(|| "its hosts have addresses of two families".to_owned())?;
    let each = &mut |_: Way, frame: &[u8]| each(frame);
    if spec.open != Some(false) {
        stream.open(each)?;
    }
    let reply = spec.reply.as_ref().unwrap_or(&spec.request);
    for (way, mpa, kind) in
        [(Way::Forth, &spec.request, MpaKind::Request), (Way::Back, reply, MpaKind::Reply)]
    {
        stream.send(way, &start_up(mpa, kind)?, each)?;
    }
    let crc = [&spec.request, reply].into_iter().any(|mpa| mpa.crc != Some(false));
    // Who wants markers receives them.
    stream.frame_as(Way::Forth, Framing { markers: reply.markers, crc });
    stream.frame_as(Way::Back, Framing { markers: spec.request.markers, crc });
    // Message sequence numbers, by direction and queue; queues beyond the known have none that go on.
    let mut numbers = [[1_u32; 4]; 2];
    let mut ulpdu = Vec::new();
    for (index, fpdu) in spec.fpdu.iter().enumerate() {
        let at = |what: String| format!("fpdu {}: {what}", index + 1);
        let way = if fpdu.reply { Way::Back } else { Way::Forth };
        let numbers = &mut numbers[usize::from(fpdu.reply)];
        write(fpdu, numbers, &mut ulpdu).map_err(at)?;
        let sent = stream.send_fpdu(way, &ulpdu, fpdu.wrong_crc, each)?;
        sent.map_err(|error| at(error.to_string()))?;
    }
    if spec.close != Some(false) {
        stream.close(each)?;
    }
    Ok(())
}

/// The host of this name, or the one at this place.
fn host(name: Option<&str>, place: u16, hosts: &BTreeMap<&str, Host>) -> Result<Host, String> {
    match name {
        Some(name) => hosts
            .get(name)
            .cloned()
            .ok_or_else(|| format!("{:?} is no host; {}", clipped(name), there_are(hosts.keys().copied()))),
        None => Ok(hosts.values().nth(place.into()).cloned().unwrap_or_else(|| host_number(place + 1))),
    }
}

fn start_up(spec: &MpaSpec, kind: MpaKind) -> Result<Vec<u8>, String> {
    let flag = |given: Option<bool>| given.unwrap_or(false);
    let is_enhanced = spec.ird.is_some()
        || spec.ord.is_some()
        || [spec.peer_to_peer, spec.rtr_empty, spec.rtr_write, spec.rtr_read]
            .into_iter()
            .any(|g| g.is_some());
    let enhanced = is_enhanced.then(|| Enhanced {
        peer_to_peer: flag(spec.peer_to_peer),
        rtr_empty: flag(spec.rtr_empty),
        rtr_write: flag(spec.rtr_write),
        rtr_read: flag(spec.rtr_read),
        ird: spec.ird.map_or(0, |given| given.0),
        ord: spec.ord.map_or(0, |given| given.0),
    });
    let private_data = spec.private_data.as_ref().map_or(&[][..], |Given(Bytes(bytes))| bytes);
    let frame = MpaFrame {
        markers: spec.markers,
        crc: spec.crc.unwrap_or(true),
        reject: spec.reject,
        reserved: spec.reserved.map_or(0, |given| given.0.into()),
        revision: spec.revision.map_or(if is_enhanced { 2 } else { 1 }, |given| given.0),
        enhanced,
        private_data,
        ..MpaFrame::new(kind)
    };
    let mut bytes = vec![0; frame.encoded_length().min(MpaFrame::MAX_LENGTH)];
    frame.encode(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Writes header, body and payload, and counts the message.
fn write(spec: &FpduSpec, numbers: &mut [u32; 4], out: &mut Vec<u8>) -> Result<(), String> {
    let opcode = spec.opcode.0;
    let model = opcode.row().map(|row| row.model);
    let last = spec.last.unwrap_or(true);
    let offset = spec.offset.map_or(0, |given| given.0);
    let is_tagged = spec.tagged.unwrap_or(model == Some(Model::Tagged));
    effect::fpdu(spec, is_tagged)?;
    let place = if is_tagged {
        Place::Tagged { stag: Stag::new(spec.stag.map_or(0, |given| given.0)), offset }
    } else {
        let known = match model {
            Some(Model::Untagged { queue }) => queue,
            _ => 0,
        };
        let queue = spec.queue.map_or(known, |given| given.0);
        let number = usize::try_from(queue).ok().and_then(|queue| numbers.get_mut(queue));
        let msn = match (spec.msn, &number) {
            (Some(Given(msn)), _) => msn,
            (None, Some(number)) => **number,
            (None, None) => 1,
        };
        if let Some(number) = number {
            *number = msn.wrapping_add(last.into());
        }
        let upper = spec.invalidate.map_or(0, |given| given.0);
        // It is known to fit.
        Place::Untagged { upper, queue, msn, offset: offset as u32 }
    };
    let mut header = Header::new(opcode, last, place);
    for (field, given) in
        [(&mut header.ddp_version, spec.ddp_version), (&mut header.rdmap_version, spec.rdmap_version)]
    {
        *field = given.map_or(*field, |given| given.0.into());
    }
    header.ddp_reserved = spec.ddp_reserved.map_or(0, |given| given.0.into());
    header.rdmap_reserved = spec.rdmap_reserved.map_or(0, |given| given.0.into());
    out.clear();
    out.extend_from_slice(header.encode().get(..header.length()).unwrap_or_default());
    if let Some(body) = &spec.read_request {
        let request = ReadRequest {
            sink_stag: Stag::new(body.sink_stag.0),
            sink_offset: body.sink_offset.0,
            length: body.length.0,
            source_stag: Stag::new(body.source_stag.0),
            source_offset: body.source_offset.0,
        };
        out.extend_from_slice(&request.encode());
    }
    if let Some(body) = &spec.atomic_request {
        let request = AtomicRequest {
            reserved: 0,
            operation: AtomicOperation::from_code(body.operation.0.into()),
            request_id: body.request_id.0,
            stag: Stag::new(body.stag.0),
            offset: body.offset.0,
            add_or_swap: body.add_or_swap.0,
            add_or_swap_mask: body.add_or_swap_mask.0,
            compare: body.compare.0,
            compare_mask: body.compare_mask.0,
        };
        out.extend_from_slice(&request.encode());
    }
    if let Some(body) = &spec.atomic_response {
        let response = AtomicResponse { request_id: body.request_id.0, original: body.original.0 };
        out.extend_from_slice(&response.encode());
    }
    if let Some([layer, error_type, code]) = spec.terminate {
        let mut bytes = [0; Terminate::MIN_LENGTH];
        // The body without a segment has exactly this length.
        let _ = Terminate::new(TerminateError { layer, error_type, code }).encode(&mut bytes);
        out.extend_from_slice(&bytes);
    }
    if let Some(payload) = &spec.payload {
        payload.put(out);
    }
    Ok(())
}
