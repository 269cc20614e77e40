// What went wrong where: how bad it is at a packet, and the strip at the side that shows all of it and the part in view.

class Troubles {
  constructor(ladder) {
    this.ladder = ladder;
    /** How bad it is, by row. */
    this.weights = new Uint8Array(0);
    /** Rows with trouble. */
    this.rows = [];
  }

  /** What is shown has changed. */
  update() {
    const { choice } = this.ladder;
    this.weights = new Uint8Array(choice.shown.length);
    this.rows = [];
    for (let row = 0; row < choice.shown.length; row++) {
      this.weights[row] = this.#weight(choice.shown[row]);
      if (this.weights[row] > 0) this.rows.push(row);
    }
  }

  /** How bad what happened to a packet is: 3 found or lost, 2 refused, 1 again. */
  #weight(i) {
    const { capture } = this.ladder;
    if (capture.isLost(i) || (capture.marks[i] & MARK.BROKEN) !== 0) return 3;
    if (capture.findingsAt.has(i)) return 3;
    if (capture.isNegative(i)) return 2;
    return capture.isAgain(i) || capture.role[i] === ROLE.DUPLICATE ? 1 : 0;
  }

  /** What a packet's row stands on: a tint of what happened to it. */
  ground(i) {
    const { capture } = this.ladder;
    if (capture.isLost(i) || (capture.marks[i] & MARK.BROKEN) !== 0) return colours["bad-tint"];
    if (capture.kind[i] === KIND.RNR) return colours["wait-tint"];
    if (capture.isNegative(i)) return colours["bad-tint"];
    return capture.isAgain(i) ? colours["again-tint"] : colours.paper;
  }

  /** The worst finding of a packet, and whether it was noticed there first; null if there is none. */
  worstFinding(i) {
    const { capture } = this.ladder;
    let worst = null;
    for (const number of capture.findingsAt.get(i) ?? []) {
      const finding = capture.findings[number];
      const rank = SEVERITIES.indexOf(finding.severity);
      const isFirst = finding.places[0] === i;
      if (!worst || rank < worst.rank || (rank === worst.rank && isFirst)) worst = { rank, severity: finding.severity, isFirst };
    }
    return worst;
  }

  paint() {
    const { context, choice, columns, scale, top, view } = this.ladder;
    const { x, width } = columns.strip;
    const rows = choice.shown.length;
    context.fillStyle = colours.raised;
    context.fillRect(x, 0, width, view);
    const colour = ["", colours.again, colours.wait, colours.bad];
    const perLine = Math.max(rows / view, 1);
    const { worst, counts } = this.#lines(view);
    for (let at = 0; at < worst.length; at++) {
      if (worst[at] === 0) continue;
      context.fillStyle = colour[worst[at]];
      // The wider, the more packets had trouble; what was lost or found is at least half as wide.
      const share = Math.sqrt(Math.min(counts[at] / perLine, 1));
      const wide = width * Math.max(share, worst[at] === 3 ? 0.5 : 0.3);
      context.fillRect(x + width - wide, at, wide, perLine > 4 ? 1 : 2);
    }
    context.strokeStyle = colours.soft;
    context.lineWidth = 1;
    const y = (row) => (rows > 1 ? (row / rows) * view : 0);
    const from = y(Math.max(scale.rowAt(top), 0));
    const to = y(scale.rowAt(top + view));
    context.strokeRect(x - 1.5, Math.round(from) + 0.5, width + 2, Math.max(Math.round(to - from) - 1, 3));
  }

  /** For each line of pixels of the strip the worst trouble, and how many packets had some; kept until something changes. */
  #lines(view) {
    if (this.lines?.view !== view || this.lines.rows !== this.rows) {
      const size = Math.ceil(view) + 2;
      this.lines = { view, rows: this.rows, worst: new Uint8Array(size), counts: new Uint32Array(size) };
      const all = Math.max(this.weights.length, 1);
      for (const row of this.rows) {
        const at = Math.floor((row / all) * view);
        this.lines.worst[at] = Math.max(this.lines.worst[at], this.weights[row]);
        this.lines.counts[at] += 1;
      }
    }
    return this.lines;
  }
}
