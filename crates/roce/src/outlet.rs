//! The way out of a queue pair: headers, payload, pad and ICRC are put into the batch here, and nowhere else.

use rdmalab_wire::{Body, Bth, NetworkHeader, Transport, encode_headers, pad_count};

use crate::batch::Batch;
use crate::ip_layer::{IpLayer, Numbering};

/// Bytes of an ICRC.
const ICRC: usize = 4;

/// Where one queue pair puts its packets during a poll.
pub(crate) struct Outlet<'a> {
    pub(crate) batch: &'a mut Batch,
    /// To the queue pair's peer, if it has one.
    pub(crate) network: Option<&'a NetworkHeader>,
    /// IPv4 identifications.
    pub(crate) numbering: &'a mut Numbering,
    pub(crate) ip_layer: IpLayer,
    /// Bytes sent since the outlet was made, from the IP header on.
    pub(crate) bytes: usize,
    /// Packets sent since the outlet was made.
    pub(crate) sent: u64,
    /// How many of them had been sent before.
    pub(crate) repeated: u64,
}

impl Outlet<'_> {
    /// Builds one packet to the queue pair's peer. `fill` puts the payload where it belongs; if it fails, nothing is
    /// sent.
    ///
    /// The caller makes sure that the batch is not full.
    #[inline]
    pub(crate) fn send<E>(
        &mut self,
        transport: &Transport,
        bth: &Bth,
        body: &Body,
        payload: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(network) = self.network else { return Ok(()) };
        self.send_through(network, transport, bth, body, payload, fill)
    }

    /// As [`send`](Self::send), with other headers in front.
    pub(crate) fn send_through<E>(
        &mut self,
        network: &NetworkHeader,
        transport: &Transport,
        bth: &Bth,
        body: &Body,
        payload: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(space) = self.batch.space() else { return Ok(()) };
        let start = network.length();
        let Some(ib) = space.get_mut(start..) else { return Ok(()) };
        let Ok(headers) = encode_headers(bth, transport, body, payload, ib) else { return Ok(()) };
        let pad = pad_count(payload);
        let end = headers + payload + pad;
        let Some(data) = ib.get_mut(headers..end) else { return Ok(()) };
        let (data, padding) = data.split_at_mut(payload);
        fill(data)?;
        padding.fill(0);

        let length = start + end + ICRC;
        let begins = self.batch.is_empty();
        let identification = self.numbering.next(self.ip_layer, network, length, begins);
        let Some(space) = self.batch.space() else { return Ok(()) };
        let Some(packet) = space.get_mut(..length) else { return Ok(()) };
        if network.finish(packet, identification).is_ok() {
            self.batch.commit(length);
            self.sent += 1;
            self.bytes += length;
        }
        Ok(())
    }
}
