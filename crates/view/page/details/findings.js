// All findings, by rule: each leads to its packet.

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
