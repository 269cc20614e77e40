// The capture as the page sees it: what packets are, by place (0 to count - 1).

const ROLE = { REQUEST: 1, RESPONSE: 2, ALONE: 3, UNPAIRED: 4, LATE: 5, DUPLICATE: 6, AGAIN: 7, FIRST_SEEN: 13 };
const CAUSES = ["NAK", "implied NAK", "timeout", "RNR", "unknown", "duplicate acknowledgements"];
const MARK = { LOST: 1, CONGESTED: 2, BROKEN: 4, GAP: 8, NANOSECONDS: 128 };
const KIND = {
  OTHER: 0, SEND: 1, WRITE: 2, READ: 3, READ_RESPONSE: 4, ATOMIC: 5, ATOMIC_RESPONSE: 6, ACK: 7, NAK: 8, RNR: 9,
  CONGESTION: 10, DATAGRAM: 11, MANAGEMENT: 12, TERMINATE: 13, SEGMENT: 14,
};
const ENDING = { COMPLETE: 0, NEVER: 1, UNKNOWN: 2 };
const EVERYBODY = 0xffff;

class Capture {
  static async load() {
    const [about, columns, lines] = await Promise.all(["about", "columns", "lines"].map(unpackedElement));
    const utf8 = new TextDecoder();
    return new Capture(JSON.parse(utf8.decode(about)), columns, utf8.decode(lines));
  }

  constructor(about, columns, lines) {
    this.about = about;
    this.count = about.packets;
    let at = 0;
    const types = { nanoseconds: Float64Array, sequence: Float64Array, band_bytes: Float64Array, frame: Float64Array, seconds: Float64Array };
    let bands = 0;
    // As many bands as there are ends of numbers in a column of theirs.
    for (const [name, length] of about.columns) {
      if (name === "band_flow") {
        for (let i = at; i < at + length; i++) if (columns[i] < 0x80) bands++;
      }
      const count = name.startsWith("band_") ? bands : this.count;
      this[name] = column(columns, at, length, count, types[name] ?? Uint32Array);
      at += length;
    }
    this.bands = bands;
    this.lines = lines;
    this.#times();
    this.#lineStarts();
    this.#ends();
    this.#sequences();
    this.#findings();
    this.connections = new Connections(this.about);
    this.frames = new Frames(this.about.pieces, this.captured);
  }

