// The bytes of packets: they are packed in pieces, of which the last ones that were looked at are kept unpacked.

const MOST_UNPACKED = 8;

class Frames {
  /** How many frames each piece has, and how many bytes each frame. */
  constructor(pieces, captured) {
    this.captured = captured;
    this.start = [0];
    for (const frames of pieces) this.start.push(this.start.at(-1) + frames);
    this.unpacked = new Map();
  }

  /** The bytes of a packet; waits for the part of the page that has them. */
  async bytes(i) {
    const piece = Capture.search(this.start, i + 1) - 1;
    if (!this.unpacked.has(piece)) {
      if (this.unpacked.size >= MOST_UNPACKED) this.unpacked.delete(this.unpacked.keys().next().value);
      this.unpacked.set(piece, this.#piece(piece));
    }
    const bytes = await this.unpacked.get(piece);
    let at = 0;
    for (let j = this.start[piece]; j < i; j++) at += this.captured[j];
    return bytes.subarray(at, at + this.captured[i]);
  }

  async #piece(piece) {
    if (document.readyState === "loading" && !document.getElementById(`frames-${piece + 1}`)) {
      await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
    }
    return unpackedElement(`frames-${piece}`);
  }
}
