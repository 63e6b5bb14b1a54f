// The runs and histories of the directory; files to drop; what is under way.
import { add, ago, ask, bytes, chip, el, fill, go, lastPart, number, post, section, to, toast } from "/page.js";

const SHOWN = 200;

export async function home(view) {
  const [list, jobs] = await Promise.all([ask("/api/list"), ask("/api/jobs")]);
  const chosen = new Set();
  const rows = el("ul", { class: "items" });
  const compare = el("button", { type: "button", disabled: true, onclick: () => {
    const [before, after] = [...chosen].sort((a, b) => modified(list, a) - modified(list, b));
    go("compare", { before, after });
  } }, "Compare the two chosen");
  const choose = (path, isChosen) => {
    if (isChosen) chosen.add(path); else chosen.delete(path);
    compare.disabled = chosen.size !== 2;
  };
  const filter = el("input", { type: "search", "data-filter": true, placeholder: "Filter by name, verdict, anomaly",
    "aria-label": "Filter the list", oninput: () => show(filter.value) });
  const show = (text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item) => words.every((word) => searchable(item).includes(word));
    const found = list.items.filter(fits);
    fill(rows, found.slice(0, SHOWN).map((item) => row(item, chosen, choose)));
    if (!found.length) add(rows, el("li", { class: "dim" }, list.items.length ? "Nothing fits the filter." : "No run and no history here yet: drop a file above, or start a run."));
    if (found.length > SHOWN) add(rows, el("li", { class: "dim" }, `… and ${number(found.length - SHOWN)} more; filter to see them.`));
  };
  show("");
  add(view, el("h1", {}, "Runs and histories"), drop(), underWay(jobs),
    el("div", { class: "bar" }, filter, compare),
    rows, list.cut && el("p", { class: "dim" }, "The directory has more than is listed here."));
}

function modified(list, path) {
  return list.items.find((item) => item.path === path)?.modified ?? 0;
}

function searchable(item) {
  const summary = item.summary ?? {};
  const words = [item.path, item.kind, summary.verdict ?? "not checked", summary.run?.product, summary.run?.isolation, summary.run?.workload,
    ...(summary.strongest ?? []), ...(summary.anomalies ?? []).map((found) => found.kind)];
  return words.filter(Boolean).join(" ").toLowerCase();
}

function row(item, chosen, choose) {
  const { summary } = item;
  const name = item.kind === "run" && summary?.run ? `${summary.run.product}, ${summary.run.isolation}, ${summary.run.workload}` : lastPart(item.path);
  const box = el("input", { type: "checkbox", checked: chosen.has(item.path), disabled: !summary, "aria-label": `Choose ${item.path} to compare`,
    onchange: () => choose(item.path, box.checked) });
  const remove = item.uploaded && el("button", { type: "button", class: "small", onclick: async () => {
    try { await post("/api/remove", { path: item.path }); line.remove(); } catch (error) { toast(error.message); }
  } }, "remove");
  const line = el("li", { class: "item" }, box,
    el("div", { class: "what" },
      el("a", { href: to("result", { path: item.path }), class: "name" }, name),
      el("div", { class: "dim small" }, item.uploaded ? "uploaded" : item.path, ` · ${bytes(item.bytes)} · ${ago(item.modified)}`, remove && [" · ", remove])),
    el("div", { class: "verdicts" }, verdicts(summary)));
  return line;
}

function verdicts(summary) {
  if (!summary) return [chip(null)];
  const held = (summary.held_to ?? []).map((answer) => el("span", { class: "held" }, `promised ${answer.level} `, chip(answer.verdict)));
  const strongest = summary.strongest?.length ? el("span", { class: "dim small" }, `strongest: ${summary.strongest.join(", ")}`) : el("span", { class: "dim small" }, "no level holds");
  const kinds = summary.anomalies.slice(0, 4).map((found) => el("span", { class: "tag" }, found.count > 1 ? `${found.kind} ×${number(found.count)}` : found.kind));
  const more = summary.anomalies.length > 4 && el("span", { class: "dim small" }, `+${summary.anomalies.length - 4}`);
  return [el("div", {}, held.length ? held : summary.anomalies.length ? null : chip(summary.verdict), strongest), el("div", { class: "tags" }, kinds, more)];
}

/** Where files are dropped or chosen; each is checked at once. */
function drop() {
  const input = el("input", { type: "file", multiple: true, id: "file", class: "hidden-input", onchange: () => { send([...input.files]); input.value = ""; } });
  const state = el("span", { class: "dim small", role: "status" }, "Any format that isolde check reads, also packed with gzip or zstd.");
  const zone = el("label", { class: "drop", for: "file" }, input, el("b", {}, "Drop a history here to check it"), el("span", {}, " or "), el("span", { class: "button" }, "choose a file"), el("br"), state);
  const over = (event) => { event.preventDefault(); zone.classList.toggle("over", event.type === "dragover"); };
  for (const kind of ["dragover", "dragleave", "drop"]) zone.addEventListener(kind, over);
  zone.addEventListener("drop", (event) => send([...event.dataTransfer.files]));
  async function send(files) {
    let last = null;
    for (const file of files) {
      state.textContent = `Sending ${file.name} (${bytes(file.size)}) …`;
      try { last = await post("/api/upload", { name: file.name }, file); }
      catch (error) { state.textContent = `${file.name}: ${error.message}`; toast(`${file.name}: ${error.message}`); }
    }
    if (last && files.length === 1) go("job", { job: last.job });
    else if (last) location.reload();
  }
  return zone;
}

function underWay(jobs) {
  const active = jobs.filter((job) => job.phase === "working" || job.phase === "waiting");
  if (!active.length) return null;
  return section("Under way", el("ul", { class: "items" }, active.map((job) => el("li", { class: "item" },
    el("div", { class: "what" }, el("a", { class: "name", href: to("job", { job: job.job }) }, job.title), el("div", { class: "dim small" }, `${job.kind}, ${job.phase}`))))));
}
