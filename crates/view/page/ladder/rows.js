// Rows: the arrow of each packet, what it is in words, and the sign of what was found about it.

/** Room for a sign where an arrow begins. */
const SIGN = 24;

class Rows {
  constructor(ladder) {
    this.ladder = ladder;
  }

  /** First all arrows, then what is written over them. */
  paint(first, last) {
    const words = [];
    for (let row = first; row < last; row++) words.push(this.#row(row));
    for (const write of words) write?.();
  }

  /** From where to where an arrow goes; to everybody, all the way to the other side. */
  way(i) {
    const { capture, columns } = this.ladder;
    const { lines, left, right } = columns;
    const from = capture.from[i];
    const to = capture.to[i];
    const x = from === EVERYBODY ? lines[0] : lines[columns.line(from)];
    if (to === EVERYBODY) return [x, x < (left + right) / 2 ? right : left];
    const toX = lines[columns.line(to)];
    return x === toX ? [x, lines.length > 1 && x > left + 60 ? x - 50 : Math.min(x + 50, right)] : [x, toX];
  }

  /** Draws the arrow of a row; gives back what writes its words. */
  #row(row) {
    const { context, capture, choice, scale, times, top } = this.ladder;
    const i = choice.shown[row];
    const spacing = scale.isTime ? scale.spacing(row) : scale.rowHeight;
    const y = scale.y(row) - top;
    const hasText = spacing >= 15 && (!scale.isTime || this.#isClear(row));
    const fall = spacing >= 15 ? Math.min(7, spacing * 0.3) : 0;
    const [x, toX] = this.way(i);
    const arrow = arrowOf(capture, i);
    if (spacing < 9) {
      arrow.width = Math.max(Math.min(arrow.width, spacing * 0.6), 0.7);
      if (arrow.isDouble) Object.assign(arrow, { isDouble: spacing >= 6, width: 2, colour: arrow.isLost ? colours.bad : colours.again });
    }
    // The sign stands there, and what the end's line has beside it would look like more of it.
    if (hasText && arrow.sign !== "") arrow.begin = SIGN / 2;
    drawArrow(context, arrow, x, y - fall / 2, toX, y + fall / 2, this.ladder.ground(i));
    if (capture.findingsAt.has(i)) this.#sign(i, y, spacing);
    if (!scale.isTime && spacing >= 15 && row > 0) times.pause(row, y - spacing / 2);
    if (!hasText) return null;
    return () => {
      this.#words(i, arrow, x, toX, y);
      if (!scale.isTime) times.write(row, y);
    };
  }

  /** Whether there is room for words at a row between those before and behind. */
  #isClear(row) {
    const { choice, scale } = this.ladder;
    const y = scale.y(row);
    const last = choice.shown.length - 1;
    return (row === 0 || y - scale.y(row - 1) >= 13) && (row === last || scale.y(row + 1) - y >= 10);
  }

