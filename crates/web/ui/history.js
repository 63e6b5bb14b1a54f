// The transactions of a history in pages, and one transaction with its neighbours.
import { add, ask, el, fill, go, lastPart, number, parseTime, section, time, to, trail } from "/page.js";

const ROWS = 50;

export async function history(view, parameters) {
  const { path } = parameters;
  const about = await ask("/api/history", { path });
  const first = Number(parameters.first ?? 0);
  const body = el("div", { class: "table" });
  add(view, trail(["Runs", "#/"], [lastPart(path), to("result", { path })], ["Transactions"]), el("h1", {}, "Transactions"),
    el("p", { class: "dim" }, `${number(about.transactions)} transactions (${number(about.committed)} committed, ${number(about.aborted)} aborted, ${number(about.indeterminate)} unknown), `,
      `${number(about.operations)} operations on ${number(about.keys)} keys by ${number(about.session_count)} sessions`, about.faults ? `, ${number(about.faults)} faults` : "", "."),
    filters(parameters, about), body);
  try {
    const page = await ask("/api/transactions", { ...parameters, first, rows: ROWS });
    fill(body, pager(parameters, page), table(page, path, about.timed), page.rows.length > 20 && pager(parameters, page));
  } catch (error) {
    fill(body, el("p", { class: "error", role: "alert" }, error.message));
  }
}

function filters(parameters, about) {
  const { path } = parameters;
  const field = (label, input) => el("label", { class: "field" }, el("span", {}, label), input);
  const problem = el("p", { class: "error", role: "alert" });
  const session = el("input", { name: "session", value: parameters.session ?? "", inputmode: "numeric", list: "sessions", placeholder: "any", autocomplete: "off" });
  const key = el("input", { name: "key", value: parameters.key ?? "", placeholder: "any", "data-filter": true, autocomplete: "off" });
  const at = (text) => text === undefined || text === "" ? "" : time(Number(text)).replace("–", "");
  const from = el("input", { name: "from", value: at(parameters.from), placeholder: "start", disabled: !about.timed });
  const until = el("input", { name: "to", value: at(parameters.to), placeholder: about.timed ? time(about.last_start) : "no times", disabled: !about.timed });
  const status = el("select", { name: "status" }, [["", "any"], ["committed", "committed"], ["aborted", "aborted"], ["indeterminate", "unknown"]].map(([value, text]) => {
    const option = el("option", { value }, text);
    option.selected = value === (parameters.status ?? "");
    return option;
  }));
  const order = el("select", { name: "order", disabled: !about.timed }, [["", "session"], ["time", "time"]].map(([value, text]) => {
    const option = el("option", { value }, text);
    option.selected = value === (parameters.order ?? "");
    return option;
  }));
  const jump = el("input", { name: "txn", placeholder: "s1t4", autocomplete: "off" });
  return el("form", { class: "filters", onsubmit: (event) => {
    event.preventDefault();
    if (jump.value.trim()) { go("txn", { path, txn: jump.value.trim() }); return; }
    const [start, end] = [parseTime(from.value), parseTime(until.value)];
    if (Number.isNaN(start) || Number.isNaN(end)) { problem.textContent = "A time is a number with ns, µs, ms or s."; return; }
    const asked = { path, session: session.value.trim(), key: key.value, from: start, to: end, status: status.value, order: order.value };
    if (location.hash === to("history", asked)) return;
    go("history", asked);
  } }, field("Session", session), field("Key", key), field("From", from), field("To", until), field("Outcome", status), field("Order", order), field("Go to", jump),
    el("datalist", { id: "sessions" }, about.sessions.slice(0, 100).map((one) => el("option", { value: one.session }))),
    el("div", { class: "field" }, el("button", { type: "submit", class: "primary" }, "Show"), el("a", { class: "button", href: to("history", { path }) }, "Clear")), problem);
}

