//! What of a capture was not judged at all, so that nobody takes it for clean.

use core::fmt;

use rdmalab_trace::{LinkType, Record, Unread};

use crate::words::Counted;

/// What was not judged at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unjudged {
    /// Packets whose link type is not understood, or that are not of the link type that the file says; the first such type.
    pub links: Option<(LinkType, u64)>,
    /// Raw packets of native links, whose transport is not InfiniBand's.
    pub raw: u64,
    /// Packets that the capture cut within the headers of an InfiniBand packet, or of what may be one; the first frame. The
    /// conversations that they may be of are judged behind each as if the capture began there.
    pub headers: Option<(u64, u64)>,
    /// Management datagrams that the capture cut before what they say.
    pub management: u64,
    /// Packets that the capture cut within TCP's header.
    pub tcp_headers: u64,
    /// IP fragments of RoCE, or of what may be RoCE or iWARP; the first frame. The conversations that they may be of are judged behind
    /// each as if the capture began there.
    pub fragments: Option<(u64, u64)>,
    /// Packets that are several datagrams of RoCE in one, and the first frame; their conversations are judged behind each as if the
    /// capture began there.
    pub merged: Option<(u64, u64)>,
    /// TCP connections with data in which no iWARP was recognised, and those of them whose packets the capture cut. Other
    /// protocols are such, too.
    pub tcp_connections: (u64, u64),
    /// No packet was of RDMA, or there was none.
    pub nothing_found: bool,
}

impl Unjudged {
    /// Takes note of a packet that was not understood.
    pub(crate) fn add(&mut self, unread: Unread, record: &Record<'_>) {
        match unread {
            Unread::Link => self.links.get_or_insert((record.link_type, 0)).1 += 1,
            Unread::Raw => self.raw += 1,
            Unread::Headers => self.headers.get_or_insert((record.frame, 0)).1 += 1,
            Unread::TcpHeader => self.tcp_headers += 1,
            Unread::Fragment => self.fragments.get_or_insert((record.frame, 0)).1 += 1,
            Unread::Merged => self.merged.get_or_insert((record.frame, 0)).1 += 1,
        }
    }

    /// Packets.
    pub fn packets(&self) -> u64 {
        let links = self.links.map_or(0, |(_, packets)| packets);
        let of = |counted: Option<(u64, u64)>| counted.map_or(0, |(_, packets)| packets);
        let frames = of(self.headers) + of(self.fragments) + of(self.merged);
        links + self.raw + frames + self.management + self.tcp_headers
    }

    /// What was not judged and why, one sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some((link_type, packets)) = self.links {
            let number = link_type.0;
            let name = if link_type.to_string().contains("link type") {
                String::new()
            } else {
                format!(" ({link_type})")
            };
            said.push(format!(
                "{}, as link type {number}{name} is not understood, or is not what is in the file",
                Counted(packets, "packet", "")
            ));
        }
        if self.raw > 0 {
            said.push(format!(
                "{} raw packets of native links, whose transport is not InfiniBand's",
                self.raw
            ));
        }
        if let Some((first, packets)) = self.headers {
            said.push(format!(
                "{}, frame {first} the first, as the capture cut within the headers; these take up to 128 bytes",
                Counted(packets, "packet", " of RoCE or InfiniBand, or what may be such")
            ));
        }
        if let Some((first, packets)) = self.fragments {
            said.push(format!(
                "{}, frame {first} the first, as they are not put together",
                Counted(packets, "IP fragment", " of RoCE, or what may be such")
            ));
        }
        if let Some((first, packets)) = self.merged {
            said.push(format!(
                "{}, frame {first} the first, as each is several datagrams: segmentation offload had not cut them yet, or receive \
                 offload had put them together",
                Counted(packets, "packet", " of RoCE")
            ));
        }
        if self.management > 0 {
            said.push(format!(
                "{}, as the capture cut within; they take up to 350 bytes",
                Counted(self.management, "management datagram", "")
            ));
        }
        if self.tcp_headers > 0 {
            let packets = Counted(self.tcp_headers, "packet", "");
            said.push(format!("{packets}, as the capture cut within the TCP header"));
        }
        if let (all @ 1.., cut) = self.tcp_connections {
            let cut = if cut > 0 { format!("; the capture cut packets of {cut}") } else { String::new() };
            said.push(format!(
                "{}, in which no start-up and no FPDUs of iWARP were recognised{cut}",
                Counted(all, "TCP connection", "")
            ));
        }
        if self.nothing_found {
            said.push("anything, as no packet was seen to be of RDMA".to_owned());
        }
        said
    }
}

/// A line for each.
impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentences().iter().try_for_each(|sentence| writeln!(f, "not judged: {sentence}"))
    }
}
