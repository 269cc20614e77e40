// Frames and times of rows, and pauses between them.

class RowTimes {
  constructor(ladder) {
    this.ladder = ladder;
  }

  /** Frame and time of a row. */
  write(row, y) {
    const { context, capture, choice, columns } = this.ladder;
    const i = choice.shown[row];
    context.font = `11.5px ${colours.mono}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = colours.faint;
    context.fillText(String(capture.frame[i]), columns.frame, y);
    if (columns.time > 0) {
      context.fillStyle = colours.soft;
      context.fillText(capture.seconds_text(i), columns.time, y);
    }
  }

  /** Those of some rows, where there is no room for all. */
  ticks(first, last) {
    const { scale, top, view } = this.ladder;
    let next = 0;
    for (let y = 10; y < view - 8; y += 48) {
      const row = Math.max(scale.nearest(top + y), next);
      if (row < first || row >= last) continue;
      next = row + 1;
      const at = scale.y(row) - top;
      if (Math.abs(at - y) <= 20) this.write(row, at);
    }
  }

  /** As time goes by, those of the rows that are far enough from each other. */
  spaced(first, last) {
    const { scale, top } = this.ladder;
    let before = -Infinity;
    for (let row = first; row < last; row++) {
      const y = scale.y(row) - top;
      if (y - before < 13) continue;
      this.write(row, y);
      before = y;
    }
  }

  /** A line above a row before which nothing came for long. */
  pause(row, y) {
    const { context, columns, scale, width } = this.ladder;
    const gap = scale.times[row] - scale.times[row - 1];
    if (gap < this.#longPause()) return;
    context.strokeStyle = colours.faint;
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(columns.sign + 14, y);
    context.lineTo(width - 16, y);
    context.stroke();
    context.setLineDash([]);
    // Where there is no column of times, there is no room for how long.
    if (columns.time === 0) return;
    context.font = `9.5px ${colours.sans}`;
    context.fillStyle = colours.soft;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(`+${duration(gap)}`, columns.pause, y);
  }

  /** Longer than almost all pauses of what is shown. */
  #longPause() {
    const { times } = this.ladder.scale;
    if (this.pauseOf !== times) {
      this.pauseOf = times;
      const step = Math.max(1, Math.floor(times.length / 2000));
      const gaps = [];
      for (let row = step; row < times.length; row += step) gaps.push(times[row] - times[row - 1]);
      gaps.sort((a, b) => a - b);
      const usual = gaps[Math.floor(gaps.length * 0.5)] ?? 0;
      const rare = gaps[Math.floor(gaps.length * 0.97)] ?? 0;
      this.long = Math.max(usual * 100, rare, 20_000);
    }
    return this.long;
  }
}
