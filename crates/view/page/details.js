// The side: a packet with its fields and bytes, findings, flows, and what the drawing means. Text is set as text, never as markup.

/** An element with properties and children; strings become text. */
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Bytes shown before one asks for more. */
const FIRST_BYTES = 2048;

class Details {
  constructor(capture, choice) {
    Object.assign(this, { capture, choice });
    this.panel = document.getElementById("panel-packet");
    this.turn = 0;
    choice.addEventListener("selected", () => this.show());
    this.show();
  }

  async show() {
    const i = this.choice.selected;
    this.turn += 1;
    const turn = this.turn;
    if (i < 0) {
      this.panel.replaceChildren(make("div", { class: "about-packet" }, this.#whole()));
      return;
    }
    const bytes = await this.capture.bytes(i);
    // Another may have been chosen since.
    if (turn !== this.turn) return;
    this.fields = fieldsOf(this.capture, i, bytes);
    const parts = [
      make("h2", {}, `Frame ${this.capture.frame[i].toLocaleString("en")}`),
      make("p", { class: "words", id: "line" }, this.capture.line(i)),
      this.#pills(i),
      ...this.#explanations(i),
      ...this.#findings(i),
      this.#operation(i),
      make("h3", {}, "Fields"),
      this.#fieldTable(),
    ];
    // Side by side in view, so that fields and bytes can light each other.
    this.panel.replaceChildren(
      make("div", { class: "about-packet" }, ...parts),
      make("div", { class: "bytes-box" }, make("h3", {}, `Bytes (${this.#lengths(i)})`), this.#hex(bytes, FIRST_BYTES)),
    );
    document.getElementById("said").textContent = this.capture.line(i);
  }

  /** Before a packet is chosen: what this is. */
  #whole() {
    const { capture } = this;
    const counts = new Map();
    for (let i = 0; i < capture.count; i++) counts.set(capture.kind[i], (counts.get(capture.kind[i]) ?? 0) + 1);
    const rows = [...counts].sort((a, b) => b[1] - a[1]);
    const count = (test) => {
      let number = 0;
      for (let i = 0; i < capture.count; i++) if (test(i)) number++;
      return number;
    };
    const troubles = [
      ["lost", "lost", count((i) => capture.isLost(i))],
      ["again", "sent again", count((i) => capture.isAgain(i))],
      ["twice", "twice or late", count((i) => capture.role[i] === ROLE.DUPLICATE || capture.role[i] === ROLE.LATE)],
      ["negative", "NAK, RNR NAK, TERMINATE", count((i) => capture.isNegative(i))],
      ["broken", "broken", count((i) => (capture.marks[i] & MARK.BROKEN) !== 0)],
      ["found", "with findings", count((i) => capture.findingsAt.has(i))],
    ].filter(([, , number]) => number > 0);
    const table = (list) => make("table", { class: "fields" }, make("tbody", {}, ...list));
    return make("div", {},
      make("h2", {}, "Packets"),
      make("p", { class: "nothing" }, "Click a packet to see its bytes and fields, or move with the arrow keys."),
      make("h3", {}, "What there is"),
      table(rows.map(([kind, number]) => make("tr", {}, make("td", { class: "field-name" }, capture.about.kinds[kind]), make("td", { class: "value" }, number.toLocaleString("en"))))),
      make("h3", {}, "What went wrong"),
      troubles.length === 0
        ? make("p", { class: "nothing" }, "Nothing lost, sent again, refused or broken.")
        : table(troubles.map(([name, words, number]) => make("tr", {},
            make("td", { class: "field-name" }, make("button", { class: "link", type: "button", onclick: () => setFilter("only", name) }, words)),
            make("td", { class: "value" }, number.toLocaleString("en"))))),
    );
  }

  #lengths(i) {
    const { capture } = this;
    const kept = capture.captured[i];
    const sent = capture.length[i];
    return kept < sent ? `${kept.toLocaleString("en")} of ${sent.toLocaleString("en")} captured` : kept.toLocaleString("en");
  }

  #pills(i) {
    const { capture } = this;
    const pill = (text, colour) => make("span", { class: "pill", style: `color: ${colour}` }, text);
    const pills = make("div", { class: "pills" }, pill(capture.about.kinds[capture.kind[i]], kindColour(capture.kind[i])));
    const words = capture.roleWords(i);
    if (words !== "") {
      const colour = capture.isLost(i) || capture.marks[i] & MARK.BROKEN ? colours.bad : capture.isAgain(i) ? colours.again : colours.soft;
      for (const word of words.split(", ")) pills.append(pill(word, colour));
    }
    return pills;
  }

