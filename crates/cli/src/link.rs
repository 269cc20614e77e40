//! The options by which a live device is opened, the same for every program, and what they come to.

mod checks;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdmalab_device::{
    ConfigError, CongestionControl, Device, DeviceConfig, DeviceError, IwarpCounters, IwarpProfile,
    IwarpSettings, NetError, Profile, Transport, VlanTag,
};
use rdmalab_sim::rule::{self, duplicate, from, lose, only, reorder};
use rdmalab_sim::{Counts, End, Probability, RuleSet, Seed};

use crate::address::OwnAddress;
use crate::capture;
use crate::interrupt;
use crate::outcome::{Error, Result};
use crate::profile;
use crate::watch;

/// How long a packet that is to come behind the next one waits for that, in nanoseconds.
const AT_MOST_BEHIND: u64 = 10_000_000;

/// Where the device is attached, and how it behaves.
#[derive(clap::Args)]
#[group(skip)]
pub struct LinkOptions {
    /// TAP device behind which the emulated host lives; made if it does not exist
    #[arg(long, value_name = "NAME", conflicts_with = "interface")]
    pub tap: Option<String>,

    /// Network interface on which the emulated host lives beside the kernel (AF_PACKET; needs CAP_NET_RAW)
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,

    /// Our own address. With --tap or --interface the emulated host's, with its prefix length, which must not be the
    /// kernel's; may be given several times. Without, one that the kernel has: the device then works over a UDP socket,
    /// which needs no privilege. Of a link-local address that several interfaces have, one is named: fe80::1%eth0
    #[arg(long, value_name = "ADDR[/LEN]", required = true)]
    pub ip: Vec<OwnAddress>,

    /// Next hop to where the prefix of --ip does not lead, with --tap or --interface
    #[arg(long, value_name = "ADDR")]
    pub gateway: Vec<IpAddr>,

    /// The VLAN in which the emulated host lives, with --tap or --interface
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,

    /// The implementation whose habits we have: spec, rxe or connectx
    #[arg(long, value_name = "NAME", default_value = "rxe", conflicts_with = "iwarp", value_parser = profile::profile)]
    pub profile: Profile,

    /// Talk iWARP, over TCP, where connections are made by rdma_cm; its RDMA-CM ports are TCP ports
    #[arg(long)]
    pub iwarp: bool,

    /// With --iwarp, the implementation whose habits we have: linux, which is the RFCs with consideration for Linux' siw, spec
    /// (RFCs alone: with siw some programs wait for ever), siw or chelsio-like
    #[arg(long, value_name = "NAME", default_value = "linux", requires = "iwarp", value_parser = profile::iwarp_profile)]
    pub iwarp_profile: IwarpProfile,

    /// With --iwarp, ask for CRCs or do not: on or off [default: as the profile has it]. They are used if the peer asks
    #[arg(long, value_name = "SWITCH", requires = "iwarp", value_parser = profile::switch)]
    pub crc: Option<bool>,

    /// With --iwarp, ask for markers
    #[arg(long, requires = "iwarp")]
    pub markers: bool,

    /// What slows us down: none, fixed=RATE with a rate in Gbit/s, or dcqcn, which heeds congestion notifications
    #[arg(long, value_name = "WHAT", default_value = "none", conflicts_with = "iwarp", value_parser = profile::congestion_control)]
    pub congestion: CongestionControl,

    /// Lose this share of the RoCE packets (with --iwarp: TCP segments) that we send, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub drop_rate: Probability,

    /// Send this share of our RoCE packets (TCP segments) twice, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub duplicate_rate: Probability,

    /// Send this share of our RoCE packets (TCP segments) behind the next one, or 10 ms later if none comes, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub reorder_rate: Probability,

    /// Send all other RoCE packets (TCP segments) so many milliseconds later, up to 1000
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    pub delay: Duration,

    /// Seed of the losses, our PSNs and TCP's numbers [default: the time of day]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Record all frames as pcapng. With --iwarp the mistreatment above and this need --tap or --interface, since else the
    /// kernel does the TCP
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
}

