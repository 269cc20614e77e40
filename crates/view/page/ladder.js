// The ladder: a canvas that shows the part of a very long drawing that is in view, and nothing else is drawn. What it shows is
// in `ladder/`; here are scrolling, zooming, the pointer, and the order of painting.

const TALLEST = 8_000_000;

class Ladder {
  constructor(capture, choice, scale, plot) {
    Object.assign(this, { capture, choice, scale, plot });
    this.canvas = document.getElementById("canvas");
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.scroller = document.getElementById("scroller");
    this.spacer = document.getElementById("spacer");
    this.under = document.getElementById("under");
    this.columns = new Columns(this);
    this.bands = new Bands(this);
    this.troubles = new Troubles(this);
    this.times = new RowTimes(this);
    this.rows = new Rows(this);
    this.dense = new Dense(this);
    this.top = 0;
    this.isWaiting = false;
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.scroller.addEventListener("pointermove", (event) => this.#hover(event));
    this.scroller.addEventListener("pointerleave", () => this.#setHovered(-1));
    this.scroller.addEventListener("click", (event) => this.#click(event));
    this.scroller.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
    choice.addEventListener("shown", () => this.update());
    choice.addEventListener("selected", () => {
      if (choice.selected >= 0 && choice.reveal) this.reveal(choice.row(choice.selected));
      this.draw();
    });
    choice.addEventListener("search", () => this.draw());
    this.update();
  }

  /** What is shown has changed. */
  update() {
    this.scale.update();
    this.columns.chooseLines();
    this.bands.update();
    this.troubles.update();
    this.resize();
  }

  resize() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(Math.floor(box.width) - this.#barWidth(), 50);
    this.view = Math.max(Math.floor(box.height), 50);
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.columns.layOut();
    // Rows that were small so that many of them fit are not when there are few.
    this.scale.zoom(1, this.view);
    this.#spread();
    // At once: a canvas that has been given a size is black until something is drawn.
    this.#paint();
  }

  #barWidth() {
    return this.scroller.offsetWidth - this.scroller.clientWidth;
  }

  /** Heights beyond what browsers scroll are scrolled faster. */
  #spread() {
    const whole = this.scale.height;
    const tall = Math.min(Math.max(whole, this.view), TALLEST);
    this.spacer.style.height = `${Math.round(tall)}px`;
    this.faster = tall > this.view ? Math.max((whole - this.view) / (tall - this.view), 1) : 1;
    this.#goTo(this.top);
  }

  #goTo(top) {
    this.top = Math.max(0, Math.min(top, this.scale.height - this.view));
    this.expected = Math.round(this.top / this.faster);
    this.scroller.scrollTop = this.expected;
  }

