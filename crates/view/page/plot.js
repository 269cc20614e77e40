// PSN over time, beside the ladder and on its rows: sequence numbers of each flow, counted from its first.

class Plot {
  constructor(capture, choice) {
    Object.assign(this, { capture, choice });
    this.isOn = true;
  }

  /** Least and highest of the rows in view, a little rounded, so that it does not jump with each row. */
  #range(first, last) {
    const { offset, flow, isBytes } = this.capture;
    const { shown } = this.choice;
    let low = Infinity;
    let high = -Infinity;
    let [hasPsns, hasBytes] = [false, false];
    for (let row = first; row < last; row++) {
      const i = shown[row];
      const at = offset[i];
      // Without a number there is nothing to compare.
      if (at !== at) continue;
      if (isBytes[flow[i]] === 1) hasBytes = true;
      else hasPsns = true;
      if (at < low) low = at;
      if (at > high) high = at;
    }
    if (low > high) return null;
    const size = Math.max(high - low, 8);
    const step = 2 ** Math.ceil(Math.log2(size / 4));
    low = Math.floor(low / step) * step;
    high = Math.ceil((high + 1) / step) * step;
    const unit = hasPsns && hasBytes ? "PSN, bytes" : hasBytes ? "bytes" : "PSN";
    return { low, high: Math.max(high, low + 4 * step), step, unit };
  }

  /** `pixels` are the lines of pixels of the rows if several share one, else null. */
  paint(ladder, context, first, last, pixels) {
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
    if (pixels !== null) {
      this.#dense(ladder, context, first, last, pixels, width / (high - low), low);
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

  /** Each pixel once, trouble on top: as an image, since there may be a hundred thousand of them. */
  #dense(ladder, context, first, last, pixels, perNumber, low) {
    const { offset, kind, role, marks } = this.capture;
    const { shown } = this.choice;
    const { columns, view } = ladder;
    const wide = Math.ceil(columns.plot.width) + 3;
    const tall = Math.ceil(view) + 2;
    const layer = new Uint8Array(wide * tall);
    for (let row = first; row < last; row++) {
      const i = shown[row];
      const py = pixels[row - first];
      const px = Math.floor((offset[i] - low) * perNumber);
      // Without a number px is none, and nothing compares with it.
      if (!(px >= 0 && px < wide - 2) || py < 0 || py >= tall - 2) continue;
      const weight = (marks[i] & MARK.LOST) !== 0 ? 5
        : kind[i] === KIND.NAK || kind[i] === KIND.RNR || kind[i] === KIND.TERMINATE ? 4
          : role[i] >= ROLE.AGAIN ? 3 : role[i] === ROLE.REQUEST ? 2 : 1;
      const at = py * wide + px;
      if (weight > layer[at]) layer[at] = weight;
    }
    this.#drawLayer(ladder, context, layer, wide, tall, last - first < view * 4 ? 2 : 1);
  }

  /** Draws weights in their colours; what was refused or lost is larger, so that it is seen. */
  #drawLayer(ladder, context, layer, wide, tall, size) {
    const fills = ["", colours.response, colours.request, colours.again, colours.wait, colours.bad].map(pixelOf);
    this.image ??= document.createElement("canvas");
    if (this.image.width !== wide || this.image.height !== tall) Object.assign(this.image, { width: wide, height: tall });
    const image = this.image.getContext("2d");
    const data = image.createImageData(wide, tall);
    const points = new Uint32Array(data.data.buffer);
    for (const [least, most, width, height] of [[1, 3, 2, size], [4, 5, 3, size + 1]]) {
      for (let at = 0; at < layer.length; at++) {
        const weight = layer[at];
        if (weight < least || weight > most) continue;
        for (let line = 0; line < height; line++) points.fill(fills[weight], at + line * wide, at + line * wide + width);
      }
    }
    image.putImageData(data, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, Math.round(ladder.columns.plot.x), 0);
  }
}

/** A colour of the style sheet as a pixel of an image. */
function pixelOf(colour) {
  if (colour === "") return 0;
  const part = (at) => Number.parseInt(colour.slice(at, at + 2), 16);
  return new Uint32Array(new Uint8Array([part(1), part(3), part(5), 255]).buffer)[0];
}
