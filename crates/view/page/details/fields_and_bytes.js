// The fields of a packet and its bytes: pointing at one lights the other.

/** Bytes shown before one asks for more. */
const FIRST_BYTES = 2048;

/** As many bytes as fit on a line with their offset and their letters: a power of two. */
function bytesPerRow(width) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `12px ${colours.mono}`;
  const character = context.measureText("0".repeat(50)).width / 50;
  // Offset, gaps between the columns, two digits and a letter for each byte, a gap in the middle; the panel's edges.
  const wide = 4 * character + 28 + 16 * (3 * character + 3) + character + 32 + 16;
  return width > 0 && width < wide ? 8 : 16;
}

class FieldsAndBytes {
  /** `panel` is what both stand in. */
  constructor(panel, fields, bytes) {
    Object.assign(this, { panel, fields });
    this.perRow = bytesPerRow(panel.clientWidth);
    this.lit = null;
    this.table = this.#fieldTable();
    this.hex = this.#hex(bytes, FIRST_BYTES);
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
    const table = make("table", { class: "fields", id: "fields", tabIndex: 0, "aria-label": "Fields: arrow keys go through them" },
      make("colgroup", {}, make("col", { class: "field-name" }), make("col"), make("col", { class: "where" })), body);
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
    const perRow = this.perRow;
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