function pager(parameters, page) {
  const { first, total, rows } = page;
  const turn = (start) => () => go("history", { ...parameters, first: start });
  const last = Math.max(0, Math.floor((total - 1) / ROWS) * ROWS);
  const button = (text, label, start, enabled, mark) => el("button", { type: "button", "aria-label": label, disabled: !enabled, onclick: turn(start), ...mark }, text);
  return el("div", { class: "pager" },
    button("⇤", "First page", 0, first > 0), button("←", "Previous page", Math.max(0, first - ROWS), first > 0, { "data-previous": true }),
    el("span", { class: "count" }, total ? `${number(first + 1)}–${number(first + rows.length)} of ${number(total)}` : "none"),
    button("→", "Next page", first + ROWS, first + ROWS < total, { "data-next": true }), button("⇥", "Last page", last, first < last));
}

function table({ rows }, path, timed) {
  const line = (one) => el("tr", { class: one.status },
    el("td", {}, el("a", { href: to("txn", { path, txn: one.txn }) }, one.txn)),
    el("td", { "data-head": "session" }, el("a", { class: "quiet", href: to("history", { path, session: one.session }) }, one.session)),
    el("td", { class: "status" }, one.status === "indeterminate" ? "unknown" : one.status),
    timed && el("td", { class: "num", "data-head": "at" }, time(one.start)), timed && el("td", { class: "num", "data-head": "took" }, one.end === null ? "never" : time(one.end - one.start)),
    el("td", { class: "ops" }, el("code", {}, one.ops.join("  ")), one.op_count > one.ops.length && el("span", { class: "dim" }, ` … ${number(one.op_count - one.ops.length)} more`)));
  const heads = ["transaction", "session", "outcome", ...(timed ? ["began", "took"] : []), "operations"];
  return el("div", { class: "scroll" }, el("table", { class: "txns" }, el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows.map(line))));
}

export async function txn(view, { path, txn: name }) {
  const found = await ask("/api/transaction", { path, txn: name });
  const link = (other, text, mark) => other ? el("a", { class: "button", href: to("txn", { path, txn: other }), ...mark }, text(other)) : el("span", { class: "button off" }, text("none"));
  add(view, trail(["Runs", "#/"], [lastPart(path), to("result", { path })], ["Transactions", to("history", { path, session: found.session })], [name]),
    el("h1", {}, name, el("span", { class: `dim status ${found.status}` }, ` ${found.status === "indeterminate" ? "outcome unknown" : found.status}`)),
    el("p", { class: "dim" }, `Transaction ${number(found.place)} of ${number(found.session_transactions)} in session ${found.session}`,
      found.start !== null && `; began at ${time(found.start)}, ${found.end === null ? "never ended" : `took ${time(found.end - found.start)}`}`, "."),
    el("p", { class: "actions" }, link(found.previous, (other) => `← ${other}`, { "data-previous": true }), " ", link(found.next, (other) => `${other} →`, { "data-next": true }), " ",
      found.start !== null && el("a", { class: "button", href: to("history", { path, from: found.start, to: found.end ?? found.start, order: "time" }) }, "At the same time")),
    section("Operations", el("ol", { class: "neighbours" }, found.ops.map((op) => el("li", {},
      el("code", {}, op.text), " ", el("a", { class: "quiet small", href: to("history", { path, key: op.key }) }, "all of this key"),
      others(path, op.from, "read from"), others(path, op.readers, "read by"), others(path, op.overwriters, "overwritten by"),
      op.note && el("div", { class: "dim small" }, op.note))))),
    found.op_count > found.ops.length && el("p", { class: "dim" }, `… and ${number(found.op_count - found.ops.length)} more operations.`));
}

function others(path, group, words) {
  if (!group || !group.count) return null;
  return el("div", { class: "others" }, el("span", { class: "dim small" }, `${words} `),
    group.transactions.map((one) => [el("a", { class: one.status, href: to("txn", { path, txn: one.txn }) }, one.txn), " "]),
    group.count > group.transactions.length && el("span", { class: "dim small" }, `and ${number(group.count - group.transactions.length)} more`));
}
