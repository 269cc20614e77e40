// Everything together: the page's controls, keys, theme.

const byId = (id) => document.getElementById(id);
let setFilter = () => {};

/** The theme that was chosen last, if the browser keeps such things for files. */
function keptTheme() {
  try {
    return localStorage.getItem("rdmalab-theme");
  } catch {
    return null;
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  readColours();
}

/** Fills a select with pairs of value and text. */
function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
}

async function begin() {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  setTheme(keptTheme() ?? (preferred.matches ? "dark" : "light"));
  const capture = await Capture.load();
  const choice = new Choice(capture);
  const scale = new Scale(choice);
  const plot = new Plot(capture, choice);
  const ladder = new Ladder(capture, choice, scale, plot);
  const details = new Details(capture, choice);
  const { about } = capture;

  const file = about.name.split("/").pop();
  document.title = `${file} – rdmalab view`;
  byId("name").textContent = file;
  byId("name").title = about.name;
  const facts = [counted(capture.count, "packet"), bytesText(about.bytes)];
  if (capture.count > 1) facts.push(duration(scale.span));
  facts.push(...SEVERITIES.map((severity) => [severity, capture.findings.filter((finding) => finding.severity === severity).length])
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => (severity === "suspicious" ? `${count.toLocaleString("en")} suspicious` : counted(count, severity))));
  if (about.passed_over > 0) facts.push(`${about.passed_over.toLocaleString("en")} more not drawn, by --filter`);
  byId("facts").textContent = facts.join(" \u00b7 ");
  if (about.damage !== null) {
    byId("damage").textContent = `The file was not read to its end. ${about.damage}`;
    byId("damage").hidden = false;
  }

  // Filters.
  const connections = connectionsOf(capture);
  fill(byId("filter-flow"), [["", "all"], ...connections.map(({ number }) => [String(number), capture.connections.name(number)])]);
  const pairs = [...new Set(capture.queue_pair)].filter((pair) => pair > 0).sort((a, b) => a - b);
  fill(byId("filter-pair"), [["", "all"], ...pairs.map((pair) => [String(pair - 1), `0x${(pair - 1).toString(16)}`])]);
  const kinds = [...new Set(capture.band_kind)].sort((a, b) => a - b);
  const operations = [["", "all"], ...kinds.map((kind) => [`kind-${kind}`, about.operations[kind]])];
  fill(byId("filter-operation"), operations);
  const rules = [...new Set(capture.findings.map((finding) => finding.rule))].sort((a, b) => a - b);
  fill(byId("filter-finding"), [["", "all"], ...rules.map((rule) => [String(rule), about.rules[rule][0]])]);
  fill(byId("filter-only"), Object.entries(ONLY).map(([value, [text]]) => [value, text]));
  for (const name of Object.keys(choice.filters)) {
    byId(`filter-${name}`).addEventListener("change", (event) => choice.set(name, event.target.value));
    byId(`filter-${name}`).disabled = byId(`filter-${name}`).options.length < 2;
  }
  setFilter = (name, value) => choice.set(name, value);
  byId("clear").addEventListener("click", () => choice.clear());
  const showFilters = () => {
    for (const [name, value] of Object.entries(choice.filters)) {
      const select = byId(`filter-${name}`);
      if (value.startsWith("band-")) {
        const band = Number(value.slice(5));
        fill(select, [...operations, [value, `one ${about.operations[capture.band_kind[band]]}, frame ${capture.frame[capture.band_begun[band]]}`]]);
      }
      select.value = value;
      select.classList.toggle("on", value !== "");
    }
    byId("clear").disabled = !choice.isFiltered();
    const shown = choice.shown.length;
    byId("shown").textContent = shown === capture.count ? "" : `${shown.toLocaleString("en")} of ${capture.count.toLocaleString("en")}`;
    if (choice.selected >= 0 && choice.isShown(choice.selected)) ladder.reveal(choice.row(choice.selected));
  };
  choice.addEventListener("shown", showFilters);
  choice.addEventListener("selected", () => ladder.tell());
  showFilters();

  // Search.
  const search = byId("search");
  const showHits = () => {
    const count = choice.hits.length;
    byId("hits").textContent = choice.query.trim() === "" ? "" : count === 0 ? "none" : counted(count, "hit");
    byId("find-on").disabled = count === 0;
    byId("find-back").disabled = count === 0;
  };
  choice.addEventListener("search", showHits);
  showHits();
  let typing = 0;
  const searchNow = () => {
    clearTimeout(typing);
    if (choice.query !== search.value) choice.search(search.value);
  };
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(searchNow, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    searchNow();
    if (choice.exact >= 0 && choice.selected !== choice.exact) choice.select(choice.exact);
    else choice.find(event.shiftKey ? -1 : 1);
  });
  byId("find-on").addEventListener("click", () => choice.find(1));
  byId("find-back").addEventListener("click", () => choice.find(-1));

  // Scale.
  const setScale = (isTime) => {
    byId("scale-rows").setAttribute("aria-pressed", String(!isTime));
    byId("scale-time").setAttribute("aria-pressed", String(isTime));
    ladder.toggleScale(isTime);
  };
  byId("scale-rows").addEventListener("click", () => setScale(false));
  byId("scale-time").addEventListener("click", () => setScale(true));
  byId("zoom-in").addEventListener("click", () => ladder.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => ladder.zoom(1 / 1.5));
  byId("zoom-fit").addEventListener("click", () => ladder.fit());
  const togglePlot = () => {
    plot.isOn = !plot.isOn;
    byId("plot-toggle").setAttribute("aria-pressed", String(plot.isOn));
    ladder.resize();
  };
  byId("plot-toggle").addEventListener("click", togglePlot);
  if (document.documentElement.clientWidth < 800) togglePlot();

  // Theme.
  const toggleTheme = () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setTheme(theme);
    try {
      localStorage.setItem("rdmalab-theme", theme);
    } catch {
      // Then it is not kept.
    }
    showLegend();
    details.show();
    ladder.draw();
  };
  byId("theme").addEventListener("click", toggleTheme);

  // Tabs.
  const tabs = ["packet", "findings", "flows", "legend"];
  const openTab = (name) => {
    for (const tab of tabs) {
      byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
      byId(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
      byId(`panel-${tab}`).hidden = tab !== name;
    }
  };
  tabs.forEach((tab, place) => {
    byId(`tab-${tab}`).addEventListener("click", () => openTab(tab));
    byId(`tab-${tab}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const next = tabs[(place + step + tabs.length) % tabs.length];
      openTab(next);
      byId(`tab-${next}`).focus();
    });
  });
  openTab("packet");
  choice.addEventListener("selected", () => choice.selected >= 0 && openTab("packet"));
  showFindings(capture, choice);
  showFlows(capture);
  showLegend();

  // Keys.
  const help = byId("help");
  byId("help-open").addEventListener("click", () => help.showModal());
  const trouble = (direction) => {
    const rows = ladder.troubles.rows;
    const from = choice.selected < 0 ? -1 : choice.row(choice.selected);
    const next = direction > 0 ? rows.find((row) => row > from) : rows.findLast((row) => row < from);
    if (next !== undefined) choice.select(choice.shown[next]);
  };
  const operation = (column) => {
    const band = choice.selected < 0 ? 0 : capture.band[choice.selected];
    if (band > 0) choice.select(capture[column][band - 1]);
  };
  const page = () => Math.max(Math.floor(ladder.view / Math.max(scale.isTime ? 24 : scale.rowHeight, 0.01)) - 2, 1);
  const keys = {
    j: () => choice.move(1),
    ArrowDown: () => choice.move(1),
    k: () => choice.move(-1),
    ArrowUp: () => choice.move(-1),
    PageDown: () => choice.move(page()),
    PageUp: () => choice.move(-page()),
    Home: () => choice.move(-Infinity),
    End: () => choice.move(Infinity),
    "]": () => trouble(1),
    "[": () => trouble(-1),
    b: () => operation("band_begun"),
    e: () => operation("band_done"),
    "/": () => { search.focus(); search.select(); },
    n: () => choice.find(1),
    N: () => choice.find(-1),
    f: () => byId("filter-flow").focus(),
    c: () => choice.clear(),
    "+": () => ladder.zoom(1.5),
    "=": () => ladder.zoom(1.5),
    "-": () => ladder.zoom(1 / 1.5),
    0: () => ladder.fit(),
    t: () => setScale(!scale.isTime),
    p: togglePlot,
    d: toggleTheme,
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !help.open) {
      if (document.activeElement === ladder.scroller) choice.deselect();
      ladder.scroller.focus();
      return;
    }
    if (help.open || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select")) return;
    const isScrolling = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].includes(event.key);
    if (isScrolling && event.target.closest(".side")) return;
    if (event.key === "Enter" && event.target === ladder.scroller) {
      openTab("packet");
      byId("fields")?.focus();
      return;
    }
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  ladder.scroller.focus({ preventScroll: true });

  // For tests, and for those who want to know more: what the page has, and how long it took.
  window.rdmalab = { capture, choice, ladder, scale, plot, fieldsOf, opened: performance.now() };
  document.documentElement.dataset.state = "open";
}

begin().catch((error) => {
  document.documentElement.dataset.state = "failed";
  byId("damage").textContent = `The page could not be opened: ${error.message}`;
  byId("damage").hidden = false;
});
