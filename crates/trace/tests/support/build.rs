//! Capture files made byte by byte, in either byte order, right or wrong.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Big,
    Little,
}

pub(crate) struct Build {
    pub(crate) order: Order,
    pub(crate) bytes: Vec<u8>,
}

#[allow(dead_code)]
impl Build {
    pub(crate) fn pcap(order: Order, nanoseconds: bool) -> Build {
        let mut file = Build { order, bytes: Vec::new() };
        file.u32(if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
        file.u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(1);
        file
    }

    pub(crate) fn record(mut self, seconds: u32, fraction: u32, data: &[u8]) -> Build {
        let length = data.len() as u32;
        self.u32(seconds).u32(fraction).u32(length).u32(length);
        self.bytes.extend_from_slice(data);
        self
    }

    pub(crate) fn pcapng(order: Order) -> Build {
        Build { order, bytes: Vec::new() }.section(order)
    }

    /// A new section, from here on in this order.
    pub(crate) fn section(mut self, order: Order) -> Build {
        self.order = order;
        let mut body = Build { order, bytes: Vec::new() };
        body.u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        self.block(0x0a0d_0d0a, &body.bytes)
    }

    pub(crate) fn interface(self, snap_length: u32, options: &[(u16, &[u8])]) -> Build {
        let mut body = Build { order: self.order, bytes: Vec::new() };
        body.u16(1).u16(0).u32(snap_length).options(options);
        self.block(1, &body.bytes)
    }

    pub(crate) fn enhanced(self, interface: u32, stamp: u64, data: &[u8], options: &[(u16, &[u8])]) -> Build {
        let mut body = Build { order: self.order, bytes: Vec::new() };
        body.u32(interface).u32((stamp >> 32) as u32).u32(stamp as u32);
        body.u32(data.len() as u32).u32(data.len() as u32).padded(data).options(options);
        self.block(6, &body.bytes)
    }

    pub(crate) fn simple(self, original: u32, data: &[u8]) -> Build {
        let mut body = Build { order: self.order, bytes: Vec::new() };
        body.u32(original).padded(data);
        self.block(3, &body.bytes)
    }

    pub(crate) fn block(mut self, kind: u32, body: &[u8]) -> Build {
        let length = body.len() as u32 + 12;
        self.u32(kind).u32(length);
        self.bytes.extend_from_slice(body);
        self.u32(length);
        self
    }

    pub(crate) fn options(&mut self, options: &[(u16, &[u8])]) -> &mut Build {
        for (code, value) in options {
            self.u16(*code).u16(value.len() as u16).padded(value);
        }
        if options.is_empty() { self } else { self.u32(0) }
    }

    pub(crate) fn padded(&mut self, bytes: &[u8]) -> &mut Build {
        self.bytes.extend_from_slice(bytes);
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        self
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Build {
        match self.order {
            Order::Big => self.bytes.extend(value.to_be_bytes()),
            Order::Little => self.bytes.extend(value.to_le_bytes()),
        }
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Build {
        match self.order {
            Order::Big => self.bytes.extend(value.to_be_bytes()),
            Order::Little => self.bytes.extend(value.to_le_bytes()),
        }
        self
    }
}
