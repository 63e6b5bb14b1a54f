// The views by their addresses, and the keys that work everywhere.
import { ask, el, fill } from "/page.js";
import { home } from "/home.js";
import { job, run } from "/job.js";
import { result } from "/result.js";
import { anomaly } from "/anomaly.js";
import { history, txn } from "/history.js";
import { compare } from "/compare.js";

const views = { "": home, run, job, result, anomaly, history, txn, compare };

/** What a view leaves behind: asked to end when another one is shown. */
let leaving = () => {};
let shown = 0;

async function show() {
  const [name, search] = location.hash.replace(/^#\/?/, "").split("?");
  const parameters = Object.fromEntries(new URLSearchParams(search ?? ""));
  const main = document.getElementById("main");
  const turn = ++shown;
  leaving();
  leaving = () => {};
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const waiting = setTimeout(() => { if (turn === shown) wait(main, parameters.path); }, 250);
  try {
    const view = views[name];
    if (!view) throw new Error("There is no such page.");
    const content = el("div", { class: `view ${name || "home"}` });
    const leave = await view(content, parameters);
    if (turn !== shown) { leave?.(); return; }
    if (leave) leaving = leave;
    fill(main, content);
    document.title = `${content.querySelector("h1")?.textContent ?? "Isolde"} · Isolde`;
  } catch (error) {
    if (turn !== shown) return;
    fill(main, el("h1", {}, "That did not work"), el("p", { class: "error", role: "alert" }, error.message),
      el("p", {}, el("a", { href: "#/" }, "Back to the runs")));
  } finally {
    clearTimeout(waiting);
  }
  main.dataset.ready = String(turn);
  if (turn > 1) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
}

/** Shows that something is being read, and how far that is, until something else is shown. */
async function wait(main, path) {
  const text = el("p", { class: "dim loading", role: "status" }, "Reading …");
  const bar = el("progress", { "aria-label": "Progress", hidden: true });
  fill(main, text, bar);
  while (path && text.isConnected) {
    const now = await ask("/api/opening", { path }).catch(() => null);
    if (now) {
      text.textContent = `The history is opened for the first time: ${now.stage} … ${now.seconds.toFixed(0)} s`;
      bar.hidden = false;
      if (now.total) { bar.max = now.total; bar.value = now.done; } else bar.removeAttribute("value");
    }
    await new Promise((done) => setTimeout(done, 400));
  }
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const main = document.getElementById("main");
  if (event.key === "/" && !isTyping) {
    const filter = main.querySelector("[data-filter]");
    if (filter) { event.preventDefault(); filter.focus(); filter.select?.(); }
  } else if (event.key === "Escape") {
    if (isTyping) { event.target.blur(); return; }
    const open = main.querySelector("[data-escape]");
    if (open) { open.click(); return; }
    const up = [...main.querySelectorAll(".trail a")].pop();
    if (up) location.hash = up.getAttribute("href");
  } else if (!isTyping && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    const link = main.querySelector(event.key === "ArrowLeft" ? "[data-previous]" : "[data-next]");
    if (link && !link.disabled) { event.preventDefault(); link.click(); }
  }
}

// The token is in a cookie now; it need not stay in the address.
if (location.search) history_replace();

function history_replace() {
  window.history.replaceState(null, "", location.pathname + location.hash);
}

addEventListener("hashchange", () => { if (location.hash.startsWith("#/") || !location.hash) show(); });
addEventListener("keydown", keys);
// The address says which view is shown, so this link must not change it.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("main").focus(); });
ask("/api/about").then((about) => {
  document.getElementById("version").textContent = `Isolde ${about.version}`;
  document.getElementById("where").textContent = about.directory ?? "";
}).catch(() => {});
show();
