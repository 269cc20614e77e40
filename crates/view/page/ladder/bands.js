// Operations as bands beside the end that asked for them, from their first packet to what completed them. Those that nothing
// completed are outlines, open below the last sign of them.

/** Widest and narrowest, with what is between two. */
const BAND = 7;
const NARROW_BAND = 5;

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

  paint(first, last) {
    const { capture, choice, columns } = this.ladder;
    const from = choice.shown[first];
    const to = choice.shown[last - 1];
    for (const [key, stack] of this.stacks) {
      const line = Math.floor(key / 16);
      const beside = key % 16;
      const x0 = columns.lines[line];
      const x = line === 0 ? x0 - 8 - (beside + 1) * this.width : x0 + 6 + beside * this.width;
      // The first that has not ended in front: those of a stack do not overlap, but where all share the last place.
      let low = 0;
      let high = stack.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (capture.band_done[stack[middle]] < from) low = middle + 1;
        else high = middle;
      }
      let drawnTo = -Infinity;
      for (let at = low; at < stack.length && capture.band_begun[stack[at]] <= to; at++) {
        drawnTo = this.#band(stack[at], x, drawnTo);
      }
    }
  }

  /** Draws one; gives back how far it goes. Many that are too small to be told apart are drawn once. */
  #band(band, x, drawnTo) {
    const { context, capture, choice, scale, top, view } = this.ladder;
    const start = scale.y(choice.row(capture.band_begun[band])) - top;
    const end = scale.y(Math.min(choice.row(capture.band_done[band]), choice.shown.length - 1)) - top;
    const isChosen = choice.selected >= 0 && capture.band[choice.selected] - 1 === band;
    if (end - drawnTo < 0.7 && !isChosen) return drawnTo;
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
    return end;
  }
}
