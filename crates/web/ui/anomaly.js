// One anomaly: the story, the graph whose edges can be chosen, the lanes, the way to its neighbours.
import { add, ask, drawing, el, fill, lastPart, number, section, to, trail } from "/page.js";

export async function anomaly(view, { path, id }) {
  const found = await ask("/api/anomaly", { path, id });
  add(view, trail(["Runs", "#/"], [lastPart(path), to("result", { path })], [found.kind]),
    el("h1", {}, found.kind, found.label !== found.kind && el("span", { class: "dim" }, ` ${found.label}`)),
    el("p", { class: "lead" }, found.story.what), found.level && el("p", { class: "dim" }, `Violates ${found.level}${found.count > 1 ? `; found ${number(found.count)} times, this is the smallest` : ""}.`),
    story(found), graph(found, path), lanes(found), operations(found, path), recorded(found), about(found), files(path, id));
}

function story({ story: told, explanation }) {
  const items = (texts) => texts.map((text) => el("li", {}, text));
  const happened = told.happened.length > 0 && [el("h3", {}, "What happened"), el("ul", {}, items(told.happened))];
  const contradiction = told.contradiction.length > 0 && [el("h3", {}, "Why that cannot be"), argument(told.contradiction)];
  return section("The story", happened, contradiction, !contradiction && explanation && el("p", {}, explanation), told.remains && el("p", {}, told.remains));
}

/** What it begins with, the steps, and what they come to. */
function argument(texts) {
  if (texts.length < 3) return texts.map((text) => el("p", {}, el("strong", {}, text)));
  return [el("p", {}, texts[0]), el("ol", {}, texts.slice(1, -1).map((text) => el("li", {}, text))), el("p", {}, el("strong", {}, texts.at(-1)))];
}

function graph({ graph: svg, picture, legend }, path) {
  const shown = drawing(svg);
  const details = el("div", { class: "edge-details panel", "aria-live": "polite" });
  const links = [...shown.querySelectorAll("a.arrow")];
  const hint = () => fill(details, el("p", { class: "dim" }, "Choose an edge to see the operations behind it and why it is there."));
  let opener = null;
  const close = () => { choose(-1); opener?.focus(); };
  const choose = (place) => {
    links.forEach((link) => link.classList.toggle("chosen", placeOf(link) === place));
    rows.forEach((row, at) => row.setAttribute("aria-pressed", at === place));
    const arrow = picture.arrows[place];
    if (!arrow) { hint(); return; }
    fill(details, el("button", { type: "button", class: "small close", "data-escape": true, "aria-label": "Close the edge", onclick: close }, "✕"),
      el("h3", {}, name(picture, arrow)), el("p", {}, arrow.reason),
      arrow.operations.length > 0 && el("ul", { class: "ops" }, arrow.operations.map((text) => el("li", {}, el("code", {}, text)))),
      el("p", { class: "dim small" }, `${meaning(legend.kinds, arrow.kind)}; ${arrow.certainty}: ${meaning(legend.certainties, arrow.certainty)}`),
      el("p", {}, [arrow.from, arrow.to].map((at) => [walk(path, picture.boxes[at].name), " "])));
    opener = document.activeElement;
    details.scrollIntoView({ block: "nearest" });
  };
  const rows = picture.arrows.map((arrow, place) => el("button", { type: "button", class: `edge ${arrow.kind}`, "aria-pressed": "false", onclick: () => choose(place) }, name(picture, arrow)));
  for (const link of links) link.addEventListener("click", (event) => { event.preventDefault(); choose(placeOf(link)); });
  hint();
  const key = el("ul", { class: "dim small legend" }, legend.kinds.map((kind) => el("li", {}, el("b", { class: kind.name }, kind.name), ` ${kind.meaning}`)),
    legend.certainties.map((how) => el("li", {}, el("span", { class: `stroke ${how.name}` }), `${how.name}: ${how.meaning}`)));
  const boxes = el("p", { class: "dim small" }, legend.boxes);
  return section("The dependencies", boxes, el("div", { class: "scroll picture" }, shown), key, el("div", { class: "edges" }, rows), details);
}

function placeOf(link) {
  return Number(link.getAttribute("href").split("-").pop());
}

function meaning(list, wanted) {
  return list.find((one) => one.name === wanted)?.meaning ?? wanted;
}

function name(picture, arrow) {
  return `${picture.boxes[arrow.from].name} → ${picture.boxes[arrow.to].name}: ${arrow.kind}${arrow.key ? ` ${arrow.key}` : ""}`;
}

function walk(path, txn) {
  return txn === "init" ? el("span", { class: "dim" }, "init") : el("a", { class: "button small", href: to("txn", { path, txn }) }, `${txn} and its neighbours`);
}

function lanes({ lanes: svg, timed }) {
  if (!svg) return null;
  return section(timed ? "In time" : "In sessions", el("p", { class: "dim small" }, timed ? "A lane a session; time goes down, in order but not to scale." : "A lane a session. The history has no times."), el("div", { class: "scroll picture" }, drawing(svg)));
}

function operations({ picture }, path) {
  return section("The transactions", el("div", { class: "cards" }, picture.boxes.map((box) => el("div", { class: "card" },
    el("h3", {}, box.name, el("span", { class: "dim small" }, ` ${box.note}`)),
    el("ol", { class: "ops" }, box.operations.map((line) => el("li", { class: line.matters ? "matters" : "" }, el("code", {}, line.text)))),
    box.more > 0 && el("p", { class: "dim small" }, `… and ${number(box.more)} more`), walk(path, box.name)))));
}

function recorded({ recorded: said }) {
  if (said.length === 0) return null;
  return section("What was said to the database", said.map(({ txn, place, ids, statements, more }) => [
    el("h3", {}, txn, el("span", { class: "dim small" }, ` ${[place, ...ids].join(", ")}`)),
    statements.length > 0 && el("pre", { class: "scroll" }, statements.join("\n"), more > 0 && `\n… and ${number(more)} more`)]));
}

function about({ kind, what, example, wrong, prevented, story: { matters } }) {
  if (!what) return null;
  return section(`About ${kind}`, el("p", {}, what),
    example && [el("h3", {}, "The smallest example (time goes down)"), el("pre", { class: "scroll" }, example), wrong && el("p", {}, wrong)],
    matters && [el("h3", {}, "Why it matters"), el("p", {}, matters)],
    prevented.length > 0 && [el("h3", {}, "What prevents it"), el("ul", {}, prevented.map((one) => el("li", {}, el("b", {}, one.engine), `: ${one.how}`)))]);
}

function files(path, id) {
  const formats = { svg: "SVG", dot: "DOT", mermaid: "Mermaid", tikz: "LaTeX", json: "JSON" };
  return el("p", { class: "dim" }, "Keep the picture as ", Object.entries(formats).map(([format, text]) =>
    [el("a", { href: `/api/export?${new URLSearchParams({ path, id, format })}`, download: true }, text), " "]));
}
