// Connections: flows that belong together, and their names.

class Connections {
  constructor(about) {
    this.about = about;
    /** The flows of each connection, by the place of its first. */
    this.flows = new Map();
    for (const flow of about.flows) {
      const flows = this.flows.get(flow.connection);
      if (flows) flows.push(flow);
      else this.flows.set(flow.connection, [flow]);
    }
    for (const flows of this.flows.values()) flows.sort((a, b) => (a.number ?? Infinity) - (b.number ?? Infinity));
  }

  /** A connection with the numbers that its flows have in `rdmalab lint`; none of TCP without iWARP. */
  name(number) {
    const numbers = this.flows.get(number).filter((flow) => flow.number !== null).map((flow) => flow.number);
    return numbers.length === 0 ? this.#ends(number) : `${numbers.join(", ")}: ${this.#ends(number)}`;
  }

  #ends(number) {
    const flow = this.about.flows[number];
    const peer = this.flows.get(number).find((other) => other !== flow);
    const name = (address) => this.about.addresses[address];
    const [a, b] = flow.ends;
    if (flow.tcp) return `TCP ${name(a)}:${flow.from} \u21c4 ${name(b)}:${flow.to}`;
    const pair = (value) => (value === null || value === undefined ? "?" : `0x${value.toString(16)}`);
    const transport = flow.transport ?? "";
    if (!peer && flow.from !== null) return `${transport} ${name(a)} qp ${pair(flow.from)} \u2192 ${name(b)} qp ${pair(flow.to)}`.trim();
    if (!peer) return `${transport} ${name(a)} \u2192 ${name(b)} qp ${pair(flow.to)}`.trim();
    return `${transport} ${name(a)} qp ${pair(peer.to)} \u21c4 ${name(b)} qp ${pair(flow.to)}`.trim();
  }
}