/// Reads a probability.
fn probability(text: &str) -> std::result::Result<Probability, &'static str> {
    text.parse().ok().and_then(Probability::new).ok_or("a share is a number from 0 to 1")
}

/// Reads a delay.
fn milliseconds(text: &str) -> std::result::Result<Duration, &'static str> {
    let seconds =
        text.parse::<f64>().ok().filter(|delay| (0.0..=1000.0).contains(delay)).map(|ms| ms / 1000.0);
    seconds.map(Duration::from_secs_f64).ok_or("a delay is a number of milliseconds from 0 to 1000")
}

/// A device that was opened.
pub struct Opened {
    /// The device.
    pub device: Device,
    /// The seed, given or taken.
    pub seed: u64,
    /// What the user calls the link: the device's name, or the socket's address.
    pub link: String,
    /// Whether a signal asks the program to end, since before there was a capture.
    pub signalled: Arc<AtomicBool>,
}

impl LinkOptions {
    /// Whether packets are mistreated on purpose.
    pub fn mistreats(&self) -> bool {
        let rates = [self.drop_rate, self.duplicate_rate, self.reorder_rate];
        rates.iter().any(|rate| rate.fraction() > 0.0) || !self.delay.is_zero()
    }

    /// What rules do to the RoCE packets that we send; the first that strikes decides.
    fn rules(&self, seed: u64) -> RuleSet {
        let delay = self.delay.as_nanos() as u64;
        let delayed = if delay > 0 { Probability::ONE } else { Probability::ZERO };
        let rules = [
            lose(self.drop_rate),
            duplicate(self.duplicate_rate),
            reorder(self.reorder_rate, AT_MOST_BEHIND),
            rule::delay(delayed, delay, delay),
        ];
        let (name, is_iwarp) = if self.iwarp { ("TCP segments", true) } else { ("RoCE packets", false) };
        let concerns = move |frame: &rdmalab_sim::Frame<'_>| {
            if is_iwarp { is_tcp(frame.bytes) } else { rdmalab_wire::is_roce_v2(frame.bytes) }
        };
        let add = |set: RuleSet, rule| set.with(from(End::A, only(name, concerns, rule)));
        rules.into_iter().fold(RuleSet::new(Seed::new(seed)), add)
    }

    /// A line for each kind of mistreatment that was asked for: how many packets met it.
    pub fn mistreated(&self, done: &Counts, seed: u64) -> impl Iterator<Item = String> {
        let lines = [
            (self.drop_rate.fraction() > 0.0, "dropped", done.dropped),
            (self.duplicate_rate.fraction() > 0.0, "duplicated", done.duplicated),
            (self.reorder_rate.fraction() > 0.0, "reordered", done.reordered),
            (!self.delay.is_zero(), "delayed", done.delayed),
        ];
        let asked = lines.into_iter().filter(|(is_asked, ..)| *is_asked);
        asked.map(move |(_, what, count)| format!("{what} by rule: {count} (seed {seed})"))
    }

    /// What a device has sent and received, in words.
    pub fn traffic(&self, device: &Device) -> String {
        if self.iwarp {
            let IwarpCounters { sent_fpdus, sent_bytes, received_bytes, .. } = device.iwarp_counters();
            return format!(
                "iWARP: {sent_fpdus} FPDUs sent, {sent_bytes} bytes of TCP; {received_bytes} received"
            );
        }
        let counters = device.counters();
        let (sent, again, received) = (counters.sent_pkts, counters.retransmitted_pkts, counters.rcvd_pkts);
        format!("RoCE packets: {sent} sent, {again} of them again; {received} received")
    }

    /// Opens the device. From before that a signal only sets a flag, so that no capture is left behind empty.
    pub fn open(&self) -> Result<Opened> {
        self.check_host()?;
        let signalled = interrupt::asked()?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = self.seed.unwrap_or(time.as_nanos() as u64);
        let rules = self.mistreats().then(|| self.rules(seed));
        let config = DeviceConfig {
            rules,
            record: self.pcap.clone(),
            zone: self.ip.first().and_then(|own| own.zone.clone()),
            seed,
            gateways: self.gateway.clone(),
            vlan: self.vlan.map(|id| VlanTag { priority: 0, drop_eligible: false, id }),
            transport: if self.iwarp { Transport::Iwarp } else { Transport::Roce },
            iwarp: IwarpSettings {
                profile: self.iwarp_profile.clone(),
                crc: self.crc,
                markers: self.markers,
                ..IwarpSettings::default()
            },
            profile: self.profile,
            congestion_control: self.congestion,
            ..DeviceConfig::new(self.ip.iter().map(|own| own.host).collect())
        };
        if self.tap.is_none() && self.interface.is_none() && (self.vlan.is_some() || !self.gateway.is_empty())
        {
            return Err(Error::usage(
                "--vlan and --gateway are an emulated host's: give --tap or --interface, too",
            ));
        }
        let host = self.tap.as_deref().or(self.interface.as_deref());
        if self.iwarp && host.is_none() && (self.mistreats() || self.pcap.is_some()) {
            return Err(Error::usage(
                "with --iwarp the kernel does the TCP, whose segments are not ours to lose or record",
            )
            .advice("--tap or --interface gives us a host of our own; or record with tcpdump on lo"));
        }
        if let (Some(name), Some(zone)) = (host, self.ip.iter().find_map(|own| own.zone.as_deref())) {
            return Err(Error::usage(format_args!("--ip: the link is that of {name}: leave out %{zone}")));
        }
        if let Some(name) = host
            && let Some(own) = self.ip.iter().find(|own| !own.has_length)
        {
            let address = own.host.address;
            let text = format!("--ip {address} says not how long the prefix of its network is");
            return Err(Error::usage(text)
                .advice(format_args!("say --ip {address}/24, if {name} is in such a network")));
        }
        if host.is_none() && self.ip.len() > 1 {
            return Err(Error::usage("a UDP socket has one address: give one --ip, or --tap or --interface"));
        }
        let (device, link) = match (&self.tap, &self.interface) {
            (Some(tap), _) => (Device::open_tap(tap, config), tap.clone()),
            (None, Some(interface)) => (Device::open_interface(interface, config), interface.clone()),
            (None, None) => {
                let address = config.addresses.first().map(|own| own.address.to_string());
                (Device::open_udp(config), address.unwrap_or_default())
            }
        };
        let device = device.map_err(|error| open_error(error, &link))?;
        watch::over(&device)?;
        Ok(Opened { device, seed, link, signalled })
    }
}