  /** Why it is so, in plain words. */
  #explanations(i) {
    const texts = this.capture.explanations(i);
    return texts.map(([title, text, source]) => make("div", { class: "why" },
      make("p", {}, make("b", {}, title)),
      make("p", {}, text),
      make("p", { class: "source" }, `Source: ${source}${source.endsWith(".") ? "" : "."}`)));
  }

  #findings(i) {
    const { capture } = this;
    return (capture.findingsAt.get(i) ?? []).map((number) => {
      const finding = capture.findings[number];
      const frames = make("p", { class: "source" }, "Frames: ");
      finding.frames.forEach((frame, place) => {
        if (place > 0) frames.append(", ");
        const at = Capture.search(capture.frame, frame);
        if (capture.frame[at] !== frame) frames.append(String(frame));
        else frames.append(this.#link(String(frame), at));
      });
      return make("div", { class: `found ${finding.severity}` },
        make("p", {}, make("b", {}, `${SEVERITY_SIGN[finding.severity]} ${finding.name}`), ` (${finding.severity})`),
        make("p", {}, finding.what),
        make("p", {}, finding.sentence),
        make("p", { class: "source" }, finding.explanation),
        make("p", { class: "source" }, `Source: ${finding.source}.`),
        frames);
    });
  }

  #link(text, i) {
    return make("button", { class: "link", type: "button", onclick: () => this.choice.select(i) }, text);
  }

  #operation(i) {
    const { capture } = this;
    const band = capture.band[i] - 1;
    if (band < 0) return null;
    const name = capture.about.operations[capture.band_kind[band]];
    const [begun, done] = [capture.band_begun[band], capture.band_done[band]];
    const isTcp = capture.about.flows[capture.band_flow[band]].tcp;
    const first = capture.band_first[band];
    const last = capture.band_last[band];
    const repeated = capture.band_repeated[band];
    const text = make("p", {}, `Part of a ${name} of ${bytesText(capture.band_bytes[band])}`);
    if (!isTcp) text.append(first === last ? `, PSN ${first}` : `, PSN ${first} to ${last}`);
    text.append(", from frame ", this.#link(String(capture.frame[begun]), begun), " to frame ", this.#link(String(capture.frame[done]), done));
    if (capture.hasTime(begun) && capture.hasTime(done)) text.append(`: ${duration(capture.time[done] - capture.time[begun])}`);
    text.append(repeated > 0 ? `. ${counted(repeated, "packet")} of it went again.` : ".");
    text.append(" ", make("button", { class: "link", type: "button", onclick: () => setFilter("operation", `band-${band}`) }, "Show only this one."));
    return make("div", {}, make("h3", {}, "Operation"), text);
  }

  #fieldTable() {
    const body = make("tbody");
    let above = null;
    this.rows = this.fields.map((field, number) => {
      const header = headerOf(field.name);
      if (field.beginsUnit || (header !== "" && header !== above)) {
        above = header;
        body.append(make("tr", {}, make("th", { colSpan: 3 }, headerTitle(header))));
      }
      const where = field.bit === null ? "" : `${field.bit >> 3}${field.bits % 8 === 0 && field.bit % 8 === 0 ? "" : `:${field.bit % 8}`}`;
      const row = make("tr", { class: field.bit === null ? "" : "placed" },
        make("td", { class: "field-name", title: field.name }, field.name),
        make("td", { class: "value" }, field.value),
        make("td", { class: "where", title: field.bit === null ? "" : `byte ${field.bit >> 3}, bit ${field.bit % 8}, ${field.bits} bits` }, where));
      row.dataset.field = number;
      body.append(row);
      return row;
    });
    const table = make("table", { class: "fields", id: "fields", tabIndex: 0, "aria-label": "Fields: arrow keys go through them" }, body);
    table.addEventListener("pointerover", (event) => {
      const row = event.target.closest("tr");
      this.#light(row?.dataset.field === undefined ? null : Number(row.dataset.field));
    });
    table.addEventListener("pointerleave", () => this.#light(null));
    table.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const next = Math.max(0, Math.min(this.fields.length - 1, (this.lit ?? -1) + step));
      this.#light(next);
      this.rows[next].scrollIntoView({ block: "nearest" });
    });
    return table;
  }

  /** Shows the bytes of a field; null shows none. */
  #light(number) {
    for (const lit of this.panel.querySelectorAll(".lit")) lit.classList.remove("lit");
    this.lit = number;
    if (number === null) return;
    this.rows[number].classList.add("lit");
    const field = this.fields[number];
    if (field.bit === null) return;
    this.#lightBytes(field.bit >> 3, (field.bit + field.bits + 7) >> 3);
  }

  #lightBytes(first, end) {
    for (let at = first; at < Math.min(end, this.cells.length); at++) {
      for (const cell of this.cells[at]) cell.classList.add("lit");
    }
    this.cells[first]?.[0].scrollIntoView?.({ block: "nearest" });
  }

  /** Shows the fields that a byte is of: the smallest with all of its bytes. */
  #lightByte(at) {
    const holds = (field) => field.bit !== null && field.bit < (at + 1) * 8 && field.bit + field.bits > at * 8;
    const numbers = [...this.fields.keys()].filter((number) => holds(this.fields[number]));
    if (numbers.length === 0) {
      this.#light(null);
      return;
    }
    const smallest = numbers.reduce((a, b) => (this.fields[b].bits < this.fields[a].bits ? b : a));
    for (const lit of this.panel.querySelectorAll(".lit")) lit.classList.remove("lit");
    this.lit = smallest;
    for (const number of numbers) this.rows[number].classList.add("lit");
    const field = this.fields[smallest];
    for (let byte = field.bit >> 3; byte < Math.min((field.bit + field.bits + 7) >> 3, this.cells.length); byte++) {
      for (const cell of this.cells[byte]) cell.classList.add("lit");
    }
    this.rows[smallest].scrollIntoView({ block: "nearest" });
  }

  #hex(bytes, most) {
    const shown = bytes.subarray(0, most);
    const read = new Uint8Array(shown.length);
    for (const field of this.fields) {
      // A payload is bytes of no field.
      if (field.bit === null || field.name.endsWith("payload_length") || field.name === "tcp.len") continue;
      read.fill(1, field.bit >> 3, (field.bit + field.bits + 7) >> 3);
    }
    this.cells = [];
    const perRow = this.panel.clientWidth > 0 && this.panel.clientWidth < 430 ? 8 : 16;
    const grid = make("div", { class: "hex", id: "bytes" });
    for (let at = 0; at < shown.length; at += perRow) {
      const row = make("span", { class: "row" });
      const ascii = make("span", { class: "ascii" });
      for (let byte = at; byte < Math.min(at + perRow, shown.length); byte++) {
        const value = shown[byte];
        const hex = make("i", { class: read[byte] ? "read" : "" }, twoDigits(value));
        const text = make("i", {}, value > 0x20 && value < 0x7f ? String.fromCharCode(value) : "\u00b7");
        hex.dataset.byte = byte;
        text.dataset.byte = byte;
        this.cells.push([hex, text]);
        row.append(hex);
        if (byte % 8 === 7 && byte % perRow !== perRow - 1) row.append(" ");
        ascii.append(text);
      }
      grid.append(make("span", { class: "offset" }, at.toString(16).padStart(4, "0")), row, ascii);
    }
    grid.addEventListener("pointerover", (event) => {
      if (event.target.dataset.byte !== undefined) this.#lightByte(Number(event.target.dataset.byte));
    });
    grid.addEventListener("pointerleave", () => this.#light(null));
    const holder = make("div", {}, grid);
    if (bytes.length > most) {
      holder.append(make("button", { type: "button", onclick: () => holder.replaceWith(this.#hex(bytes, bytes.length)) },
        `Show all ${bytes.length.toLocaleString("en")} bytes`));
    }
    return holder;
  }
}

/** Findings, by rule. */
function showFindings(capture, choice) {
  const panel = document.getElementById("panel-findings");
  const byRule = new Map();
  for (const finding of capture.findings) {
    if (!byRule.has(finding.rule)) byRule.set(finding.rule, []);
    byRule.get(finding.rule).push(finding);
  }
  document.getElementById("tab-findings").textContent = `Findings (${capture.findings.length.toLocaleString("en")})`;
  if (byRule.size === 0) {
    panel.append(make("p", { class: "nothing" }, "Nothing broke a rule."));
    return;
  }
  const rules = [...byRule.values()].sort((a, b) => SEVERITIES.indexOf(a[0].severity) - SEVERITIES.indexOf(b[0].severity));
  for (const findings of rules) {
    const [first] = findings;
    panel.append(make("details", { class: "rule" },
      make("summary", {}, make("span", { class: `sign ${first.severity}` }, SEVERITY_SIGN[first.severity]), ` ${first.name} `,
        make("span", {}, `${first.severity}, ${counted(findings.length, "time")}`)),
      make("p", {}, first.sentence),
      make("p", {}, first.explanation),
      make("p", {}, `Source: ${first.source}.`)));
    const list = make("div", { class: "list" });
    const add = (from) => {
      for (const finding of findings.slice(from, from + 200)) {
        list.append(make("button", {
          class: "item", type: "button",
          onclick: () => finding.places.length > 0 && choice.select(finding.places[0]),
        }, make("span", { class: `sign ${finding.severity}` }, SEVERITY_SIGN[finding.severity]),
          make("span", { class: "frame-number" }, finding.frames.length === 0 ? "" : `frame ${finding.frames[0]}`),
          make("span", {}, finding.what)));
      }
      if (from + 200 < findings.length) {
        const more = make("button", { type: "button", onclick: () => { more.remove(); add(from + 200); } }, `${findings.length - from - 200} more`);
        list.append(more);
      }
    };
    add(0);
    panel.append(list);
  }
}

/** Connections, with what their flows came to. */
function showFlows(capture) {
  const panel = document.getElementById("panel-flows");
  const connections = connectionsOf(capture);
  document.getElementById("tab-flows").textContent = `Flows (${connections.length.toLocaleString("en")})`;
  if (connections.length === 0) panel.append(make("p", { class: "nothing" }, "No packet belongs to a flow."));
  const add = (from) => {
    for (const { number, packets } of connections.slice(from, from + 100)) {
      const reports = capture.about.flows.filter((flow) => flow.connection === number && flow.report).map((flow) => flow.report);
      panel.append(make("div", { class: "flow" },
        make("h2", {}, capture.connectionName(number)),
        reports.length === 0 ? null : make("pre", {}, reports.join("\n")),
        make("p", {}, `${counted(packets, "packet")}. `, make("button", { class: "link", type: "button", onclick: () => setFilter("flow", String(number)) }, "Show only these."))));
    }
    if (from + 100 < connections.length) {
      const more = make("button", { type: "button", onclick: () => { more.remove(); add(from + 100); } }, `${connections.length - from - 100} more`);
      panel.append(more);
    }
  };
  add(0);
}

/** Connections by their first flow, with the number of their packets. */
function connectionsOf(capture) {
  const counts = new Map();
  for (let i = 0; i < capture.count; i++) {
    const connection = capture.connection(i);
    if (connection >= 0) counts.set(connection, (counts.get(connection) ?? 0) + 1);
  }
  return [...counts].map(([number, packets]) => ({ number, packets })).sort((a, b) => a.number - b.number);
}

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
    const whole = { colour: colours.request, width: 1.6, dash: [], isDouble: false, isLost: false, sign: "", ...properties };
    drawArrow(context, whole, 4, 10, 116, 14);
    if (whole.sign === "") return;
    context.fillStyle = colours.back;
    context.fillRect(12, 2, 16, 20);
    context.fillStyle = whole.isDouble ? colours.again : whole.colour;
    context.font = `bold 13px ${colours.sans}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(whole.sign, 20, 12);
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
    make("h3", {}, "Findings"),
    sign("violation", "violation"),
    sign("suspicious", "suspicious: something not in the capture could explain it"),
    sign("note", "note"),
    make("h3", {}, "Operations"),
    sample((context) => {
      context.globalAlpha = 0.5;
      context.fillStyle = colours.request;
      context.beginPath();
      context.roundRect(56, 1, 5, 22, 2.5);
      context.fill();
    }, "from its first packet to what completed it, beside who asked for it; a stripe within: packets went again"),
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
