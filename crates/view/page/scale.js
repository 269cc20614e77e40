// Where rows stand: one below the other, or as time goes by. Heights are pixels of a drawing that may be very long.

class Scale {
  constructor(choice) {
    this.choice = choice;
    this.isTime = false;
    this.rowHeight = 24;
    /** Pixels of a nanosecond. */
    this.rate = 0;
    this.times = new Float64Array(0);
    this.update();
  }

  update() {
    const { shown, capture } = this.choice;
    this.times = new Float64Array(shown.length);
    let latest = -Infinity;
    for (let row = 0; row < shown.length; row++) {
      latest = Math.max(latest, capture.time[shown[row]]);
      this.times[row] = latest;
    }
    this.span = shown.length > 1 ? Math.max(this.times[shown.length - 1] - this.times[0], 1) : 1;
    if (this.rate === 0) this.rate = Math.min((shown.length * 24) / this.span, 4e6 / this.span);
  }

  get height() {
    const rows = this.choice.shown.length;
    return this.isTime ? this.span * this.rate + 2 * Scale.EDGE : rows * this.rowHeight + 2 * Scale.EDGE;
  }

  /** The middle of a row. */
  y(row) {
    if (this.isTime) return Scale.EDGE + ((this.times[row] ?? 0) - (this.times[0] ?? 0)) * this.rate;
    return Scale.EDGE + (row + 0.5) * this.rowHeight;
  }

  /** The first row whose middle is not above. */
  rowAt(y) {
    const rows = this.choice.shown.length;
    if (this.isTime) return Capture.search(this.times, (this.times[0] ?? 0) + (y - Scale.EDGE) / this.rate);
    return Math.max(0, Math.min(rows, Math.ceil((y - Scale.EDGE) / this.rowHeight - 0.5)));
  }

  /** The row nearest to a place; -1 without rows. */
  nearest(y) {
    const rows = this.choice.shown.length;
    const row = Math.min(this.rowAt(y), rows - 1);
    if (row > 0 && Math.abs(this.y(row - 1) - y) <= Math.abs(this.y(row) - y)) return row - 1;
    return row;
  }

  /** For each of some rows the line of pixels that its middle is on, in a view from `top` on. Good until it is called again. */
  pixels(first, last, top) {
    if (this.lines === undefined || this.lines.length < last - first) this.lines = new Int32Array(last - first);
    const { lines, times, rate, rowHeight } = this;
    if (this.isTime) {
      const from = Scale.EDGE - top - times[0] * rate;
      for (let row = first; row < last; row++) lines[row - first] = Math.floor(from + times[row] * rate);
    } else {
      const from = Scale.EDGE - top + rowHeight / 2;
      for (let row = first; row < last; row++) lines[row - first] = Math.floor(from + row * rowHeight);
    }
    return lines;
  }

  zoom(factor, view) {
    if (this.isTime) {
      const least = Math.max(view - 2 * Scale.EDGE, 50) / this.span;
      this.rate = Math.max(Math.min(this.rate * factor, 100), Math.min(least, 100));
    } else {
      const least = Math.max(view - 2 * Scale.EDGE, 50) / Math.max(this.choice.shown.length, 1);
      this.rowHeight = Math.max(Math.min(this.rowHeight * factor, 48), Math.min(least, 24));
    }
  }

  /** How far apart rows are at a place, about. */
  spacing(row) {
    if (!this.isTime) return this.rowHeight;
    const rows = this.choice.shown.length;
    const from = Math.max(0, row - 2);
    const to = Math.min(rows - 1, row + 2);
    return to > from ? (this.y(to) - this.y(from)) / (to - from) : 24;
  }
}
Scale.EDGE = 12;
