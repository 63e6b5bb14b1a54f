// One run or file: the verdict, the levels, the anomalies by kind.
import { add, ask, chip, drawing, el, go, lastPart, number, post, section, to, toast, trail } from "/page.js";

export async function result(view, { path }) {
  const found = await ask("/api/result", { path });
  const check = el("button", { type: "button", onclick: async () => {
    check.disabled = true;
    try { go("job", { job: (await post("/api/check", { path })).job }); } catch (error) { toast(error.message); check.disabled = false; }
  } }, found.verdict ? "Check again" : "Check it now");
  const { run } = found;
  const title = run ? `${run.product}, ${run.isolation}` : lastPart(path);
  add(view, trail(["Runs", "#/"], [lastPart(path)]), el("h1", {}, title));
  const actions = el("p", { class: "actions" }, el("a", { class: "button", href: to("history", { path }) }, "Transactions"), " ",
    found.verdict && [el("a", { class: "button", href: to("compare", { before: path }) }, "Compare with …"), " "], check);
  if (!found.verdict) {
    add(view, el("p", {}, "This history was not checked yet."), actions);
    return;
  }
  add(view, el("div", { class: "panel" }, verdict(found), facts(found)), actions,
    (found.notes ?? []).map((note) => el("p", { class: "note" }, note)), anomalies(found, path), levels(found));
}

function verdict(found) {
  const held = (found.held_to ?? []).map((answer) => el("p", { class: "big" }, chip(answer.verdict), ` promised: ${answer.level}`));
  const strongest = found.strongest?.length ? found.strongest.join(", ") : "none";
  return [held, el("p", { class: held.length ? "" : "big" }, "The strongest levels that hold here: ", el("b", {}, strongest)),
    found.violated.length > 0 && el("p", {}, "The weakest levels that are violated: ", el("b", { class: "bad-text" }, found.violated.join(", ")))];
}

function facts(found) {
  const { run, history } = found;
  const rows = [];
  if (history) rows.push(["transactions", number(history.transactions)], ["operations", number(history.operations)], ["sessions", number(history.sessions)], ["keys", number(history.keys)]);
  if (run) rows.push(["workload", run.workload], ["clients", number(run.clients)], ["seed", run.seed], ["seconds", run.seconds?.toFixed(1)], ["committed", number(run.committed)],
    ["aborted", number(run.aborted)], ["unknown", number(run.indeterminate)], ["faults", number(run.faults)]);
  if (found.bank?.audits) rows.push(["wrong audits", `${number(found.bank.wrong)} of ${number(found.bank.audits)}`]);
  return el("div", { class: "facts" }, rows.map(([name, value]) => el("div", { class: "fact" }, el("b", {}, value), el("span", { class: "dim small" }, name))));
}

function anomalies(found, path) {
  if (!found.anomalies.length) return section("Anomalies", el("p", { class: "dim" }, "None was found."));
  const kinds = new Map();
  for (const one of found.anomalies) kinds.set(one.kind, [...(kinds.get(one.kind) ?? []), one]);
  const filter = el("input", { type: "search", "data-filter": true, placeholder: "Filter the anomalies by kind, level or transaction", "aria-label": "Filter the anomalies" });
  const groups = [...kinds].map(([kind, all]) => {
    const most = Math.max(...all.map((one) => one.count ?? 1));
    const item = el("li", { class: "anomaly" },
      el("h3", {}, kind, all[0].label && all[0].label !== kind && el("span", { class: "dim small" }, ` ${all[0].label}`), most > 1 && el("span", { class: "tag" }, `×${number(most)}`)),
      el("p", {}, sentence(all[0].meaning)),
      el("ul", { class: "instances" }, all.map((one) => el("li", {},
        el("a", { href: to("anomaly", { path, id: one.id }) }, one.transactions.slice(0, 6).join(" → ") + (one.transactions.length > 6 ? " …" : "")),
        el("span", { class: "dim small" }, ` ${one.edges.length ? one.edges.join(" ") + " · " : ""}violates ${one.levels[0]}${one.levels.length > 1 ? ` and ${one.levels.length - 1} more` : ""}`)))));
    return { item, text: `${kind} ${all.map((one) => `${one.label} ${one.levels.join(" ")} ${one.transactions.join(" ")}`).join(" ")}`.toLowerCase() };
  });
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { item, text } of groups) item.hidden = !words.every((word) => text.includes(word));
  });
  return section("Anomalies", groups.length > 4 && el("div", { class: "bar" }, filter), el("ul", { class: "kinds" }, groups.map((group) => group.item)));
}

export function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}

function levels(found) {
  const rows = found.results.map((one) => el("tr", {}, el("td", {}, one.level), el("td", {}, chip(one.verdict)), el("td", { class: "dim" }, one.reason ?? ""), el("td", { class: "num dim" }, `${(one.seconds ?? 0).toFixed(3)} s`)));
  const about = "An isolation level is a promise about what transactions that run at the same time may see of each other; the strongest is at the top. A line leads down from a level to what it implies. Green holds (✓), red is violated (✗), yellow is not known (?).";
  return section("Levels", el("p", { class: "dim small" }, about), el("div", { class: "scroll picture wide" }, drawing(found.lattice)),
    el("details", { open: matchMedia("(max-width: 40rem)").matches }, el("summary", {}, "As a table, with times"), el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["level", "verdict", "reason", "time"].map((name) => el("th", {}, name)))), el("tbody", {}, rows)))));
}
