// Operations as bands beside the end that asked for them, from their first packet to what completed them. Those that nothing
// completed are outlines, open below the last sign of them.

/** Widest and narrowest, with what is between two. */
const BAND = 7;
const NARROW_BAND = 5;
/** How far the points below an open band go. */
const OPEN_END = 16;
/** Pixels by which a band ends behind the one above at least, to be drawn. */
const LEAST = 0.7;

class Bands {
  constructor(ladder) {
    this.ladder = ladder;
    /** How many stand beside each other at each line. */
    this.beside = [];
    /** By line and place: bands in the order in which they begin. */
    this.stacks = new Map();
    this.width = BAND;
  }

  /** The lines have changed. */
  update() {
    const { capture, columns } = this.ladder;
    this.beside = columns.names.map(() => 0);
    this.stacks = new Map();
    for (let band = 0; band < capture.bands; band++) {
      const flow = capture.about.flows[capture.band_flow[band]];
      const end = capture.about.places[flow.ends[0]];
      if (end === null || !columns.lineOf.has(end)) continue;
      const line = columns.lineOf.get(end);
      this.beside[line] = Math.max(this.beside[line], capture.band_beside[band] + 1);
      const key = line * 16 + capture.band_beside[band];
      const stack = this.stacks.get(key);
      if (stack) stack.push(band);
      else this.stacks.set(key, [band]);
    }
    for (const stack of this.stacks.values()) stack.sort((a, b) => capture.band_begun[a] - capture.band_begun[b]);
  }

  /** Many bands beside each other are narrower, so that they leave room for the packets. */
  layOut(width) {
    const most = Math.max(...this.beside, 1);
    this.width = Math.max(NARROW_BAND, Math.min(BAND, Math.floor((width * 0.06) / most)));
  }

  /** The room that the bands of a line need. */
  room(line) {
    return (this.beside[line] ?? 0) * this.width;
  }

  /** Where the band of such a line and place beside others stands. */
  #x(key) {
    const line = Math.floor(key / 16);
    const beside = key % 16;
    const x = this.ladder.columns.lines[line];
    return line === 0 ? x - 8 - (beside + 1) * this.width : x + 6 + beside * this.width;
  }

  /** From where to where a band goes, down the whole drawing. */
  #span(band) {
    const { capture, choice, scale } = this.ladder;
    const last = Math.max(choice.shown.length - 1, 0);
    return [capture.band_begun[band], capture.band_done[band]].map((place) => scale.y(Math.min(choice.row(place), last)));
  }

  /** The first band of a stack that has not ended in front of a packet: those of a stack do not overlap, but where all share the last place. */
  #from(stack, place) {
    const { capture } = this.ladder;
    let low = 0;
    let high = stack.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (capture.band_done[stack[middle]] < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The operation whose band is at a place of the drawing; -1 if none is. */
  at(x, y) {
    const { capture } = this.ladder;
    for (const [key, stack] of this.stacks) {
      const left = this.#x(key);
      if (x < left || x >= left + this.width) continue;
      const found = stack.find((band) => {
        const [start, end] = this.#span(band);
        return y >= start - 6 && y <= end + (capture.isOpen(band) ? OPEN_END : 6);
      });
      if (found !== undefined) return found;
    }
    return -1;
  }

  /** The packet of an operation that is shown nearest above a row, or else its first. */
  packet(band, row) {
    const { capture, choice } = this.ladder;
    const first = choice.row(capture.band_begun[band]);
    for (let at = Math.min(row, choice.shown.length - 1); at >= first; at--) {
      if (capture.band[choice.shown[at]] === band + 1) return choice.shown[at];
    }
    return capture.band_begun[band];
  }

  paint(first, last) {
    const { capture, choice, scale, top } = this.ladder;
    const to = choice.shown[last - 1];
    const chosen = choice.selected >= 0 ? capture.band[choice.selected] - 1 : -1;
    for (const [key, stack] of this.stacks) {
      const x = this.#x(key);
      let at = this.#from(stack, choice.shown[first]);
      while (at < stack.length && capture.band_begun[stack[at]] <= to) {
        const end = this.#band(stack[at], x, stack[at] === chosen);
        at += 1;
        // Of many that are too small to be told apart one is drawn.
        const next = scale.rowAt(top + end + LEAST);
        if (next < choice.shown.length) at = Math.max(at, this.#from(stack, choice.shown[next]));
      }
      if (chosen >= 0 && stack.includes(chosen)) this.#band(chosen, x, true);
    }
  }

  /** Draws one; gives back where in view it ends. */
  #band(band, x, isChosen) {
    const { context, capture, top, view } = this.ladder;
    const [start, end] = this.#span(band).map((y) => y - top);
    const y = Math.max(start - 3, -10);
    const length = Math.max(Math.min(end + 3, view + 10) - y, 1.5);
    const colour = operationColour(capture.band_kind[band]);
    const width = this.width - 2;
    if (capture.isOpen(band)) drawOpenBand(context, colour, isChosen, x, y, length, width);
    else drawBand(context, colour, isChosen, x, y, length, width);
    if (capture.band_repeated[band] > 0 && length > 16) {
      context.fillStyle = colours.again;
      context.fillRect(x + width - (width > 4 ? 3 : 1.5), y + 3, width > 4 ? 2 : 1.5, length - 6);
    }
    if (isChosen) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 1;
      context.strokeRect(Math.round(x) - 0.5, Math.round(y) - 0.5, Math.round(width) + 1, Math.round(length) + 1);
    }
    return end;
  }
}
