// PSN over time, beside the ladder and on its rows: sequence numbers of each flow, counted from its first.

class Plot {
  constructor(capture, choice) {
    Object.assign(this, { capture, choice });
    this.isOn = true;
  }

  /** Least and highest of the rows in view, a little rounded, so that it does not jump with each row. */
  #range(first, last) {
    const { capture, choice } = this;
    let low = Infinity;
    let high = -Infinity;
    let [hasPsns, hasBytes] = [false, false];
    for (let row = first; row < last; row++) {
      const i = choice.shown[row];
      const offset = capture.offset[i];
      if (Number.isNaN(offset)) continue;
      if (capture.about.flows[capture.flow[i] - 1].tcp) hasBytes = true;
      else hasPsns = true;
      if (offset < low) low = offset;
      if (offset > high) high = offset;
    }
    if (low > high) return null;
    const size = Math.max(high - low, 8);
    const step = 2 ** Math.ceil(Math.log2(size / 4));
    low = Math.floor(low / step) * step;
    high = Math.ceil((high + 1) / step) * step;
    const unit = hasPsns && hasBytes ? "PSN, bytes" : hasBytes ? "bytes" : "PSN";
    return { low, high: Math.max(high, low + 4 * step), step, unit };
  }

  paint(ladder, context, first, last, isDense) {
    const { capture, choice } = this;
    const { scale, columns, view } = ladder;
    const { x, width } = columns.plot;
    context.fillStyle = colours.line;
    context.fillRect(x - 12, 0, 1, view);
    const range = this.#range(first, last);
    if (!range) {
      ladder.columns.plotHead.textContent = "PSN";
      return;
    }
    const { low, high, step, unit } = range;
    const at = (offset) => x + ((offset - low) / (high - low)) * width;
    const plain = (number) => number.toLocaleString("en");
    ladder.columns.plotHead.textContent = `${unit} +${plain(low)} \u2026 +${plain(high)}`;
    ladder.columns.plotHead.title = "Sequence numbers of the rows in view, counted from the first of their flow";
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.setLineDash([1, 3]);
    context.beginPath();
    for (let tick = low; tick <= high; tick += step) {
      const tickX = Math.round(at(tick)) + 0.5;
      context.moveTo(tickX, 0);
      context.lineTo(tickX, view);
    }
    context.stroke();
    context.setLineDash([]);
    if (isDense) {
      this.#dense(ladder, context, first, last, at);
      return;
    }
    this.#threads(ladder, context, first, last, at);
    for (let row = first; row < last; row++) {
      const i = choice.shown[row];
      const offset = capture.offset[i];
      if (!Number.isNaN(offset)) this.#dot(context, i, at(offset), scale.y(row) - ladder.top, scale.spacing(row));
    }
  }

  /** Lines from request to request of each flow: going back is seen as a step to the left. */
  #threads(ladder, context, first, last, at) {
    const { capture, choice } = this;
    const { scale } = ladder;
    const before = new Map();
    context.lineWidth = 1;
    context.strokeStyle = colours.faint;
    context.globalAlpha = 0.6;
    context.beginPath();
    for (let row = Math.max(first - 40, 0); row < Math.min(last + 40, choice.shown.length); row++) {
      const i = choice.shown[row];
      const role = capture.role[i];
      const isRequest = role === ROLE.REQUEST || role >= ROLE.LATE;
      if (!isRequest || Number.isNaN(capture.offset[i])) continue;
      const x = at(capture.offset[i]);
      const y = scale.y(row) - ladder.top;
      const from = before.get(capture.flow[i]);
      if (from) {
        context.moveTo(from.x, from.y);
        context.lineTo(x, y);
      }
      before.set(capture.flow[i], { x, y });
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  #dot(context, i, x, y, spacing) {
    const { capture } = this;
    const size = Math.max(Math.min(spacing * 0.18, 4), 1.3);
    const kind = capture.kind[i];
    const isAnswer = capture.role[i] === ROLE.RESPONSE || capture.role[i] === ROLE.UNPAIRED;
    context.fillStyle = kindColour(kind);
    context.strokeStyle = kindColour(kind);
    context.lineWidth = 1.4;
    if (capture.isLost(i)) {
      drawCross(context, x, y, Math.max(size, 2.5));
      return;
    }
    context.beginPath();
    if (capture.isNegative(i)) {
      const half = size * 1.4;
      context.moveTo(x, y - half);
      context.lineTo(x + half, y);
      context.lineTo(x, y + half);
      context.lineTo(x - half, y);
      context.fill();
    } else if (capture.isAgain(i)) {
      context.strokeStyle = colours.again;
      context.lineWidth = Math.max(size * 0.5, 1);
      context.arc(x, y, size * 1.15, 0, 2 * Math.PI);
      context.stroke();
    } else if (isAnswer) {
      context.strokeRect(x - size * 0.8, y - size * 0.8, size * 1.6, size * 1.6);
    } else {
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** Each pixel once, trouble on top. */
  #dense(ladder, context, first, last, at) {
    const { capture, choice } = this;
    const { scale, columns, view } = ladder;
    const { x, width } = columns.plot;
    const wide = Math.ceil(width) + 1;
    const tall = Math.ceil(view);
    const layer = new Uint8Array(wide * tall);
    for (let row = first; row < last; row++) {
      const i = choice.shown[row];
      const offset = capture.offset[i];
      if (Number.isNaN(offset)) continue;
      const px = Math.floor(at(offset) - x);
      const py = Math.floor(scale.y(row) - ladder.top);
      if (px < 0 || px >= wide || py < 0 || py >= tall) continue;
      const role = capture.role[i];
      const weight = capture.isLost(i) ? 5 : capture.isNegative(i) ? 4 : capture.isAgain(i) ? 3 : role === ROLE.REQUEST ? 2 : 1;
      if (weight > layer[py * wide + px]) layer[py * wide + px] = weight;
    }
    const fills = ["", colours.response, colours.request, colours.again, colours.wait, colours.bad];
    for (let weight = 1; weight < fills.length; weight++) {
      context.fillStyle = fills[weight];
      const size = weight > 3 && last - first < view * 4 ? 3 : 1.5;
      for (let place = 0; place < layer.length; place++) {
        if (layer[place] === weight) context.fillRect(x + (place % wide), Math.floor(place / wide), size, size);
      }
    }
  }
}
