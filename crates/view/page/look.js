// Colours, shapes and words: what packets look like.

const SEVERITY_SIGN = { violation: "\u25b2", suspicious: "\u25c6", note: "\u25cf" };
/** The same of a packet that belongs to a finding without being where it was noticed. */
const SEVERITY_OUTLINE = { violation: "\u25b3", suspicious: "\u25c7", note: "\u25cb" };
const SEVERITIES = ["violation", "suspicious", "note"];
/** How opaque is what should stand back: still told apart by its colours (`tests/colours.rs`). */
const PALE = 0.9;
const colours = {};

/** The colours of the theme, as the style sheet has them. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["back", "paper", "raised", "line", "ink", "soft", "faint", "accent", "chosen", "hover", "request", "read",
    "response", "ack", "bad", "wait", "again", "manage", "note", "bad-tint", "wait-tint", "again-tint", "mono", "sans"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

function severityColour(severity) {
  return { violation: colours.bad, suspicious: colours.wait, note: colours.note }[severity];
}

function kindColour(kind) {
  switch (kind) {
    case KIND.SEND:
    case KIND.WRITE:
    case KIND.DATAGRAM:
      return colours.request;
    case KIND.READ:
    case KIND.ATOMIC:
      return colours.read;
    case KIND.READ_RESPONSE:
    case KIND.ATOMIC_RESPONSE:
      return colours.response;
    case KIND.NAK:
    case KIND.TERMINATE:
      return colours.bad;
    case KIND.RNR:
      return colours.wait;
    case KIND.MANAGEMENT:
    case KIND.CONGESTION:
      return colours.manage;
    default:
      return colours.ack;
  }
}

/** By the number of an operation's kind: SEND, WRITE, READ, ATOMIC, FLUSH, ATOMIC WRITE. */
function operationColour(kind) {
  return kind < 2 ? colours.request : colours.read;
}

/** How a packet's arrow is drawn; its line begins so far from the end that it comes from. */
function arrowOf(capture, i) {
  const kind = capture.kind[i];
  const arrow = { colour: kindColour(kind), width: 1.6, dash: [], isDouble: false, isLost: capture.isLost(i), sign: "", begin: 0 };
  if (kind === KIND.ACK || kind === KIND.SEGMENT || kind === KIND.OTHER) arrow.width = 1.1;
  if (kind === KIND.NAK || kind === KIND.TERMINATE) Object.assign(arrow, { width: 2.6, dash: [9, 4], sign: "\u2716" });
  if (kind === KIND.RNR) Object.assign(arrow, { width: 2.6, dash: [2, 4], sign: "\u25f7" });
  if (kind === KIND.CONGESTION) arrow.dash = [10, 3, 2, 3];
  if (capture.isAgain(i)) Object.assign(arrow, { isDouble: true, sign: "\u21bb" });
  if (capture.role[i] === ROLE.DUPLICATE) Object.assign(arrow, { dash: [3, 3], sign: "=" });
  if (capture.role[i] === ROLE.LATE) arrow.sign = "\u2026";
  if (arrow.isLost) arrow.colour = colours.bad;
  if (capture.marks[i] & MARK.BROKEN) Object.assign(arrow, { sign: "!", colour: colours.bad });
  return arrow;
}

/** Draws an arrow; one that is lost ends in a cross before it is there. */
function drawArrow(context, arrow, x, y, toX, toY, ground = colours.paper) {
  const share = arrow.isLost ? 0.62 : 1;
  const endX = x + (toX - x) * share;
  const endY = y + (toY - y) * share;
  context.strokeStyle = arrow.colour;
  context.fillStyle = arrow.colour;
  context.lineCap = "butt";
  const line = (width, dash) => {
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x + Math.sign(toX - x) * arrow.begin, y);
    context.lineTo(endX, endY);
    context.stroke();
  };
  if (arrow.isDouble) {
    line(4.2, arrow.dash);
    context.strokeStyle = ground;
    line(1.8, []);
    context.strokeStyle = arrow.colour;
  } else {
    line(arrow.width, arrow.dash);
  }
  context.setLineDash([]);
  if (arrow.isLost) {
    drawCross(context, endX, endY, 5);
  } else {
    const back = Math.sign(toX - x) * 9;
    context.beginPath();
    context.moveTo(endX, endY);
    context.lineTo(endX - back, endY - 4.5);
    context.lineTo(endX - back, endY + 4.5);
    context.fill();
  }
}

function drawCross(context, x, y, size) {
  context.strokeStyle = colours.bad;
  context.lineWidth = 2.4;
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x - size, y + size);
  context.lineTo(x + size, y - size);
  context.stroke();
}

/** A band: pale, with an edge in its colour. */
function drawBand(context, colour, isFilled, x, y, length, width) {
  context.fillStyle = colour;
  context.globalAlpha = isFilled ? 1 : 0.35;
  if (length > 6) {
    context.beginPath();
    context.roundRect(x, y, width, length, 2);
    context.fill();
  } else {
    context.fillRect(x, y, width, length);
  }
  context.globalAlpha = 1;
  context.fillRect(x, y + (length > 6 ? 1 : 0), 1.5, length - (length > 6 ? 2 : 0));
}

/** A band that nothing ends: an outline open below, and points that fade. */
function drawOpenBand(context, colour, isFilled, x, y, length, width) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.4;
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x + 0.7, y + length);
  context.lineTo(x + 0.7, y + 0.7);
  context.lineTo(x + width - 0.7, y + 0.7);
  context.lineTo(x + width - 0.7, y + length);
  context.stroke();
  if (isFilled) context.fillRect(x, y, width, length);
  for (let point = 0; point < 3; point++) {
    context.globalAlpha = 1 - point * 0.3;
    context.fillRect(x + width / 2 - 1, y + length + 2 + point * 4, 2, 2);
  }
  context.globalAlpha = 1;
}

/** A time that tells its unit. */
function duration(nanoseconds) {
  const size = Math.abs(nanoseconds);
  const [unit, scale] = size < 1e3 ? ["ns", 1] : size < 1e6 ? ["\u00b5s", 1e3] : size < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  const value = nanoseconds / scale;
  return `${Number(value.toPrecision(Math.abs(value) >= 1000 ? 4 : 3))} ${unit}`;
}

function bytesText(bytes) {
  if (bytes < 10_000) return `${bytes.toLocaleString("en")} bytes`;
  const [unit, scale] = bytes < 1e6 ? ["kB", 1e3] : bytes < 1e9 ? ["MB", 1e6] : ["GB", 1e9];
  return `${(bytes / scale).toFixed(bytes / scale < 100 ? 1 : 0)} ${unit}`;
}

function counted(number, what) {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}
