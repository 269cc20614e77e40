// A packet at the side: its line, why it is so, what was found about it, its operation, its fields and bytes.

class Details {
  constructor(capture, choice) {
    Object.assign(this, { capture, choice });
    this.panel = document.getElementById("panel-packet");
    this.turn = 0;
    /** Bytes on a line of the packet shown; 0 without one. */
    this.perRow = 0;
    new ResizeObserver(() => {
      if (this.perRow > 0 && this.panel.clientWidth > 0 && bytesPerRow(this.panel.clientWidth) !== this.perRow) this.show();
    }).observe(this.panel);
    choice.addEventListener("selected", () => this.show());
    this.show();
  }

  async show() {
    const i = this.choice.selected;
    this.turn += 1;
    const turn = this.turn;
    if (i < 0) {
      this.perRow = 0;
      this.panel.replaceChildren(make("div", { class: "about-packet" }, this.#whole()));
      return;
    }
    const bytes = await this.capture.bytes(i);
    // Another may have been chosen since.
    if (turn !== this.turn) return;
    const { table, hex, perRow } = new FieldsAndBytes(this.panel, fieldsOf(this.capture, i, bytes), bytes);
    this.perRow = perRow;
    const parts = [
      make("h2", {}, `Frame ${this.capture.frame[i].toLocaleString("en")}`),
      make("p", { class: "words", id: "line" }, this.capture.line(i)),
      this.#pills(i),
      ...this.#explanations(i),
      ...this.#findings(i),
      this.#operation(i),
      make("h3", {}, "Fields"),
      table,
    ];
    // Side by side in view, so that fields and bytes can light each other.
    this.panel.replaceChildren(
      make("div", { class: "about-packet" }, ...parts),
      make("div", { class: "bytes-box" }, make("h3", {}, `Bytes (${this.#lengths(i)})`), hex),
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
      ["open", "of operations that never completed", count((i) => capture.isOfNeverCompleted(i))],
      ["found", "with findings", count((i) => capture.findingsAt.has(i))],
    ].filter(([, , number]) => number > 0);
    // Of these there is no packet to be shown: only the rows of their flows tell more.
    const { absent } = capture.about;
    const openFlows = () => document.getElementById("tab-flows").click();
    const row = (onclick, words, number) => make("tr", {},
      make("td", { class: "field-name" }, make("button", { class: "link", type: "button", onclick }, words)),
      make("td", { class: "value" }, number.toLocaleString("en")));
    const table = (list) => make("table", { class: "fields counts" }, make("tbody", {}, ...list));
    return make("div", {},
      make("h2", {}, "Packets"),
      make("p", { class: "nothing" }, "Click a packet to see its bytes and fields, or move with the arrow keys."),
      make("h3", {}, "What there is"),
      table(rows.map(([kind, number]) => make("tr", {}, make("td", { class: "field-name" }, capture.about.kinds[kind]), make("td", { class: "value" }, number.toLocaleString("en"))))),
      make("h3", {}, "What went wrong"),
      troubles.length === 0
        ? make("p", { class: "nothing" }, "Nothing lost, sent again, refused or broken.")
        : table(troubles.map(([name, words, number]) => row(() => setFilter("only", name), words, number))),
      absent.length === 0 ? null : make("h3", {}, "What the capture does not have"),
      absent.length === 0 ? null : table(absent.map(([words, number]) => row(openFlows, words, number))),
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
    const text = make("p", {}, `Part of a ${name} of ${bytesText(capture.band_bytes[band])}${capture.isOpen(band) ? " as far as it is known" : ""}`);
    if (!isTcp) text.append(first === last ? `, PSN ${first}` : `, PSN ${first} to ${last}`);
    text.append(", from frame ", this.#link(String(capture.frame[begun]), begun), capture.isOpen(band) ? " to its last sign in frame " : " to frame ", this.#link(String(capture.frame[done]), done));
    if (capture.hasTime(begun) && capture.hasTime(done)) text.append(`: ${duration(capture.time[done] - capture.time[begun])}`);
    text.append(repeated > 0 ? `. ${counted(repeated, "packet")} of it went again.` : ".");
    if (capture.isOpen(band)) text.append(` ${capture.endingWords(band)}`);
    text.append(" ", make("button", { class: "link", type: "button", onclick: () => setFilter("operation", `band-${band}`) }, "Show only this one."));
    return make("div", {}, make("h3", {}, "Operation"), text);
  }
}
