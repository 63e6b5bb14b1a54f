// Two runs or versions side by side: levels, and anomalies that are new, gone or still there.
import { add, ask, chip, el, fill, go, lastPart, number, section, to, trail } from "/page.js";
import { sentence } from "/result.js";

export async function compare(view, { before, after }) {
  const { items } = await ask("/api/list");
  const checked = items.filter((item) => item.summary);
  add(view, trail(["Runs", "#/"], ["Compare"]), el("h1", {}, "Compare two runs"), chooser(checked, before, after));
  if (!before || !after) {
    add(view, el("p", { class: "dim" }, checked.length < 2 ? "There must be two that were checked." : "Choose two: what is new in the second, what is gone, what is still there."));
    return;
  }
  const found = await ask("/api/compare", { before, after });
  add(view, el("div", { class: "sides" }, side("before", before, found.before), side("after", after, found.after)), structures(found, before, after), kinds(found), levels(found));
}

function title(item) {
  const { run } = item.summary;
  return run ? `${run.product}, ${run.isolation}, ${run.workload} (${lastPart(item.path)})` : lastPart(item.path);
}

function chooser(items, before, after) {
  const choice = (name, chosen) => {
    const select = el("select", { name, "aria-label": name, "data-filter": name === "before" }, el("option", { value: "" }, "choose …"), items.map((item) => {
      const option = el("option", { value: item.path }, title(item));
      option.selected = item.path === chosen;
      return option;
    }));
    select.addEventListener("change", () => go("compare", { before: first.value, after: second.value }));
    return select;
  };
  const first = choice("before", before);
  const second = choice("after", after);
  return el("div", { class: "row" }, el("label", { class: "field" }, el("span", {}, "Before"), first), el("label", { class: "field" }, el("span", {}, "After"), second),
    el("div", { class: "field" }, el("span", {}, "\u00a0"), el("button", { type: "button", onclick: () => go("compare", { before: second.value, after: first.value }) }, "Swap")));
}

function side(word, path, summary) {
  return el("div", { class: "panel" }, el("div", { class: "dim small" }, word), el("a", { href: to("result", { path }) }, lastPart(path)),
    el("p", {}, summary.run && `${summary.run.product}, ${summary.run.isolation}, ${summary.run.workload}`),
    el("p", {}, "strongest: ", el("b", {}, summary.strongest?.join(", ") || "none")));
}

const ORDER = ["new", "gone", "still there"];

function structures(found, before, after) {
  const groups = ORDER.map((change) => [change, found.structures.filter((one) => one.change === change)]);
  const line = (one) => el("li", {}, el("b", {}, one.kind), ` ${one.structure} `,
    one.before !== null && [el("a", { href: to("anomaly", { path: before, id: one.before }) }, "before"), " "],
    one.after !== null && el("a", { href: to("anomaly", { path: after, id: one.after }) }, "after"));
  return section("Anomalies", el("p", { class: "dim small" }, "Each by the circle of its dependencies: wr was read by, ww was overwritten by, rw read what was overwritten by, so earlier in the same session, rt ended before the start of; x, y … stand for keys."),
    el("div", { class: "changes" }, groups.map(([change, all]) => el("div", { class: `panel change-${change.split(" ")[0]}` },
    el("h3", {}, `${change[0].toUpperCase()}${change.slice(1)} `, el("span", { class: "dim" }, all.length)),
    all.length ? el("ul", {}, all.map(line)) : el("p", { class: "dim" }, "none")))));
}

function kinds(found) {
  if (!found.kinds.length) return null;
  const row = (one) => el("tr", {}, el("td", {}, one.kind), el("td", { class: "num" }, number(one.before)), el("td", { class: "num" }, number(one.after)), el("td", {}, one.change), el("td", { class: "dim wide" }, sentence(one.meaning)));
  return section("By kind", el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, [["kind", ""], ["before", "num"], ["after", "num"], ["", ""], ["meaning", "wide"]].map(([text, kind]) => el("th", { scope: "col", class: kind }, text)))), el("tbody", {}, found.kinds.map(row)))));
}

function levels(found) {
  const row = (one) => el("tr", { class: one.changed ? "changed" : "" }, el("td", {}, one.level), el("td", {}, chip(one.before)), el("td", {}, chip(one.after)));
  return section("Levels", el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["level", "before", "after"].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, found.levels.map(row)))));
}
