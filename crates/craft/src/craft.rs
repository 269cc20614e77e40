//! From a description to frames, one after the other.

use std::collections::BTreeMap;

use rdmalab_trace::{Direction, LinkType};
use rdmalab_wire::Carrier;

use crate::build;
use crate::build_stream;
use crate::connect;
use crate::effect;
use crate::error::{CraftError, SpecError, clipped, there_are};
use crate::flow::{Flow, Host, Way};
use crate::limits::Limits;
use crate::output::{Frame, OutputError};
use crate::packet::Packet;
use crate::spec::{ConversationSpec, Entry, OperationName, PacketSpec, Place, Spec, StreamSpec, WayName};
use crate::value::Given;

/// The interval between packets, in nanoseconds.
const INTERVAL: u64 = 1_000;
/// The port of rping.
const PORT: u16 = 7174;

/// Makes the frames of a description, hands them to `sink` in order, and says how many they were.
///
/// # Errors
///
/// What is wrong with an entry, when its turn comes; what `sink` could not take.
pub fn craft(
    spec: &Spec,
    limits: Limits,
    sink: &mut dyn FnMut(&Frame<'_>) -> Result<(), OutputError>,
) -> Result<u64, CraftError> {
    let hosts = build::hosts(&spec.host);
    let mut flows = BTreeMap::new();
    for (name, spanned) in &spec.flow {
        let line = spec.line(spanned.span());
        let flow = build::flow(spanned.get_ref(), &hosts);
        let flow =
            flow.map_err(|what| SpecError::whole(format!("flow {} (line {line}): {what}", clipped(name))))?;
        flows.insert(&**name, flow);
    }
    let mut run = Run {
        flows,
        unnamed: build::default_flow(&hosts),
        output: Output {
            limits,
            packets: 0,
            bytes: 0,
            next_time: spec.start.unwrap_or_default().0.0,
            interval: spec.interval.map_or(INTERVAL, |given| given.0.0),
            sink,
        },
        frame: Vec::new(),
    };
    for (place, entry) in spec.entries() {
        let result = match entry {
            Entry::Packet(packet) => run.packet(packet),
            Entry::Conversation(conversation) => run.conversation(conversation),
            Entry::Stream(stream) => run.stream(stream, &hosts),
        };
        result.map_err(|stop| stop.at(place))?;
    }
    Ok(run.output.packets)
}

/// Why an entry stopped.
enum Stop {
    Wrong(String),
    Output(OutputError),
}

impl Stop {
    fn at(self, place: Place) -> CraftError {
        match self {
            Stop::Wrong(what) => SpecError::at(place, what).into(),
            Stop::Output(error) if error.is_of_the_frame() => SpecError::at(place, error).into(),
            Stop::Output(error) => error.into(),
        }
    }
}

impl From<String> for Stop {
    fn from(what: String) -> Self {
        Stop::Wrong(what)
    }
}

struct Run<'s, 'o> {
    flows: BTreeMap<&'s str, Flow>,
    /// The one that entries are of that name none.
    unnamed: Option<Flow>,
    output: Output<'o>,
    /// Kept between packets, so that none allocates.
    frame: Vec<u8>,
}

struct Output<'o> {
    limits: Limits,
    packets: u64,
    bytes: u64,
    next_time: u64,
    interval: u64,
    sink: &'o mut dyn FnMut(&Frame<'_>) -> Result<(), OutputError>,
}

/// What the capture says of a frame.
#[derive(Clone, Copy)]
struct Remarks<'a> {
    link_type: LinkType,
    interface: &'a str,
    direction: Option<Direction>,
    comment: &'a str,
    kept: Option<usize>,
    original_length: Option<u32>,
}

impl<'a> Remarks<'a> {
    fn of(packet: &'a Packet, comment: &'a str) -> Self {
        let link_type = link_type(packet);
        Remarks { link_type, interface: "", direction: None, comment, kept: None, original_length: None }
    }
}

fn link_type(packet: &Packet) -> LinkType {
    match (&packet.ethernet, packet.carrier) {
        (Some(_), _) => LinkType::ETHERNET,
        (None, Carrier::Native(..)) => LinkType::INFINIBAND,
        (None, _) => LinkType::RAW_IP,
    }
}

impl Output<'_> {
    fn put(&mut self, frame: &[u8], remarks: Remarks<'_>) -> Result<(), Stop> {
        let Limits { packets, bytes } = self.limits;
        self.bytes = self.bytes.saturating_add(frame.len() as u64);
        if self.packets >= packets || self.bytes > bytes {
            return Err(Stop::Wrong(format!("more than {packets} packets or {bytes} bytes; repeat less")));
        }
        self.packets += 1;
        let data = frame.get(..remarks.kept.unwrap_or(frame.len())).unwrap_or(frame);
        let time = self.next_time;
        self.next_time = time.saturating_add(self.interval);
        let frame = Frame {
            original_length: remarks.original_length.unwrap_or(frame.len() as u32),
            interface: remarks.interface,
            direction: remarks.direction,
            comment: remarks.comment,
            ..Frame::new(time, remarks.link_type, data)
        };
        (self.sink)(&frame).map_err(Stop::Output)
    }
}

