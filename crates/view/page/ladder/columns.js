// Where the ladder's columns stand: frames and times, signs of findings, a line for each end with bands beside it, the plot, the
// strip; and what stands above them.

const MOST_LINES = 8;
/** Room in front of the times, for how long pauses are. */
const PAUSE = 54;

class Columns {
  constructor(ladder) {
    this.ladder = ladder;
    this.heads = document.getElementById("heads");
    this.lineOf = new Map();
    this.names = [];
    /** Where the lines of the ends stand. */
    this.lines = [];
  }

  /** The ends that those who are shown need, the busiest first; more than there is room for share the last. */
  chooseLines() {
    const { capture, choice } = this.ladder;
    const counts = new Map();
    const count = (end) => end !== EVERYBODY && counts.set(end, (counts.get(end) ?? 0) + 1);
    for (const i of choice.shown) {
      count(capture.from[i]);
      count(capture.to[i]);
    }
    const ends = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    const own = ends.length > MOST_LINES ? ends.slice(0, MOST_LINES - 1) : ends;
    own.sort((a, b) => a - b);
    this.lineOf = new Map(own.map((end, line) => [end, line]));
    this.names = own.map((end) => capture.about.names[end]);
    if (ends.length > own.length) this.names.push(`${ends.length - own.length} other ends`);
  }

  line(end) {
    return this.lineOf.get(end) ?? this.names.length - 1;
  }

  /** Gives each column its place in the width that there is. */
  layOut() {
    const { width, plot, bands } = this.ladder;
    const isNarrow = width < 560;
    const strip = 12;
    // Where there is little room, words of packets have it first.
    const plotWidth = plot.isOn ? Math.round(Math.min(Math.max((width - 300) * 0.41, 110), 360)) : 0;
    const frame = isNarrow ? 46 : 62;
    const time = isNarrow ? 0 : this.#timeWidth() + PAUSE;
    const signs = 24;
    const last = this.names.length - 1;
    bands.layOut(width);
    const room = (line) => bands.room(line);
    const left = frame + time + signs + (room(0) > 0 ? room(0) + 6 : 0) + 8;
    const right = width - strip - plotWidth - (last > 0 && room(last) > 0 ? room(last) + 6 : 0) - 20;
    this.frame = frame - 6;
    this.time = time > 0 ? frame + time - 8 : 0;
    this.pause = this.time - this.#timeWidth() - 6;
    this.sign = frame + time + signs / 2 - 2;
    this.lines = this.names.map((_, line) => (last === 0 ? left : left + ((right - left) * line) / last));
    this.left = left;
    this.right = Math.max(right, left + 40);
    this.plot = plotWidth > 0 ? { x: width - strip - plotWidth + 10, width: plotWidth - 22 } : null;
    /** Where the ladder ends. */
    this.edge = this.plot ? this.plot.x - 14 : width - 16;
    this.strip = { x: width - strip + 2, width: strip - 4 };
    this.#head(width);
  }

  #head(width) {
    this.heads.replaceChildren();
    this.#title(this.time > 0 ? "frame" : "#", 8, this.frame - 8).style.textAlign = "right";
    if (this.time > 0) this.#title("seconds", this.time - 100, 100).style.textAlign = "right";
    // Names stand over their lines. If there is no room for them beside each other, they take turns on two lines.
    const rooms = (step) => this.lines.map((x, line) => [
      line < step ? this.sign + 10 : (this.lines[line - step] + x) / 2 + 4,
      line + step >= this.lines.length ? this.edge : (x + this.lines[line + step]) / 2 - 4,
    ]);
    const isTight = rooms(1).some(([from, to], line) => this.#wide(this.names[line]) + 2 > to - from);
    this.heads.classList.toggle("two", isTight && this.lines.length > 1);
    rooms(isTight ? 2 : 1).forEach(([from, to], line) => {
      const name = this.#fitting(this.names[line], to - from);
      const wide = Math.min(to - from, this.#wide(name) + 2);
      const left = Math.max(from, Math.min(this.lines[line] - wide / 2, to - wide));
      const span = this.#title(name, left, Math.ceil(wide), isTight && line % 2 === 1 ? "end below" : "end");
      span.title = this.names[line];
    });
    if (this.plot) this.plotHead = this.#title("PSN", this.plot.x, this.plot.width);
  }

  /** How wide the longest time is; later ones are longer. */
  #timeWidth() {
    const { capture, context } = this.ladder;
    context.font = `11.5px ${colours.mono}`;
    const longest = Math.max(capture.count > 0 ? capture.seconds_text(capture.count - 1).length : 0, 8);
    return Math.ceil(context.measureText("0".repeat(longest)).width);
  }

  /** How wide the name of an end is. */
  #wide(text) {
    const { context } = this.ladder;
    context.font = `650 13px ${colours.sans}`;
    return context.measureText(text).width;
  }

  /** A name, or as much of its end as there is room for: there names that begin alike differ. */
  #fitting(name, room) {
    if (this.#wide(name) + 2 <= room) return name;
    let at = 1;
    while (at < name.length && this.#wide(`\u2026${name.slice(at)}`) + 2 > room) at++;
    return `\u2026${name.slice(at)}`;
  }

  #title(text, x, width, name = "") {
    const span = document.createElement("span");
    span.textContent = text;
    span.className = name;
    span.title = text;
    span.style.left = `${Math.round(x)}px`;
    span.style.width = `${Math.round(width)}px`;
    this.heads.append(span);
    return span;
  }
}
