// The fields of a packet: read from its bytes by its layout, written as `rdmalab dump -v` writes them.

const FROM = { DECIMAL: 0, HEXADECIMAL: 1, ETHERNET: 2, IPV4: 3, IPV6: 4, BYTES: 5, COLUMN: 6, WORD: 7, EXTRA: 8 };

/** The number in so many bits. */
function numberAt(bytes, bit, bits) {
  const first = bit >> 3;
  const end = (bit + bits + 7) >> 3;
  let number = 0n;
  for (let at = first; at < end; at++) number = (number << 8n) | BigInt(bytes[at] ?? 0);
  return (number >> BigInt(end * 8 - bit - bits)) & ((1n << BigInt(bits)) - 1n);
}

const twoDigits = (byte) => byte.toString(16).padStart(2, "0");

/** An IPv6 address: the longest run of zeros is left out, the first of equals. */
function ipv6(bytes) {
  const parts = [];
  for (let i = 0; i < 16; i += 2) parts.push((bytes[i] << 8) | bytes[i + 1]);
  const isMapped = parts.slice(0, 5).every((part) => part === 0) && parts[5] === 0xffff;
  if (isMapped) return `::ffff:${bytes.slice(12).join(".")}`;
  let best = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && parts[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = (list) => list.map((part) => part.toString(16)).join(":");
  if (best.length < 2) return hex(parts);
  return `${hex(parts.slice(0, best.start))}::${hex(parts.slice(best.start + best.length))}`;
}

function written(from, what, bytes, bit, bits, times) {
  const slice = () => bytes.subarray(bit >> 3, (bit + bits + 7) >> 3);
  switch (from) {
    case FROM.DECIMAL:
      return times === 0 ? String(bits >> 3) : String(numberAt(bytes, bit, bits) * BigInt(times));
    case FROM.HEXADECIMAL:
      return `0x${(numberAt(bytes, bit, bits) * BigInt(times)).toString(16).padStart(what, "0")}`;
    case FROM.IPV4:
      // One that is mapped into an IPv6 address is at its end.
      return Array.from(slice()).slice(-4).join(".");
    case FROM.IPV6:
      return ipv6(Array.from(slice()));
    default:
      return Array.from(slice(), twoDigits).join(":");
  }
}

/** A field from a column of the page. */
function fromColumn(capture, name, i) {
  switch (name) {
    case "frame.number":
      return String(capture.frame[i]);
    case "frame.len":
      return String(capture.length[i]);
    case "frame.cap_len":
      return String(capture.captured[i]);
    default: {
      let time = BigInt(capture.seconds[i]) * 1000000000n + BigInt(capture.nanoseconds[i] - 1);
      if (name === "frame.time_epoch") time += BigInt(capture.about.first_time);
      const size = time < 0n ? -time : time;
      const rest = String(size % 1000000000n).padStart(9, "0");
      return `${time < 0n ? "-" : ""}${size / 1000000000n}.${rest}`;
    }
  }
}

/**
 * All fields of a packet in the order of the wire: name, value, where it stands (bit and bits, none if nowhere), and whether it
 * begins something of iWARP's.
 */
function fieldsOf(capture, i, bytes) {
  const { names, groups, layouts, extras } = capture.about.layouts;
  const layout = layouts[capture.layout[i]];
  const texts = extras[capture.extras[i]];
  const fields = [];
  let extra = 0;
  for (let g = 0; g < layout.length; g += 2) {
    const [beginsUnit, entries] = groups[layout[g]];
    const base = layout[g + 1] * 8;
    entries.forEach(([name, from, what, bit, bits, times], place) => {
      let value;
      if (from === FROM.COLUMN) value = fromColumn(capture, names[name], i);
      else if (from === FROM.WORD) value = what;
      else if (from === FROM.EXTRA) value = texts[extra++];
      else value = written(from, what, bytes, base + bit, bits, times);
      fields.push({
        name: names[name],
        value,
        bit: bits === undefined ? null : base + bit,
        bits: bits ?? 0,
        beginsUnit: place === 0 && beginsUnit === 1,
      });
    });
  }
  return fields;
}

/** The header that a field is of, by its name; empty if it is of the one above. */
function headerOf(name) {
  const parts = name.split(".");
  if (parts[0] === "rdmalab") return "";
  return parts.slice(0, parts[0] === "infiniband" ? 2 : 1).join(".");
}

const HEADERS = {
  frame: "Frame",
  eth: "Ethernet",
  vlan: "VLAN tag",
  ip: "IPv4",
  ipv6: "IPv6",
  udp: "UDP",
  tcp: "TCP",
  arp: "ARP",
  icmp: "ICMP",
  icmpv6: "ICMPv6",
  macc: "Flow control",
  "infiniband.lrh": "Local route header",
  "infiniband.grh": "Global route header",
  "infiniband.bth": "Base transport header",
  "infiniband.rdeth": "Reliable datagram header",
  "infiniband.deth": "Datagram header",
  "infiniband.reth": "RDMA header",
  "infiniband.atomiceth": "Atomic header",
  "infiniband.aeth": "Acknowledge header",
  "infiniband.atomicacketh": "Atomic acknowledge header",
  "infiniband.immdt": "Immediate data",
  "infiniband.ieth": "Invalidate header",
  "infiniband.mad": "Management datagram",
  "infiniband.cm": "Connection management",
  "infiniband.invariant": "Invariant CRC",
  "infiniband.variant": "Variant CRC",
  iwarp_mpa: "MPA",
  iwarp_ddp: "DDP",
  iwarp_rdma: "RDMAP",
};

function headerTitle(header) {
  return HEADERS[header] ?? header;
}