  #scrolled() {
    // A place that was gone to exactly is not rounded to what scrolling knows.
    if (Math.abs(this.scroller.scrollTop - this.expected) > 1) {
      this.top = this.scroller.scrollTop * this.faster;
      this.expected = this.scroller.scrollTop;
    }
    this.draw();
  }

  /** Brings a row into view. */
  reveal(row) {
    const y = this.scale.y(row);
    const edge = Math.min(80, this.view / 4);
    if (y < this.top + edge) this.#goTo(y - Math.max(edge, this.view / 3));
    else if (y > this.top + this.view - edge) this.#goTo(y - this.view + Math.max(edge, this.view / 3));
  }

  /** Brings a row to the middle. */
  centre(row) {
    this.#goTo(this.scale.y(row) - this.view / 2);
    this.draw();
  }

  zoom(factor, at = this.view / 2) {
    const row = this.scale.nearest(this.top + at);
    const before = row < 0 ? 0 : this.scale.y(row) - this.top;
    this.scale.zoom(factor, this.view);
    this.#spread();
    if (row >= 0) this.#goTo(this.scale.y(row) - before);
    this.draw();
  }

  fit() {
    this.scale.zoom(0, this.view);
    this.#spread();
    this.#goTo(0);
    this.draw();
  }

  toggleScale(isTime) {
    const row = this.choice.selected >= 0 ? this.choice.row(this.choice.selected) : this.scale.nearest(this.top + this.view / 2);
    this.scale.isTime = isTime;
    this.scale.zoom(1, this.view);
    this.#spread();
    if (row >= 0) this.centre(row);
  }

  #rowAt(event) {
    const box = this.scroller.getBoundingClientRect();
    const y = event.clientY - box.top + this.top;
    const row = this.scale.nearest(y);
    const reach = Math.max(this.scale.isTime ? 8 : this.scale.rowHeight / 2 + 1, 4);
    return row >= 0 && Math.abs(this.scale.y(row) - y) <= reach ? row : -1;
  }

  #hover(event) {
    const row = this.#rowAt(event);
    this.#setHovered(row < 0 ? -1 : this.choice.shown[row]);
  }

  #setHovered(i) {
    if (this.choice.hovered === i) return;
    this.choice.hovered = i;
    this.tell();
    this.draw();
  }

  /** The whole line of the packet pointed at, or looked at. */
  tell() {
    const i = this.choice.hovered >= 0 ? this.choice.hovered : this.choice.selected;
    this.under.textContent = i >= 0 ? this.capture.line(i) : "";
  }

  #click(event) {
    const box = this.scroller.getBoundingClientRect();
    const x = event.clientX - box.left;
    if (x >= this.columns.strip.x - 2) {
      const row = Math.round(((event.clientY - box.top) / this.view) * (this.choice.shown.length - 1));
      this.centre(row);
      return;
    }
    const y = event.clientY - box.top + this.top;
    const band = this.bands.at(x, y);
    if (band >= 0) {
      this.choice.select(this.bands.packet(band, this.scale.nearest(y)));
      return;
    }
    const row = this.#rowAt(event);
    if (row >= 0) this.choice.select(this.choice.shown[row], { reveal: false });
  }

  #wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = this.scroller.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY / 300), event.clientY - box.top);
  }

  /** Draws soon, once, however often it is asked for. */
  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.#paint();
    });
  }

  #paint() {
    const began = performance.now();
    this.#paintAll();
    this.took = performance.now() - began;
  }

  #paintAll() {
    const { context, scale, choice } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const first = Math.max(0, scale.rowAt(this.top - 40));
    const last = Math.min(choice.shown.length, scale.rowAt(this.top + this.view + 40) + 1);
    this.first = first;
    this.last = last;
    if (choice.shown.length === 0) {
      context.fillStyle = colours.soft;
      context.font = `14px ${colours.sans}`;
      context.textAlign = "center";
      const why = this.capture.count === 0 ? "There is no packet in the capture." : "No packet passes the filters.";
      context.fillText(why, this.width / 2, 60);
      return;
    }
    this.#rowBacks(first, last);
    this.#lifelines();
    this.bands.paint(first, last);
    const isDense = last - first > this.view * 0.7;
    const pixels = isDense ? scale.pixels(first, last, this.top) : null;
    if (isDense) this.dense.paint(first, last, pixels);
    else this.rows.paint(first, last);
    if (isDense || (!scale.isTime && scale.rowHeight < 15)) this.times.ticks(first, last);
    else if (scale.isTime) this.times.spaced(first, last);
    if (this.columns.plot) this.plot.paint(this, context, first, last, pixels);
    this.troubles.paint();
  }

  /** What rows stand on: a tint of what went wrong there, what was found by searching, the packet pointed at, the one looked at. */
  #rowBacks(first, last) {
    const { context, scale, choice, troubles } = this;
    const height = Math.max(Math.min(scale.isTime ? 20 : scale.rowHeight, 26), 3);
    const fill = (row, colour) => {
      if (row < first || row >= last) return;
      context.fillStyle = colour;
      context.fillRect(0, scale.y(row) - this.top - height / 2, this.width - 14, height);
    };
    if (!scale.isTime && scale.rowHeight >= 9) {
      for (let row = first; row < last; row++) if (troubles.weights[row] > 0) fill(row, troubles.ground(choice.shown[row]));
    }
    const fillPacket = (i, colour) => i >= 0 && choice.isShown(i) && fill(choice.row(i), colour);
    if (choice.hits.length > 0 && choice.hits.length < 5000) {
      for (const hit of choice.hits) fillPacket(hit, colours.raised);
    }
    fillPacket(choice.hovered, colours.hover);
    fillPacket(choice.selected, colours.chosen);
  }

  /** The colour that a packet's row has. */
  ground(i) {
    const { choice, scale, troubles } = this;
    if (choice.selected === i) return colours.chosen;
    if (choice.hovered === i) return colours.hover;
    return scale.isTime ? colours.paper : troubles.ground(i);
  }

  #lifelines() {
    const { context } = this;
    context.strokeStyle = colours.line;
    context.lineWidth = 2;
    context.setLineDash([]);
    context.beginPath();
    for (const x of this.columns.lines) {
      context.moveTo(Math.round(x), 0);
      context.lineTo(Math.round(x), this.view);
    }
    context.stroke();
  
}
}
