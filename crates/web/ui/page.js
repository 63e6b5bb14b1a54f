// What every view uses: elements made of text, requests, links, drawings.
// Nothing that comes from a history is ever parsed as HTML: `el` makes text nodes, and `drawing`
// takes only what a drawing consists of.

/** An element. Properties that begin with "on" are listeners; children are elements or text. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/** What the server answers, or an error with its reason. */
export async function ask(path, parameters = {}, options = {}) {
  const response = await fetch(path + query(parameters), options);
  let value = null;
  try { value = await response.json(); } catch { /* the status says it */ }
  if (!response.ok) throw new Error(value?.error ?? `the server answered ${response.status}`);
  return value;
}

export function post(path, parameters = {}, body = "") {
  return ask(path, parameters, { method: "POST", body });
}

export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? "?" + new URLSearchParams(given) : "";
}

/** The address of a view. */
export function to(view, parameters = {}) {
  return `#/${view}${query(parameters)}`;
}

export function go(view, parameters = {}) {
  location.hash = to(view, parameters);
}

const DRAWN = new Set(["svg", "g", "a", "path", "rect", "text", "tspan", "title", "line", "circle", "polyline"]);
const KEPT = new Set(["class", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "width", "height", "viewBox",
  "points", "text-anchor", "role", "aria-label", "href", "transform", "tabindex", "id"]);

/** A drawing of the server as an element; whatever is no part of drawings is left out. */
export function drawing(text) {
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const svg = parsed.querySelector("svg");
  if (!svg) return el("p", { class: "dim" }, "There is nothing to draw.");
  for (const element of [svg, ...svg.querySelectorAll("*")]) {
    if (!DRAWN.has(element.localName)) { element.remove(); continue; }
    for (const attribute of [...element.attributes]) {
      const safe = KEPT.has(attribute.name) && (attribute.name !== "href" || attribute.value.startsWith("#"));
      if (!safe) element.removeAttribute(attribute.name);
    }
  }
  return document.adoptNode(svg);
}

const SVG = "http://www.w3.org/2000/svg";

/** A line through numbers, for a rate that changes. */
export function spark(numbers, label) {
  const svg = document.createElementNS(SVG, "svg");
  const [width, height] = [320, 64];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", "spark");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const most = Math.max(1, ...numbers);
  const step = width / Math.max(1, numbers.length - 1);
  const points = numbers.map((number, place) => `${(place * step).toFixed(1)},${(height - 4 - (height - 10) * number / most).toFixed(1)}`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(line);
  return svg;
}

/** A verdict as a coloured word with a sign. */
export function chip(verdict) {
  const signs = { holds: "✓", violated: "✗", unknown: "?" };
  if (!verdict) return el("span", { class: "chip" }, "not checked");
  return el("span", { class: `chip ${verdict}` }, `${signs[verdict] ?? ""} ${verdict}`);
}

export function number(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let place = 0;
  while (value >= 1024 && place < 3) { value /= 1024; place += 1; }
  return `${place ? value.toFixed(1) : value} ${units[place]}`;
}

/** Nanoseconds as a person says them. */
export function time(nanoseconds) {
  if (nanoseconds === null || nanoseconds === undefined) return "–";
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (Math.abs(nanoseconds) >= size) return `${Number((nanoseconds / size).toPrecision(5))} ${unit}`;
  }
  return `${nanoseconds} ns`;
}

/** What a person says as nanoseconds: "1.5 s", "20ms", "300" (milliseconds). */
export function parseTime(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?\s*$/.exec(text);
  if (!found) return text.trim() ? NaN : "";
  const sizes = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };
  return Math.round(Number(found[1]) * sizes[found[2] ?? "ms"]);
}

export function ago(seconds) {
  const passed = Date.now() / 1000 - seconds;
  for (const [size, word] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    const count = Math.floor(passed / size);
    if (count >= 1) return `${count} ${word}${count > 1 ? "s" : ""} ago`;
  }
  return "just now";
}

let fading = 0;

export function toast(text) {
  const box = document.getElementById("toast");
  box.textContent = text;
  box.className = "shown";
  clearTimeout(fading);
  fading = setTimeout(() => { box.className = ""; }, 6000);
}

/** A part of a page with a heading. */
export function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), children);
}

/** The way down to where one is. */
export function trail(...steps) {
  const links = steps.map(([text, address]) => address ? el("a", { href: address }, text) : el("span", { "aria-current": "page" }, text));
  return el("nav", { class: "trail", "aria-label": "Where" }, links.flatMap((link, place) => place ? [" › ", link] : [link]));
}

export function lastPart(path) {
  return path.split("/").pop();
}