  /** What was found at a packet: filled where it was noticed first. */
  #sign(i, y, spacing) {
    const { context, columns, troubles } = this.ladder;
    const worst = troubles.worstFinding(i);
    if (!worst) return;
    context.font = `${Math.max(Math.min(spacing * 0.6, 14), 9)}px ${colours.sans}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = severityColour(worst.severity);
    context.fillText((worst.isFirst ? SEVERITY_SIGN : SEVERITY_OUTLINE)[worst.severity], columns.sign, y);
  }

  /** What it is and what it is in its conversation: within the arrow, or beside one that is too short for it. */
  #words(i, arrow, x, toX, y) {
    const { context, capture } = this.ladder;
    context.textBaseline = "middle";
    context.font = `12px ${colours.mono}`;
    this.character ??= context.measureText("0".repeat(50)).width / 50;
    const words = capture.roleWords(i);
    const label = capture.label(i);
    if (arrow.sign !== "") this.#arrowSign(i, arrow, x, toX > x ? 1 : -1, y);
    const wanted = (label.length + (words === "" ? 0 : words.length + 3)) * this.character + 10;
    const space = this.#space(arrow, x, toX, wanted);
    let room = Math.floor((space.to - space.from - 10) / this.character);
    if (room < 6) return;
    const cut = (most) => (label.length > most ? `${label.slice(0, Math.max(most - 1, 1))}\u2026` : label);
    if (arrow.isLost && space.isWithin) {
      this.#lostWords(i, cut(room), words, space, x + (toX - x) * 0.62, toX, y);
      return;
    }
    const extra = this.#fitting(words, label.length, room);
    room -= extra === "" ? 0 : extra.length + 3;
    const text = cut(room);
    const textWidth = text.length * this.character;
    const extraWidth = extra === "" ? 0 : (extra.length + 2) * this.character + 6;
    const whole = textWidth + extraWidth + 8;
    const start = space.isAtEnd ? space.to - whole : space.from;
    this.#label(i, text, start, whole, y);
    if (extra !== "") this.#pill(i, arrow, extra, start + 4 + textWidth + 6, extraWidth, y);
  }

  /** From where to where words may stand that want so much room, and whether they end there rather than begin. */
  #space(arrow, x, toX, wanted) {
    const { columns, bands } = this.ladder;
    const length = Math.abs(toX - x);
    const begin = arrow.sign === "" ? 12 : SIGN;
    const end = arrow.isLost ? length * 0.62 - 10 : length - 18;
    const goesRight = toX > x;
    const within = { from: goesRight ? x + begin : x - end, to: goesRight ? x + end : x - begin, isAtEnd: !goesRight, isWithin: true };
    const size = ({ from, to }) => to - from;
    if (size(within) >= wanted) return within;
    const [low, high] = goesRight ? [x, toX] : [toX, x];
    const line = columns.lines.indexOf(high);
    const behind = { from: high + (line > 0 ? bands.room(line) : 0) + 8, to: columns.edge, isAtEnd: false, isWithin: false };
    const before = { from: columns.left - 4, to: low - 8, isAtEnd: true, isWithin: false };
    return [behind, before].reduce((best, other) => (size(other) > size(best) ? other : best), within);
  }

  /** Of words in parts, as many as there is room for beside a label, or beside its beginning. */
  #fitting(words, labelLength, room) {
    const parts = words.split(", ");
    const beside = Math.min(labelLength, 22);
    while (parts.length > 1 && parts.join(", ").length + 3 + beside > room) parts.pop();
    const fitting = parts.join(", ");
    return fitting === "" || room - fitting.length - 3 < 14 ? "" : fitting;
  }

  /** What happened to it, where it begins: nothing of the line stays beside the sign, which would look like more of it. */
  #arrowSign(i, arrow, x, direction, y) {
    const { context, capture } = this.ladder;
    context.font = `bold 13px ${colours.sans}`;
    context.textAlign = "center";
    context.fillStyle = this.ladder.ground(i);
    context.fillRect(x + direction, y - 8, direction * (SIGN - 1), 16);
    context.fillStyle = capture.isAgain(i) && !arrow.isLost ? colours.again : arrow.colour;
    context.fillText(arrow.sign, x + direction * (SIGN / 2 + 1), y);
  }

  /** What it is, on a ground of its own. */
  #label(i, text, x, width, y) {
    const { context } = this.ladder;
    context.fillStyle = this.ladder.ground(i);
    context.fillRect(x, y - 8, width, 16);
    context.font = `12px ${colours.mono}`;
    context.textAlign = "left";
    context.fillStyle = colours.ink;
    context.fillText(text, x + 4, y + 0.5);
  }

  /** What it is in its conversation, in a frame. */
  #pill(i, arrow, words, x, width, y) {
    const { context, capture } = this.ladder;
    const colour = arrow.isLost || capture.marks[i] & MARK.BROKEN ? colours.bad : capture.isAgain(i) ? colours.again : colours.soft;
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x, y - 7.5, width - 6, 15, 7.5);
    context.stroke();
    context.fillStyle = colour;
    context.font = `11px ${colours.sans}`;
    context.textAlign = "center";
    context.fillText(words, x + (width - 6) / 2, y + 0.5, width - 14);
  }

  /** Of a packet that is lost, the words stand where it did not come to. */
  #lostWords(i, text, words, space, crossX, toX, y) {
    const { context } = this.ladder;
    const goesRight = !space.isAtEnd;
    const wide = text.length * this.character + 8;
    this.#label(i, text, goesRight ? space.from : space.to - wide, wide, y);
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.bad;
    context.textAlign = goesRight ? "left" : "right";
    context.fillText(words, goesRight ? crossX + 12 : crossX - 12, y + 1, Math.abs(toX - crossX) - 18);
  }
}
