// What the drawing means.

/** What lines and signs mean, drawn as the ladder draws them. */
function showLegend() {
  const panel = document.getElementById("panel-legend");
  panel.replaceChildren();
  const sample = (draw, text) => {
    const canvas = make("canvas", { width: 240, height: 48 });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    draw(context);
    return make("div", { class: "sample" }, canvas, make("span", {}, text));
  };
  const arrow = (properties, text) => sample((context) => {
    const whole = { colour: colours.request, width: 1.6, dash: [], isDouble: false, isLost: false, sign: "", begin: properties.sign ? SIGN / 2 : 0, ...properties };
    drawArrow(context, whole, 4, 10, 116, 14);
    if (whole.sign === "") return;
    context.fillStyle = colours.back;
    context.fillRect(6, 2, SIGN - 2, 20);
    context.fillStyle = whole.isDouble ? colours.again : whole.colour;
    context.font = `bold 13px ${colours.sans}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(whole.sign, 17, 12);
  }, text);
  const sign = (severity, text) => sample((context) => {
    context.fillStyle = severityColour(severity);
    context.font = `14px ${colours.sans}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(SEVERITY_SIGN[severity], 60, 12);
  }, text);
  panel.append(
    make("h3", {}, "Packets"),
    arrow({}, "SEND, WRITE, datagram"),
    arrow({ colour: colours.read }, "READ request, atomic, FLUSH"),
    arrow({ colour: colours.response }, "READ response, atomic response"),
    arrow({ colour: colours.ack, width: 1.1 }, "acknowledgement; TCP and others"),
    arrow({ colour: colours.manage }, "connection management, start-up"),
    arrow({ colour: colours.manage, dash: [10, 3, 2, 3] }, "congestion notification, PAUSE"),
    make("h3", {}, "Trouble"),
    arrow({ isLost: true, colour: colours.bad }, "lost: the capture has it, its receiver has not"),
    arrow({ isDouble: true, sign: "\u21bb" }, "sent again; the reason stands behind it"),
    arrow({ dash: [3, 3], sign: "=" }, "the same packet twice"),
    arrow({ colour: colours.bad, width: 2.6, dash: [9, 4], sign: "\u2716" }, "NAK, TERMINATE"),
    arrow({ colour: colours.wait, width: 2.6, dash: [2, 4], sign: "\u25f7" }, "RNR NAK: not ready, wait"),
    arrow({ colour: colours.bad, sign: "!" }, "broken: checksum or format"),
    make("h3", {}, "Several packets on one line"),
    sample((context) => {
      context.globalAlpha = PALE;
      context.fillStyle = colours.request;
      for (let y = 2; y < 22; y++) context.fillRect(6, y, 54, 1);
      context.globalAlpha = 1;
      context.fillStyle = colours.again;
      for (let y = 8; y < 14; y++) context.fillRect(6, y, 30, 1);
    }, "zoomed out: each direction pale to the middle, over it the worst trouble of these packets, the longer the more of them have some"),
    make("h3", {}, "Findings"),
    sign("violation", "violation"),
    sign("suspicious", "suspicious: something not in the capture could explain it"),
    sign("note", "note"),
    make("h3", {}, "Operations"),
    sample((context) => {
      drawBand(context, colours.request, false, 56, 1, 22, 5);
    }, "from its first packet to what completed it, beside who asked for it; a stripe within: packets went again"),
    sample((context) => drawOpenBand(context, colours.request, false, 56, 1, 10, 5), "nothing completed it: open after the last sign of it"),
    make("h3", {}, "PSN plot"),
    sample((context) => {
      context.strokeStyle = colours.response;
      context.fillStyle = colours.request;
      context.lineWidth = 1.4;
      context.beginPath();
      context.arc(30, 12, 4, 0, 7);
      context.fill();
      context.strokeRect(52, 8.5, 7, 7);
      context.beginPath();
      context.strokeStyle = colours.again;
      context.lineWidth = 2;
      context.arc(84, 12, 4.5, 0, 7);
      context.stroke();
    }, "request, answer, sent again; counted from the flow's first"),
  );
}
