// Several packets on a line of pixels: for each direction, a line as far as the middle, and over it the worst trouble among
// them, the longer the more packets had some. So rare losses do not hide what else there is.

class Dense {
  constructor(ladder) {
    this.ladder = ladder;
  }

  /** `pixels` are the lines of pixels of the rows. */
  paint(first, last, pixels) {
    const { context, columns } = this.ladder;
    const cells = this.#counted(first, last, pixels);
    context.setLineDash([]);
    for (let cell = 0; cell < cells.counts.length; cell++) {
      if (cells.counts[cell] === 0) continue;
      const y = cell >> 1;
      if (cells.usual[cell] >= 0) this.#usual(cells.usual[cell], y);
      if (cells.worst[cell] >= 0) this.#worst(cells.worst[cell], y, cells.counts[cell], cells.troubled[cell], columns.sign);
    }
    context.globalAlpha = 1;
  }

  /** For each pixel and direction: how many packets, how many with trouble, one without and the worst. */
  #counted(first, last, pixels) {
    const { capture, choice, troubles, view } = this.ladder;
    const { from, to, kind } = capture;
    const { shown } = choice;
    const { weights } = troubles;
    const lines = Math.ceil(view);
    const size = lines * 2;
    const counts = new Uint32Array(size);
    const troubled = new Uint32Array(size);
    const usual = new Int32Array(size).fill(-1);
    const worst = new Int32Array(size).fill(-1);
    const rank = new Uint8Array(size);
    for (let row = first; row < last; row++) {
      const y = pixels[row - first];
      if (y < 0 || y >= lines) continue;
      const i = shown[row];
      const cell = y * 2 + (from[i] < to[i] ? 0 : 1);
      counts[cell] += 1;
      const trouble = weights[row];
      if (trouble === 0) {
        if (usual[cell] < 0 || kind[usual[cell]] === KIND.ACK) usual[cell] = i;
        continue;
      }
      troubled[cell] += 1;
      if (trouble > rank[cell]) {
        rank[cell] = trouble;
        worst[cell] = i;
      }
    }
    return { counts, troubled, usual, worst };
  }

  #usual(i, y) {
    const { context, capture, rows } = this.ladder;
    const [x, toX] = rows.way(i);
    context.fillStyle = kindColour(capture.kind[i]);
    context.globalAlpha = PALE;
    const half = (toX - x) / 2;
    context.fillRect(Math.min(x, x + half), y, Math.abs(half), 1);
  }

  #worst(i, y, count, troubled, signX) {
    const { context, capture, rows, troubles } = this.ladder;
    const [x, toX] = rows.way(i);
    const share = Math.sqrt(troubled / count);
    const length = (toX - x) * (count === 1 ? (capture.isLost(i) ? 0.62 : 1) : Math.max(share * 0.9, 0.04));
    context.fillStyle = capture.isAgain(i) && !capture.isLost(i) ? colours.again : arrowOf(capture, i).colour;
    context.globalAlpha = 1;
    context.fillRect(Math.min(x, x + length), y, Math.abs(length), 1);
    if (capture.findingsAt.has(i)) {
      context.fillStyle = severityColour(troubles.worstFinding(i).severity);
      context.fillRect(signX - 4, y - 1, 8, 3);
    }
  }
}
