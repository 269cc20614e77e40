// The ladder: a canvas that shows the part of a very long drawing that is in view, and nothing else is drawn.

const TALLEST = 8_000_000;
const MOST_LINES = 8;
const BAND = 7;

class Ladder {
  constructor(capture, choice, scale, plot) {
    Object.assign(this, { capture, choice, scale, plot });
    this.canvas = document.getElementById("canvas");
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.scroller = document.getElementById("scroller");
    this.spacer = document.getElementById("spacer");
    this.heads = document.getElementById("heads");
    this.under = document.getElementById("under");
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
    this.#lines();
    this.#widestBand();
    this.#troubles();
    this.resize();
  }

  /** The ends that those who are shown need, the busiest first; more than there is room for share the last. */
  #lines() {
    const { capture, choice } = this;
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

  /** How many bands stand beside each other at each line, and bands in the order of their places. */
  #widestBand() {
    const { capture } = this;
    this.beside = this.names.map(() => 0);
    this.stacks = new Map();
    for (let band = 0; band < capture.bands; band++) {
      const flow = capture.about.flows[capture.band_flow[band]];
      const end = capture.about.places[flow.ends[0]];
      if (end === null || !this.lineOf.has(end)) continue;
      const line = this.lineOf.get(end);
      this.beside[line] = Math.max(this.beside[line], capture.band_beside[band] + 1);
      const key = line * 16 + capture.band_beside[band];
      const stack = this.stacks.get(key);
      if (stack) stack.push(band);
      else this.stacks.set(key, [band]);
    }
    for (const stack of this.stacks.values()) stack.sort((a, b) => capture.band_begun[a] - capture.band_begun[b]);
  }

  /** Rows of trouble, for the strip at the side. */
  #troubles() {
    const { capture, choice } = this;
    this.troubleRows = [];
    for (let row = 0; row < choice.shown.length; row++) {
      const i = choice.shown[row];
      const weight = this.#trouble(i);
      if (weight > 0) this.troubleRows.push([row, weight]);
    }
  }

  /** How bad what happened to a packet is: 3 found or lost, 2 refused, 1 again. */
  #trouble(i) {
    const { capture } = this;
    if (capture.isLost(i) || (capture.marks[i] & MARK.BROKEN) !== 0) return 3;
    if (capture.findingsAt.has(i)) return 3;
    if (capture.isNegative(i)) return 2;
    return capture.isAgain(i) || capture.role[i] === ROLE.DUPLICATE ? 1 : 0;
  }

  resize() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(Math.floor(box.width) - this.#barWidth(), 50);
    this.view = Math.max(Math.floor(box.height), 50);
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.#layOut();
    this.#spread();
    this.draw();
  }

  #barWidth() {
    return this.scroller.offsetWidth - this.scroller.clientWidth;
  }

  /** Where columns stand. */
  #layOut() {
    const { width } = this;
    const isNarrow = width < 560;
    const strip = 12;
    const plot = this.plot.isOn ? Math.round(Math.min(Math.max(width * 0.27, 110), 360)) : 0;
    const frame = isNarrow ? 46 : 62;
    const time = isNarrow ? 0 : 108;
    const signs = 24;
    const last = this.names.length - 1;
    const room = (line) => (this.beside[line] ?? 0) * BAND;
    const left = frame + time + signs + (room(0) > 0 ? room(0) + 6 : 0) + 8;
    const right = width - strip - plot - (last > 0 && room(last) > 0 ? room(last) + 6 : 0) - 20;
    const lines = this.names.map((_, line) => (last === 0 ? left : left + ((right - left) * line) / last));
    this.columns = {
      frame: frame - 6,
      time: time > 0 ? frame + time - 8 : 0,
      sign: frame + time + signs / 2 - 2,
      lines,
      left,
      right: Math.max(right, left + 40),
      plot: plot > 0 ? { x: width - strip - plot + 10, width: plot - 22 } : null,
      strip: { x: width - strip + 2, width: strip - 4 },
    };
    this.#head();
  }

  #head() {
    const { columns, heads } = this;
    heads.replaceChildren();
    const add = (text, x, width, name = "") => {
      const span = document.createElement("span");
      span.textContent = text;
      span.className = name;
      span.title = text;
      span.style.left = `${Math.round(x)}px`;
      span.style.width = `${Math.round(width)}px`;
      heads.append(span);
      return span;
    };
    add(columns.time > 0 ? "frame" : "#", 8, columns.frame - 8).style.textAlign = "right";
    if (columns.time > 0) add("seconds", columns.time - 100, 100).style.textAlign = "right";
    const edge = columns.plot ? columns.plot.x - 8 : this.width;
    const start = columns.sign + 10;
    columns.lines.forEach((x, line) => {
      const before = line === 0 ? start : (columns.lines[line - 1] + x) / 2 + 4;
      const after = line === columns.lines.length - 1 ? edge : (x + columns.lines[line + 1]) / 2 - 4;
      const half = Math.min(150, Math.max(x - before, after - x));
      const from = Math.max(before, x - half);
      const to = Math.min(after, x + half);
      const span = add(this.names[line], from, to - from, "end");
      // Over its line, as far as there is room.
      if (x - from < to - x - 1) span.style.textAlign = "left";
      else if (to - x < x - from - 1) span.style.textAlign = "right";
    });
    if (columns.plot) this.plotHead = add("PSN", columns.plot.x, columns.plot.width);
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
      const began = performance.now();
      this.#paint();
      this.took = performance.now() - began;
    });
  }

  #paint() {
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
      context.fillText("No packet passes the filters.", this.width / 2, 60);
      return;
    }
    this.#rowBacks(first, last);
    this.#lifelines();
    this.#bands(first, last);
    const isDense = last - first > this.view * 0.7;
    if (isDense) this.#dense(first, last);
    else this.#rows(first, last);
    if (isDense || (!scale.isTime && scale.rowHeight < 15)) this.#ticks(first, last);
    if (this.columns.plot) this.plot.paint(this, context, first, last, isDense);
    this.#strip();
  }

  #rowBacks(first, last) {
    const { context, scale, choice } = this;
    const height = Math.max(Math.min(scale.isTime ? 20 : scale.rowHeight, 26), 3);
    const fill = (i, colour) => {
      if (i < 0 || !choice.isShown(i)) return;
      const row = choice.row(i);
      if (row < first || row >= last) return;
      context.fillStyle = colour;
      context.fillRect(0, scale.y(row) - this.top - height / 2, this.width - 14, height);
    };
    if (choice.hits.length > 0 && choice.hits.length < 5000) {
      for (const hit of choice.hits) fill(hit, colours.raised);
    }
    fill(choice.hovered, colours.hover);
    fill(choice.selected, colours.chosen);
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

  /** Operations, from their first packet to what completed them, beside who asked for them. */
  #bands(first, last) {
    const { context, capture, choice, scale } = this;
    const from = choice.shown[first];
    const to = choice.shown[last - 1];
    const chosen = choice.selected >= 0 ? capture.band[choice.selected] - 1 : -1;
    const lastLine = this.names.length - 1;
    for (const [key, stack] of this.stacks) {
      const line = Math.floor(key / 16);
      const beside = key % 16;
      const x0 = this.columns.lines[line];
      const isLeft = line === 0 || line < lastLine;
      const x = isLeft && line === 0 ? x0 - 8 - (beside + 1) * BAND : x0 + 6 + beside * BAND;
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
        const band = stack[at];
        const top = scale.y(choice.row(capture.band_begun[band])) - this.top;
        const bottom = scale.y(Math.min(choice.row(capture.band_done[band]), choice.shown.length - 1)) - this.top;
        const isChosen = band === chosen;
        // Many that are too small to be told apart are drawn once.
        if (bottom - drawnTo < 0.7 && !isChosen) continue;
        drawnTo = bottom;
        const start = Math.max(top - 3, -10);
        const length = Math.max(Math.min(bottom + 3, this.view + 10) - start, 1.5);
        context.globalAlpha = isChosen ? 1 : 0.5;
        context.fillStyle = operationColour(capture.band_kind[band]);
        if (length > 6) {
          context.beginPath();
          context.roundRect(x, start, BAND - 2, length, 2.5);
          context.fill();
        } else {
          context.fillRect(x, start, BAND - 2, length);
        }
        if (capture.band_repeated[band] > 0 && length > 16) {
          context.globalAlpha = 1;
          context.fillStyle = colours.again;
          context.fillRect(x + (BAND - 2) / 2 - 1, start + 3, 2, length - 6);
        }
      }
      context.globalAlpha = 1;
    }
  }

  /** From where to where an arrow goes; to everybody, all the way to the other side. */
  #way(i) {
    const { capture } = this;
    const { lines, left, right } = this.columns;
    const from = capture.from[i];
    const to = capture.to[i];
    const x = from === EVERYBODY ? lines[0] : lines[this.line(from)];
    if (to === EVERYBODY) return [x, x < (left + right) / 2 ? right : left];
    const toX = lines[this.line(to)];
    return x === toX ? [x, lines.length > 1 && x > left + 60 ? x - 50 : Math.min(x + 50, right)] : [x, toX];
  }

  /** First all arrows, then what is written over them. */
  #rows(first, last) {
    const words = [];
    for (let row = first; row < last; row++) words.push(this.#row(row));
    for (const write of words) write?.();
  }

  /** Draws the arrow of a row; gives back what writes its words. */
  #row(row) {
    const { context, capture, choice, scale, columns } = this;
    const i = choice.shown[row];
    const spacing = scale.isTime ? scale.spacing(row) : scale.rowHeight;
    const y = scale.y(row) - this.top;
    const hasText = spacing >= 15 && (!scale.isTime || this.#isClear(row));
    const fall = spacing >= 15 ? Math.min(7, spacing * 0.3) : 0;
    const [x, toX] = this.#way(i);
    const arrow = arrowOf(capture, i);
    if (spacing < 9) {
      arrow.width = Math.max(Math.min(arrow.width, spacing * 0.6), 0.7);
      if (arrow.isDouble) Object.assign(arrow, { isDouble: spacing >= 6, width: 2, colour: arrow.isLost ? colours.bad : colours.again });
    }
    drawArrow(context, arrow, x, y - fall / 2, toX, y + fall / 2);
    if (capture.findingsAt.has(i)) this.#sign(i, y, spacing);
    if (!scale.isTime && spacing >= 15 && row > 0) this.#pause(row, y - spacing / 2);
    if (!hasText) return null;
    return () => {
      this.#words(row, i, arrow, x, toX, y);
      context.font = `11.5px ${colours.mono}`;
      context.textBaseline = "middle";
      context.textAlign = "right";
      context.fillStyle = colours.faint;
      context.fillText(String(capture.frame[i]), columns.frame, y);
      if (columns.time > 0) {
        context.fillStyle = colours.soft;
        context.fillText(capture.seconds_text(i), columns.time, y);
      }
    };
  }

  /** Frames and times of some rows, where there is no room for all. */
  #ticks(first, last) {
    const { context, capture, choice, scale, columns } = this;
    let next = 0;
    context.font = `11.5px ${colours.mono}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (let y = 10; y < this.view - 8; y += 48) {
      const row = Math.max(scale.nearest(this.top + y), next);
      if (row < first || row >= last) continue;
      next = row + 1;
      const at = scale.y(row) - this.top;
      if (Math.abs(at - y) > 20) continue;
      const i = choice.shown[row];
      context.fillStyle = colours.faint;
      context.fillText(String(capture.frame[i]), columns.frame, at);
      if (columns.time > 0) {
        context.fillStyle = colours.soft;
        context.fillText(capture.seconds_text(i), columns.time, at);
      }
    }
  }

  /** A line where nothing came for long. */
  #pause(row, y) {
    const gap = this.scale.times[row] - this.scale.times[row - 1];
    if (gap < this.#longPause()) return;
    const { context, columns } = this;
    context.strokeStyle = colours.faint;
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(columns.sign + 14, y);
    context.lineTo(this.width - 16, y);
    context.stroke();
    context.setLineDash([]);
    // Where there is no column of times, there is no room for how long.
    if (columns.time === 0) return;
    const text = `+${duration(gap)}`;
    context.font = `10.5px ${colours.sans}`;
    const wide = context.measureText(text).width + 8;
    const right = columns.time;
    context.fillStyle = colours.paper;
    context.fillRect(right - wide, y - 6, wide + 4, 12);
    context.fillStyle = colours.manage;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(text, right, y);
  }

  /** Longer than almost all pauses of what is shown. */
  #longPause() {
    if (this.pauseOf !== this.scale.times) {
      this.pauseOf = this.scale.times;
      const times = this.scale.times;
      const step = Math.max(1, Math.floor(times.length / 2000));
      const gaps = [];
      for (let row = step; row < times.length; row += step) gaps.push(times[row] - times[row - 1]);
      gaps.sort((a, b) => a - b);
      const usual = gaps[Math.floor(gaps.length * 0.5)] ?? 0;
      this.long = Math.max(usual * 100, 20_000);
    }
    return this.long;
  }

  /** Whether there is room for words at a row between those before and behind. */
  #isClear(row) {
    const y = this.scale.y(row);
    const last = this.choice.shown.length - 1;
    return (row === 0 || y - this.scale.y(row - 1) >= 13) && (row === last || this.scale.y(row + 1) - y >= 10);
  }

  #words(row, i, arrow, x, toX, y) {
    const { context, capture } = this;
    const length = Math.abs(toX - x);
    const goesRight = toX > x;
    context.textBaseline = "middle";
    context.font = `12px ${colours.mono}`;
    this.character ??= context.measureText("0".repeat(50)).width / 50;
    const end = arrow.isLost ? length * 0.62 - 10 : length - 18;
    let at = 12;
    if (arrow.sign !== "") {
      context.font = `bold 13px ${colours.sans}`;
      context.textAlign = "center";
      const signX = goesRight ? x + 14 : x - 14;
      context.fillStyle = colours.paper;
      context.fillRect(signX - 8, y - 8, 16, 16);
      context.fillStyle = capture.isAgain(i) && !arrow.isLost ? colours.again : arrow.colour;
      context.fillText(arrow.sign, signX, y);
      at = 24;
    }
    const words = capture.roleWords(i);
    const label = capture.label(i);
    let room = Math.floor((end - at - 10) / this.character);
    if (room < 6) return;
    if (arrow.isLost) {
      const text = label.length > room ? `${label.slice(0, room - 1)}\u2026` : label;
      this.#lostWords(i, text, words, goesRight, x, at, x + (toX - x) * 0.62, toX, y);
      return;
    }
    const wordsRoom = words === "" ? 0 : words.length + 3;
    let text = label;
    let extra = words;
    if (label.length + wordsRoom > room) {
      if (wordsRoom > 0 && room - wordsRoom < 14) extra = "";
      room -= extra === "" ? 0 : wordsRoom;
      if (text.length > room) text = `${text.slice(0, Math.max(room - 1, 1))}\u2026`;
    }
    const textWidth = text.length * this.character;
    const extraWidth = extra === "" ? 0 : (extra.length + 2) * this.character + 6;
    const whole = textWidth + extraWidth;
    const start = goesRight ? x + at : x - at - whole - 8;
    context.globalAlpha = 0.94;
    context.fillStyle = this.choice.selected === i ? colours.chosen : this.choice.hovered === i ? colours.hover : colours.paper;
    context.fillRect(start, y - 8, whole + 8, 16);
    context.globalAlpha = 1;
    context.font = `12px ${colours.mono}`;
    context.textAlign = "left";
    context.fillStyle = colours.ink;
    context.fillText(text, start + 4, y + 0.5);
    if (extra !== "") {
      const pill = start + 4 + textWidth + 6;
      const colour = arrow.isLost || capture.marks[i] & MARK.BROKEN ? colours.bad : capture.isAgain(i) ? colours.again : colours.soft;
      context.strokeStyle = colour;
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(pill, y - 7.5, extraWidth - 6, 15, 7.5);
      context.stroke();
      context.fillStyle = colour;
      context.font = `11px ${colours.sans}`;
      context.textAlign = "center";
      context.fillText(extra, pill + (extraWidth - 6) / 2, y + 0.5, extraWidth - 14);
    }
  }

  /** Of a packet that is lost, the words stand where it did not come to. */
  #lostWords(i, text, words, goesRight, x, at, crossX, toX, y) {
    const { context } = this;
    const wide = text.length * this.character + 8;
    const start = goesRight ? x + at : x - at - wide;
    context.fillStyle = this.choice.selected === i ? colours.chosen : this.choice.hovered === i ? colours.hover : colours.paper;
    context.fillRect(start, y - 8, wide, 16);
    context.font = `12px ${colours.mono}`;
    context.textAlign = "left";
    context.fillStyle = colours.ink;
    context.fillText(text, start + 4, y + 0.5);
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.bad;
    context.textAlign = goesRight ? "left" : "right";
    context.fillText(words, goesRight ? crossX + 12 : crossX - 12, y + 1, Math.abs(toX - crossX) - 18);
  }

  /** What was found at a packet: filled where it was noticed first. */
  #sign(i, y, spacing) {
    const { context, capture, columns } = this;
    const worst = this.#worst(i);
    if (!worst) return;
    context.font = `${Math.max(Math.min(spacing * 0.6, 14), 9)}px ${colours.sans}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = severityColour(worst.severity);
    context.globalAlpha = worst.isFirst ? 1 : 0.5;
    context.fillText(SEVERITY_SIGN[worst.severity], columns.sign, y);
    context.globalAlpha = 1;
  }

  #worst(i) {
    let worst = null;
    for (const number of this.capture.findingsAt.get(i) ?? []) {
      const finding = this.capture.findings[number];
      const rank = SEVERITIES.indexOf(finding.severity);
      const isFirst = finding.places[0] === i;
      if (!worst || rank < worst.rank || (rank === worst.rank && isFirst)) worst = { rank, severity: finding.severity, isFirst };
    }
    return worst;
  }

  /**
   * Several packets on a line of pixels: for each direction, a line as far as the middle, and over it the worst trouble among
   * them, the longer the more packets had some. So rare losses do not hide what else there is.
   */
  #dense(first, last) {
    const { context, capture, choice, scale, columns } = this;
    const rows = Math.ceil(this.view);
    const { lines } = columns;
    const cells = rows * 2;
    const counts = new Uint32Array(cells);
    const troubled = new Uint32Array(cells);
    const usual = new Int32Array(cells).fill(-1);
    const worst = new Int32Array(cells).fill(-1);
    const rank = new Uint8Array(cells);
    for (let row = first; row < last; row++) {
      const y = Math.floor(scale.y(row) - this.top);
      if (y < 0 || y >= rows) continue;
      const i = choice.shown[row];
      const cell = y * 2 + (capture.from[i] < capture.to[i] ? 0 : 1);
      counts[cell] += 1;
      const trouble = this.#trouble(i);
      if (trouble > 0) troubled[cell] += 1;
      if (trouble > rank[cell]) {
        rank[cell] = trouble;
        worst[cell] = i;
      }
      if (trouble === 0 && (usual[cell] < 0 || capture.kind[usual[cell]] === KIND.ACK)) usual[cell] = i;
    }
    context.setLineDash([]);
    for (let cell = 0; cell < cells; cell++) {
      if (counts[cell] === 0) continue;
      const y = cell >> 1;
      if (usual[cell] >= 0) {
        const [x, toX] = this.#way(usual[cell]);
        context.fillStyle = kindColour(capture.kind[usual[cell]]);
        context.globalAlpha = 0.6;
        const half = (toX - x) / 2;
        context.fillRect(Math.min(x, x + half), y, Math.abs(half), 1);
      }
      if (worst[cell] >= 0) {
        const i = worst[cell];
        const [x, toX] = this.#way(i);
        const share = Math.sqrt(troubled[cell] / counts[cell]);
        const length = (toX - x) * (counts[cell] === 1 ? (capture.isLost(i) ? 0.62 : 1) : Math.max(share * 0.9, 0.04));
        context.fillStyle = capture.isAgain(i) && !capture.isLost(i) ? colours.again : arrowOf(capture, i).colour;
        context.globalAlpha = 1;
        context.fillRect(Math.min(x, x + length), y, Math.abs(length), 1);
        if (capture.findingsAt.has(i)) {
          context.fillStyle = severityColour(this.#worst(i).severity);
          context.fillRect(columns.sign - 4, y - 1, 8, 3);
        }
      }
    }
    context.globalAlpha = 1;
  }

  /** All of what is shown, as a strip with its troubles and the part in view. */
  #strip() {
    const { context, choice, columns, view } = this;
    const { x, width } = columns.strip;
    const rows = choice.shown.length;
    context.fillStyle = colours.raised;
    context.fillRect(x, 0, width, view);
    const y = (row) => (rows > 1 ? (row / rows) * view : 0);
    const size = Math.ceil(view) + 2;
    const worst = new Uint8Array(size);
    const counts = new Uint32Array(size);
    for (const [row, weight] of this.troubleRows) {
      const at = Math.floor(y(row));
      worst[at] = Math.max(worst[at], weight);
      counts[at] += 1;
    }
    const colour = ["", colours.again, colours.wait, colours.bad];
    const perLine = Math.max(rows / view, 1);
    for (let at = 0; at < size; at++) {
      if (worst[at] === 0) continue;
      context.fillStyle = colour[worst[at]];
      // The wider, the more packets had trouble; what was lost or found is at least half as wide.
      const share = Math.sqrt(Math.min(counts[at] / perLine, 1));
      const wide = width * Math.max(share, worst[at] === 3 ? 0.5 : 0.3);
      context.fillRect(x + width - wide, at, wide, perLine > 4 ? 1 : 2);
    }
    context.strokeStyle = colours.soft;
    context.lineWidth = 1;
    const top = y(Math.max(this.scale.rowAt(this.top), 0));
    const bottom = y(this.scale.rowAt(this.top + view));
    context.strokeRect(x - 1.5, Math.round(top) + 0.5, width + 2, Math.max(Math.round(bottom - top) - 1, 3));
  }
}
