// Connections, with what `rdmalab lint` says of their flows.

/** Connections, with what their flows came to. */
function showFlows(capture) {
  const panel = document.getElementById("panel-flows");
  const connections = connectionsOf(capture);
  const judged = capture.about.flows.filter((flow) => flow.report !== null).length;
  document.getElementById("tab-flows").textContent = `Flows (${judged.toLocaleString("en")})`;
  if (connections.length === 0) panel.append(make("p", { class: "nothing" }, "No packet belongs to a flow."));
  const add = (from) => {
    for (const { number, packets } of connections.slice(from, from + 100)) {
      const reports = capture.connections.flows.get(number).filter((flow) => flow.report !== null).map((flow) => flow.report);
      panel.append(make("div", { class: "flow" },
        make("h2", {}, capture.connections.name(number)),
        ...reports.map(reportOf),
        make("p", {}, `${counted(packets, "packet")}. `, make("button", { class: "link", type: "button", onclick: () => setFilter("flow", String(number)) }, "Show only these."))));
    }
    if (from + 100 < connections.length) {
      const more = make("button", { type: "button", onclick: () => { more.remove(); add(from + 100); } }, `${connections.length - from - 100} more`);
      panel.append(more);
    }
  };
  add(0);
}

/** The report of a flow: what it is, and a table of what was counted, whose columns are two spaces apart in the text. */
function reportOf(report) {
  const [head, ...lines] = report.split("\n");
  const rows = lines.map((line) => line.trim().split(/ {2,}/)).map(([what, ...values]) => make("tr", {},
    make("td", {}, what),
    make("td", {}, values.reduce((all, value) => `${all}${/^\d/.test(value) ? ", " : " "}${value}`))));
  return make("div", { class: "report" }, make("p", { class: "words" }, head), make("table", {}, make("tbody", {}, ...rows)));
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
