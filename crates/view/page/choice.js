// What is shown, and what is chosen: filters, search, the packet looked at.

const ONLY = {
  "": ["all packets", () => true],
  trouble: [
    "trouble only",
    (c, i) => c.isLost(i) || c.isAgain(i) || c.isNegative(i) || c.role[i] === ROLE.DUPLICATE || c.role[i] === ROLE.LATE
      || (c.marks[i] & (MARK.BROKEN | MARK.GAP | MARK.CONGESTED)) !== 0 || c.findingsAt.has(i),
  ],
  lost: ["lost", (c, i) => c.isLost(i)],
  again: ["sent again", (c, i) => c.isAgain(i)],
  twice: ["twice or late", (c, i) => c.role[i] === ROLE.DUPLICATE || c.role[i] === ROLE.LATE],
  negative: ["NAK, RNR NAK, TERMINATE", (c, i) => c.isNegative(i)],
  congestion: ["congestion", (c, i) => c.kind[i] === KIND.CONGESTION || (c.marks[i] & MARK.CONGESTED) !== 0],
  broken: ["broken", (c, i) => (c.marks[i] & MARK.BROKEN) !== 0],
  open: ["never completed", (c, i) => c.isOfNeverCompleted(i)],
  found: ["with findings", (c, i) => c.findingsAt.has(i)],
};

class Choice extends EventTarget {
  constructor(capture) {
    super();
    this.capture = capture;
    this.filters = { flow: "", pair: "", operation: "", finding: "", only: "" };
    /** Places of the packets shown. */
    this.shown = new Uint32Array(0);
    /** The packet looked at, by place; none is -1. */
    this.selected = -1;
    this.hovered = -1;
    this.query = "";
    /** Places of the packets found, in their order. */
    this.hits = [];
    /** That of the frame whose number is looked for; -1 without one. */
    this.exact = -1;
    this.apply();
  }

  apply() {
    const { capture, filters } = this;
    const { count } = capture;
    const tests = [];
    if (filters.flow !== "") {
      const connection = Number(filters.flow);
      tests.push((i) => capture.connection(i) === connection);
    }
    if (filters.pair !== "") {
      const pair = Number(filters.pair);
      tests.push((i) => capture.isOfQueuePair(i, pair));
    }
    if (filters.operation !== "") tests.push(this.#operation(filters.operation));
    if (filters.finding !== "") tests.push(this.#finding(filters.finding));
    if (filters.only !== "") tests.push((i) => ONLY[filters.only][1](capture, i));
    const shown = new Uint32Array(count);
    let length = 0;
    for (let i = 0; i < count; i++) if (tests.every((test) => test(i))) shown[length++] = i;
    this.shown = shown.subarray(0, length);
    this.changed("shown");
  }

  /** "kind-3": packets of such operations; "band-7": those of one. */
  #operation(value) {
    const { capture } = this;
    const [what, number] = value.split("-");
    const wanted = Number(number);
    if (what === "band") return (i) => capture.band[i] === wanted + 1;
    return (i) => capture.band[i] > 0 && capture.band_kind[capture.band[i] - 1] === wanted;
  }

  #finding(value) {
    const { capture } = this;
    const rule = Number(value);
    const places = new Set();
    for (const finding of capture.findings) {
      if (finding.rule === rule) finding.places.forEach((place) => places.add(place));
    }
    return (i) => places.has(i);
  }

  set(name, value) {
    if (this.filters[name] === value) return;
    this.filters[name] = value;
    this.apply();
  }

  clear() {
    for (const name of Object.keys(this.filters)) this.filters[name] = "";
    this.apply();
  }

  isFiltered() {
    return Object.values(this.filters).some((value) => value !== "");
  }

  /** The row of a packet among those shown, or of the next one. */
  row(i) {
    return Capture.search(this.shown, i);
  }

  isShown(i) {
    return this.shown[this.row(i)] === i;
  }

  /** Looks at a packet; if it is not shown, takes the filters off. */
  select(i, { reveal = true } = {}) {
    if (i < 0 || i >= this.capture.count) return;
    if (!this.isShown(i)) this.clear();
    this.selected = i;
    this.reveal = reveal;
    this.changed("selected");
  }

  deselect() {
    this.selected = -1;
    this.changed("selected");
  }

  /** The next packet shown, or the one so many rows on. */
  move(rows) {
    if (this.shown.length === 0) return;
    const from = this.selected < 0 ? (rows > 0 ? -1 : 0) : this.row(this.selected);
    const row = Math.max(0, Math.min(this.shown.length - 1, from + rows));
    this.select(this.shown[row]);
  }

  /** A number is a frame's; anything else is looked for in the lines, whatever the case. */
  search(query) {
    this.query = query;
    this.hits = [];
    this.exact = -1;
    const text = query.trim().toLowerCase();
    if (text !== "") {
      const { capture } = this;
      this.lower ??= capture.lines.toLowerCase();
      // Letters whose small form has another length would move the lines.
      const isSame = this.lower.length === capture.lines.length;
      const lines = isSame ? this.lower : capture.lines;
      let at = lines.indexOf(text);
      while (at >= 0) {
        const place = Capture.search(capture.lineStart, at + 1) - 1;
        this.hits.push(place);
        at = lines.indexOf(text, capture.lineStart[place + 1]);
      }
      if (/^#?\d+$/.test(text)) this.#findFrame(Number(text.replace("#", "")));
    }
    this.changed("search");
  }

  #findFrame(frame) {
    const { capture, hits } = this;
    const place = Capture.search(capture.frame, frame);
    if (capture.frame[place] !== frame) return;
    this.exact = place;
    const at = Capture.search(hits, place);
    if (hits[at] !== place) hits.splice(at, 0, place);
  }

  /** The next packet found, from the one looked at on. */
  find(direction) {
    const { hits } = this;
    if (hits.length === 0) return;
    const next = Capture.search(hits, this.selected + (direction > 0 ? 1 : 0)) - (direction < 0 ? 1 : 0);
    this.select(hits[(next + hits.length) % hits.length]);
  }

  changed(what) {
    this.dispatchEvent(new Event(what));
  }
}