/// The flow of this name.
fn find<'f>(
    flows: &'f mut BTreeMap<&str, Flow>,
    unnamed: &'f mut Option<Flow>,
    name: Option<&str>,
) -> Result<&'f mut Flow, String> {
    let Some(name) = name else {
        return unnamed.as_mut().ok_or_else(|| {
            "the first two hosts have addresses of two families; describe a flow and name it".to_owned()
        });
    };
    if !flows.contains_key(name) {
        let names = there_are(flows.keys().copied());
        return Err(format!("flow = {:?} is not described; {names}", clipped(name)));
    }
    flows.get_mut(name).ok_or_else(String::new)
}

impl Run<'_, '_> {
    fn packet(&mut self, spec: &PacketSpec) -> Result<(), Stop> {
        if let Some(Given(time)) = spec.time {
            self.output.next_time = time.0;
        }
        let mut remarks = Remarks {
            link_type: LinkType(spec.link_type.unwrap_or(LinkType::ETHERNET.0)),
            interface: spec.interface.as_deref().unwrap_or_default(),
            direction: spec.direction.map(|way| match way {
                WayName::In => Direction::In,
                WayName::Out => Direction::Out,
            }),
            comment: spec.comment.as_deref().unwrap_or_default(),
            kept: spec.kept,
            original_length: spec.original_length,
        };
        let flow = find(&mut self.flows, &mut self.unnamed, spec.flow.as_deref());
        let repeat = spec.repeat.unwrap_or(1);
        let Some(Given(opcode)) = spec.opcode.filter(|_| spec.raw.is_none() && spec.pause.is_none()) else {
            let flow = match (flow, &spec.raw) {
                (Ok(flow), _) => Some(flow),
                (Err(_), Some(_)) if spec.flow.is_none() => None,
                (Err(what), _) => return Err(Stop::Wrong(what)),
            };
            if spec.opcode.is_some() {
                return Err(Stop::Wrong("opcode goes neither with raw bytes nor with a pause".to_owned()));
            }
            effect::other_frame(spec)?;
            build::other_frame(spec, flow.as_deref(), &mut self.frame)?;
            return (0..repeat).try_for_each(|_| self.output.put(&self.frame, remarks));
        };
        let flow = flow?;
        effect::packet(spec, flow)?;
        let way = if spec.reply == Some(true) { Way::Back } else { Way::Forth };
        for _ in 0..repeat {
            let packet = build::packet(spec, opcode, flow)?;
            packet.encode(&mut self.frame).map_err(|error| Stop::Wrong(error.to_string()))?;
            flow.sent(way, &packet);
            if spec.link_type.is_none() {
                remarks.link_type = link_type(&packet);
            }
            self.output.put(&self.frame, remarks)?;
        }
        Ok(())
    }

    fn conversation(&mut self, spec: &ConversationSpec) -> Result<(), Stop> {
        if let Some(Given(time)) = spec.time {
            self.output.next_time = time.0;
        }
        let flow = find(&mut self.flows, &mut self.unnamed, spec.flow.as_deref())?;
        let way = if spec.reply { Way::Back } else { Way::Forth };
        effect::conversation(spec, flow.transport)?;
        let exchange = build::exchange(spec)?;
        let mtu = flow.mtu;
        if let Some(Given(given)) = spec.mtu {
            flow.mtu = build::path_mtu(given)?;
        }
        if let Some(refusal) = exchange.as_ref().and_then(|exchange| exchange.refusal(flow)) {
            return Err(Stop::Wrong(refusal));
        }
        let (frame, output) = (&mut self.frame, &mut self.output);
        let mut comment = spec.comment.as_deref().unwrap_or_default();
        let mut each = |_: Way, packet: &Packet| {
            packet.encode(frame).map_err(|error| Stop::Wrong(error.to_string()))?;
            output.put(frame, Remarks::of(packet, comment))?;
            comment = "";
            Ok::<(), Stop>(())
        };
        for _ in 0..spec.repeat.unwrap_or(1) {
            match &exchange {
                Some(exchange) => exchange.run(flow, way, &mut each)?,
                None => {
                    let connect = spec.operation == OperationName::Connect;
                    let port = spec.port.map_or(PORT, |given| given.0);
                    connect::run(connect, port, flow, way, &mut each)?;
                }
            }
        }
        flow.mtu = mtu;
        Ok(())
    }
    fn stream(&mut self, spec: &StreamSpec, hosts: &BTreeMap<&str, Host>) -> Result<(), Stop> {
        if let Some(Given(time)) = spec.time {
            self.output.next_time = time.0;
        }
        let mut remarks = Remarks {
            link_type: LinkType::ETHERNET,
            interface: "",
            direction: None,
            comment: spec.comment.as_deref().unwrap_or_default(),
            kept: None,
            original_length: None,
        };
        build_stream::run(spec, hosts, &mut |frame| {
            self.output.put(frame, remarks)?;
            remarks.comment = "";
            Ok::<(), Stop>(())
        })
    }
}
