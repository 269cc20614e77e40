//! The extended headers of a packet, each there or not.

use crate::aeth::Aeth;
use crate::atomic_ack_eth::AtomicAckEth;
use crate::atomic_eth::AtomicEth;
use crate::deth::Deth;
use crate::error::ParseError;
use crate::feth::Feth;
use crate::header_set::{Header, HeaderSet};
use crate::ieth::Ieth;
use crate::imm_dt::ImmDt;
use crate::packet::{Body, Transport};
use crate::rdeth::Rdeth;
use crate::reader::Reader;
use crate::reth::Reth;
use crate::writer::Writer;
use crate::xrceth::Xrceth;

/// The extended headers that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "each field is the header of its name")]
pub struct Headers {
    pub rdeth: Option<Rdeth>,
    pub xrceth: Option<Xrceth>,
    pub deth: Option<Deth>,
    pub feth: Option<Feth>,
    pub reth: Option<Reth>,
    pub atomic_eth: Option<AtomicEth>,
    pub aeth: Option<Aeth>,
    pub atomic_ack_eth: Option<AtomicAckEth>,
    pub imm_dt: Option<ImmDt>,
    pub ieth: Option<Ieth>,
}

impl Headers {
    /// The headers of a transport and a body, in that order.
    pub(crate) fn of(transport: &Transport, body: &Body) -> Self {
        let mut headers = Headers::default();
        match *transport {
            Transport::Rc | Transport::Uc | Transport::Cnp => {}
            Transport::Rd(rdeth, deth) => {
                headers.rdeth = Some(rdeth);
                headers.deth = deth;
            }
            Transport::Ud(deth) => headers.deth = Some(deth),
            Transport::Xrc(xrceth) => headers.xrceth = xrceth,
        }
        match *body {
            Body::SendFirst
            | Body::SendMiddle
            | Body::SendLast
            | Body::SendOnly
            | Body::WriteMiddle
            | Body::WriteLast
            | Body::ReadResponseMiddle
            | Body::Resync
            | Body::CongestionNotification => {}
            Body::SendLastImm(imm_dt) | Body::SendOnlyImm(imm_dt) | Body::WriteLastImm(imm_dt) => {
                headers.imm_dt = Some(imm_dt);
            }
            Body::SendLastInv(ieth) | Body::SendOnlyInv(ieth) => headers.ieth = Some(ieth),
            Body::WriteFirst(reth)
            | Body::WriteOnly(reth)
            | Body::ReadRequest(reth)
            | Body::AtomicWrite(reth) => headers.reth = Some(reth),
            Body::Flush(feth, reth) => {
                headers.feth = Some(feth);
                headers.reth = Some(reth);
            }
            Body::WriteOnlyImm(reth, imm_dt) => {
                headers.reth = Some(reth);
                headers.imm_dt = Some(imm_dt);
            }
            Body::ReadResponseFirst(aeth)
            | Body::ReadResponseLast(aeth)
            | Body::ReadResponseOnly(aeth)
            | Body::Acknowledge(aeth) => headers.aeth = Some(aeth),
            Body::AtomicAcknowledge(aeth, atomic_ack_eth) => {
                headers.aeth = Some(aeth);
                headers.atomic_ack_eth = Some(atomic_ack_eth);
            }
            Body::CompareSwap(atomic_eth) | Body::FetchAdd(atomic_eth) => {
                headers.atomic_eth = Some(atomic_eth);
            }
        }
        headers
    }

    /// Takes one header from where the reader stands.
    pub(super) fn take(&mut self, header: Header, reader: &mut Reader<'_>) -> Result<(), ParseError> {
        let layer = header.layer();
        match header {
            Header::Rdeth => self.rdeth = Some(Rdeth::decode(reader.take(layer)?)),
            Header::Xrceth => self.xrceth = Some(Xrceth::decode(reader.take(layer)?)),
            Header::Deth => self.deth = Some(Deth::decode(reader.take(layer)?)),
            Header::Feth => self.feth = Some(Feth::decode(reader.take(layer)?)),
            Header::Reth => self.reth = Some(Reth::decode(reader.take(layer)?)),
            Header::AtomicEth => self.atomic_eth = Some(AtomicEth::decode(reader.take(layer)?)),
            Header::Aeth => self.aeth = Some(Aeth::decode(reader.take(layer)?)),
            Header::AtomicAckEth => self.atomic_ack_eth = Some(AtomicAckEth::decode(reader.take(layer)?)),
            Header::ImmDt => self.imm_dt = Some(ImmDt::decode(reader.take(layer)?)),
            Header::Ieth => self.ieth = Some(Ieth::decode(reader.take(layer)?)),
        }
        Ok(())
    }

    /// Puts the headers that are there, in the order of the wire.
    pub(super) fn put(&self, writer: &mut Writer<'_>) {
        if let Some(rdeth) = &self.rdeth {
            writer.put(&rdeth.encode());
        }
        if let Some(xrceth) = &self.xrceth {
            writer.put(&xrceth.encode());
        }
        if let Some(deth) = &self.deth {
            writer.put(&deth.encode());
        }
        if let Some(feth) = &self.feth {
            writer.put(&feth.encode());
        }
        if let Some(reth) = &self.reth {
            writer.put(&reth.encode());
        }
        if let Some(atomic_eth) = &self.atomic_eth {
            writer.put(&atomic_eth.encode());
        }
        if let Some(aeth) = &self.aeth {
            writer.put(&aeth.encode());
        }
        if let Some(atomic_ack_eth) = &self.atomic_ack_eth {
            writer.put(&atomic_ack_eth.encode());
        }
        if let Some(imm_dt) = &self.imm_dt {
            writer.put(&imm_dt.encode());
        }
        if let Some(ieth) = &self.ieth {
            writer.put(&ieth.encode());
        }
    }

    /// The headers that are there.
    pub fn set(&self) -> HeaderSet {
        Header::ALL.into_iter().filter(|header| self.has(*header)).fold(HeaderSet::EMPTY, HeaderSet::with)
    }

    const fn has(&self, header: Header) -> bool {
        match header {
            Header::Rdeth => self.rdeth.is_some(),
            Header::Xrceth => self.xrceth.is_some(),
            Header::Deth => self.deth.is_some(),
            Header::Feth => self.feth.is_some(),
            Header::Reth => self.reth.is_some(),
            Header::AtomicEth => self.atomic_eth.is_some(),
            Header::Aeth => self.aeth.is_some(),
            Header::AtomicAckEth => self.atomic_ack_eth.is_some(),
            Header::ImmDt => self.imm_dt.is_some(),
            Header::Ieth => self.ieth.is_some(),
        }
    }
}