/// Whether a frame is a TCP segment.
pub fn is_tcp(frame: &[u8]) -> bool {
    const TCP: u8 = 6;
    let packet = match frame.get(12..14) {
        Some([0x81, 0x00]) => frame.get(18..),
        _ => frame.get(14..),
    };
    packet.is_some_and(|packet| match packet.first().map(|version| version >> 4) {
        Some(4) => packet.get(9) == Some(&TCP),
        Some(6) => packet.get(6) == Some(&TCP),
        _ => false,
    })
}

fn open_error(error: DeviceError, link: &str) -> Error {
    match &error {
        DeviceError::Config(config) => match **config {
            ConfigError::Mtu { .. } => Error::usage(format_args!("{link}: {error}"))
                .advice(format_args!("give it a larger one: `ip link set {link} mtu 1500`")),
            _ => Error::usage(format_args!("--ip: {error}")),
        },
        DeviceError::Record(fault) => capture::refused(fault),
        DeviceError::KernelsAddress { .. } => Error::usage(error),
        DeviceError::Net(net) => match **net {
            NetError::BadName { .. }
            | NetError::WrongKind { .. }
            | NetError::NoSuchDevice { .. }
            | NetError::NotEthernet { .. } => Error::usage(error),
            NetError::ManyLinks { .. } | NetError::NotOnLink { .. } => {
                Error::usage(format_args!("--ip: {error}"))
            }
            NetError::NotOurAddress { .. } => Error::usage(format_args!("--ip: {error}"))
                .advice("with --tap or --interface the address would be the emulated host's own"),
            _ => Error::failed(error),
        },
        _ => Error::failed(error),
    }
}
