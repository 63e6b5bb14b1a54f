// A check or a run while it goes on; the form that starts a run.
import { add, ask, chip, el, fill, go, number, post, spark, to, toast, trail } from "/page.js";

const DATABASES = ["sqlite", "postgres", "postgres:replica", "mariadb", "galera:3", "redis", "redis:replica", "etcd", "etcd:3"];
const ISOLATIONS = ["read uncommitted", "read committed", "repeatable read", "serializable"];
const FAULTS = { kill: "kill a node", pause: "pause a node", partition: "cut a node off", slow: "slow connections", restart: "restart a node" };

export async function run(view) {
  const about = await ask("/api/about");
  const names = about.workloads.length ? about.workloads : [{ name: "registers", meaning: "" }];
  const field = (label, input, hint) => el("label", { class: "field" }, el("span", {}, label), input, hint && el("span", { class: "dim small" }, hint));
  const options = (id, values) => el("datalist", { id }, values.map((value) => el("option", { value })));
  const database = el("input", { name: "database", value: "sqlite", list: "databases", required: true, autocomplete: "off", spellcheck: "false", "data-filter": true });
  const meaning = el("span", { class: "dim small" }, names[0].meaning);
  const workload = el("select", { name: "workload", onchange: () => { meaning.textContent = names.find((one) => one.name === workload.value)?.meaning ?? ""; } },
    names.map((one) => el("option", { value: one.name }, one.name)));
  const isolation = el("input", { name: "isolation", list: "isolations", placeholder: "its default", autocomplete: "off" });
  const seconds = el("input", { name: "seconds", type: "number", min: "0.1", max: about.run_seconds, step: "any", value: "5" });
  const clients = el("input", { name: "clients", type: "number", min: "1", max: "500", value: "10" });
  const seed = el("input", { name: "seed", type: "number", min: "0", placeholder: "any" });
  const faults = Object.entries(FAULTS).map(([name, text]) => el("label", { class: "choice" }, el("input", { type: "checkbox", name: "fault", value: name }), text));
  const problem = el("p", { class: "error", role: "alert" });
  const start = el("button", { type: "submit", class: "primary" }, "Start the run");
  const form = el("form", { class: "form", onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = "";
    start.disabled = true;
    const order = { database: database.value, workload: workload.value, isolation: isolation.value, seconds: Number(seconds.value), clients: Number(clients.value),
      seed: seed.value === "" ? null : Number(seed.value), faults: [...form.querySelectorAll("[name=fault]:checked")].map((box) => box.value) };
    try { go("job", { job: (await post("/api/run", {}, JSON.stringify(order))).job }); }
    catch (error) { problem.textContent = error.message; start.disabled = false; }
  } },
    field("Database", database, "A server that Isolde starts, SQLite in process, or a URL: postgres://…, mysql://…, redis://…, etcd://…"),
    el("label", { class: "field" }, el("span", {}, "Workload"), workload, meaning),
    field("Isolation", isolation, "The database's own name, such as 'repeatable read'"),
    el("div", { class: "row" }, field("Seconds", seconds), field("Clients", clients), field("Seed", seed, "The same seed makes the same choices again")),
    el("fieldset", {}, el("legend", {}, "Faults, for servers that Isolde starts"), faults),
    options("databases", DATABASES), options("isolations", ISOLATIONS), problem, el("p", {}, start));
  add(view, trail(["Runs", "#/"], ["Start a run"]), el("h1", {}, "Start a run"), el("p", {}, "Drives a database with a workload, records what clients see, and judges the recording."), form);
}

export async function job(view, { job: id }) {
  const jobs = await ask("/api/jobs");
  const known = jobs.find((one) => String(one.job) === id);
  if (!known) throw new Error("There is no such job.");
  const stage = el("p", { class: "stage", role: "status" }, known.phase);
  const bar = el("progress", { "aria-label": "Progress" });
  const facts = el("div", { class: "facts" });
  const chart = el("div");
  const cancel = el("button", { type: "button", onclick: async () => {
    cancel.disabled = true;
    try { await post("/api/cancel", { job: id }); } catch (error) { toast(error.message); }
  } }, "Cancel");
  const state = { last: null, rates: [] };
  add(view, trail(["Runs", "#/"], [known.title]), el("h1", {}, known.title), el("div", { class: "panel" }, stage, bar, facts, chart, el("p", {}, cancel)));
  const finish = (end) => {
    cancel.remove();
    bar.remove();
    if (end.phase === "done") { go("result", { path: end.path }); return; }
    stage.textContent = end.phase === "cancelled" ? "Cancelled." : "Failed.";
    if (end.error) add(facts, el("pre", { class: "error", role: "alert" }, end.error));
  };
  if (["done", "failed", "cancelled"].includes(known.phase)) { finish(known); return undefined; }
  const source = new EventSource(`/api/events?job=${encodeURIComponent(id)}`);
  source.addEventListener("phase", (event) => { stage.textContent = JSON.parse(event.data).phase; });
  source.addEventListener("progress", (event) => progress(JSON.parse(event.data), { stage, bar, facts, chart }, state));
  source.addEventListener("end", (event) => { source.close(); finish(JSON.parse(event.data)); });
  return () => source.close();
}

/** Shows how far it is. */
function progress(now, { stage, bar, facts, chart }, state) {
  stage.textContent = `${now.stage ?? "working"} … ${Number(now.seconds ?? 0).toFixed(1)} s`;
  if (now.total) { bar.max = now.total; bar.value = now.done ?? 0; } else bar.removeAttribute("value");
  if (now.committed === undefined) return;
  const { last } = state;
  if (last && now.seconds > last.seconds) {
    state.rates.push((now.committed - last.committed) / (now.seconds - last.seconds));
    if (state.rates.length > 240) state.rates.shift();
  }
  state.last = now;
  const rate = state.rates.at(-1);
  const fact = (name, value) => el("div", { class: "fact" }, el("b", {}, value), el("span", { class: "dim small" }, name));
  fill(facts, fact("committed", number(now.committed)), fact("a second", number(rate)), fact("aborted", number(now.aborted)),
    fact("outcome unknown", number(now.indeterminate)), fact("faults", number(now.faults)),
    (now.found ?? []).map((one) => el("div", { class: "fact bad" }, el("b", {}, one.anomaly), el("span", { class: "small" }, `breaks ${one.level}`))));
  if (state.rates.length > 1) fill(chart, spark(state.rates, `Transactions a second, now ${number(rate)}`), el("div", { class: "dim small" }, `committed transactions a second, ${number(Math.max(...state.rates))} at most`));
}