  #times() {
    const { count, seconds, nanoseconds, frame } = this;
    this.time = new Float64Array(count);
    let second = 0;
    let number = 0;
    let last = 0;
    for (let i = 0; i < count; i++) {
      number += frame[i];
      frame[i] = number;
      second += signed(seconds[i]);
      seconds[i] = second;
      // Nanoseconds, for drawing: one in some millions may be wrong; text is made of the two parts.
      if (nanoseconds[i] > 0) last = second * 1e9 + nanoseconds[i] - 1;
      this.time[i] = last;
    }
  }

  #lineStarts() {
    this.lineStart = new Uint32Array(this.count + 1);
    let at = 0;
    for (let i = 0; i < this.count; i++) {
      this.lineStart[i] = at;
      at = this.lines.indexOf("\n", at) + 1;
    }
    this.lineStart[this.count] = at;
  }

  /** From which line of the ladder to which: EVERYBODY for groups. */
  #ends() {
    const { places, pairs } = this.about;
    const place = (address) => places[address] ?? EVERYBODY;
    this.from = new Uint16Array(this.count);
    this.to = new Uint16Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const [source, destination] = pairs[this.pair[i]];
      this.from[i] = Math.min(place(source), EVERYBODY);
      this.to[i] = Math.min(place(destination), EVERYBODY);
    }
  }

  /** Sequence numbers that do not go round, counted from the first of each flow. */
  #sequences() {
    const { count, flow, sequence, about } = this;
    this.offset = new Float64Array(count).fill(NaN);
    /** By flow as the column has it: whether its sequence numbers count bytes. */
    this.isBytes = Uint8Array.from([{ tcp: false }, ...about.flows], (flow) => (flow.tcp ? 1 : 0));
    const last = new Map();
    for (let i = 0; i < count; i++) {
      if (flow[i] === 0 || sequence[i] === 0) continue;
      const bits = about.flows[flow[i] - 1].tcp ? 2 ** 32 : 2 ** 24;
      const before = last.get(flow[i]);
      let offset = 0;
      if (before) {
        let step = (((sequence[i] - before.sequence) % bits) + bits) % bits;
        if (step >= bits / 2) step -= bits;
        offset = before.offset + step;
      }
      last.set(flow[i], { sequence: sequence[i], offset });
      this.offset[i] = offset;
    }
  }

  #findings() {
    this.findings = this.about.findings.map(([rule, flow, places, frames, what]) => {
      const [name, severity, sentence, source, explanation] = this.about.rules[rule];
      return { rule, name, severity, sentence, source, explanation, flow, places, frames, what };
    });
    // By packet: the findings it is named in.
    this.findingsAt = new Map();
    this.findings.forEach((finding, number) => {
      for (const place of finding.places) {
        const at = this.findingsAt.get(place);
        if (at) at.push(number);
        else this.findingsAt.set(place, [number]);
      }
    });
  }

  /** The place of the first number of a sorted list that is not less. */
  static search(list, value, length = list.length) {
    let low = 0;
    let high = length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (list[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The bytes of a packet; waits for the part of the page that has them. */
  bytes(i) {
    return this.frames.bytes(i);
  }

  hasTime(i) {
    return this.nanoseconds[i] > 0;
  }

  /** Seconds since the first packet, as in lines. */
  seconds_text(i) {
    if (!this.hasTime(i)) return "-";
    let whole = this.seconds[i];
    let rest = this.nanoseconds[i] - 1;
    let sign = "";
    if (whole < 0) {
      sign = "-";
      whole = rest > 0 ? -whole - 1 : -whole;
      rest = rest > 0 ? 1e9 - rest : 0;
    }
    const fine = this.marks[i] & MARK.NANOSECONDS;
    const decimals = fine ? String(rest).padStart(9, "0") : String(Math.floor(rest / 1000)).padStart(6, "0");
    return `${sign}${whole}.${decimals}`;
  }

  address(i, side) {
    return this.about.addresses[this.about.pairs[this.pair[i]][side]];
  }

  /** What the line of a packet has behind the addresses. */
  what(i) {
    return this.lines.slice(this.lineStart[i], this.lineStart[i + 1] - 1);
  }

  /** The line as `rdmalab dump` prints it. */
  line(i) {
    return `${this.frame[i]} ${this.seconds_text(i)} ${this.address(i, 0)} > ${this.address(i, 1)}${this.what(i)}`;
  }

  /** What a packet is, short. */
  label(i) {
    return labelOf(this.what(i));
  }

  isAgain(i) {
    return this.role[i] >= ROLE.AGAIN;
  }

  isFirstSeen(i) {
    return this.role[i] >= ROLE.FIRST_SEEN;
  }

  cause(i) {
    return this.isAgain(i) ? CAUSES[(this.role[i] - ROLE.AGAIN) % CAUSES.length] : null;
  }

  isLost(i) {
    return (this.marks[i] & MARK.LOST) !== 0;
  }

  isNegative(i) {
    const kind = this.kind[i];
    return kind === KIND.NAK || kind === KIND.RNR || kind === KIND.TERMINATE;
  }

  /** What a packet is in its conversation, in words; empty where there is nothing to say. */
  roleWords(i) {
    const role = this.role[i];
    const words = [];
    if (role === ROLE.UNPAIRED) words.push("answers nothing known");
    if (role === ROLE.LATE) words.push("late");
    if (role === ROLE.DUPLICATE) words.push("twice");
    if (this.isAgain(i)) {
      const cause = this.cause(i);
      words.push(cause === "unknown" ? "again" : `again: ${cause}`);
      if (this.isFirstSeen(i)) words.push("first time not captured");
    }
    if (this.isLost(i)) words.push("lost");
    if (this.marks[i] & MARK.CONGESTED) words.push("congestion mark");
    if (this.marks[i] & MARK.BROKEN) words.push("broken");
    if (this.marks[i] & MARK.GAP) words.push("bytes missing before");
    return words.join(", ");
  }

  /** Why a packet is as it is: titles, paragraphs and sources. */
  explanations(i) {
    return this.about.explained[this.explained[i]].map((name) => this.about.explanations[name]);
  }

  /** Whether nothing completed an operation, as far as the capture goes. */
  isOpen(band) {
    return this.band_ending[band] !== ENDING.COMPLETE;
  }

  /** What is to be said of how an operation ended; empty of what is complete. */
  endingWords(band) {
    return ["", "It never completed in the capture.", "The capture does not tell whether it completed."][this.band_ending[band]];
  }

  /** Whether a packet is of an operation that never completed. */
  isOfNeverCompleted(i) {
    return this.band[i] > 0 && this.band_ending[this.band[i] - 1] === ENDING.NEVER;
  }

  /** Whether a packet goes to a queue pair, or comes from it as far as its flow tells. */
  isOfQueuePair(i, pair) {
    if (this.queue_pair[i] === pair + 1) return true;
    const flow = this.flow[i] === 0 ? null : this.about.flows[this.flow[i] - 1];
    return flow !== null && !flow.tcp && (flow.from === pair || flow.to === pair);
  }

  connection(i) {
    return this.flow[i] === 0 ? -1 : this.about.flows[this.flow[i] - 1].connection;
  }
}
