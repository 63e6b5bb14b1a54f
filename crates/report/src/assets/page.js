// Choosing an arrow of a graph shows its reason and operations; without this script the links
// lead to the same place.
"use strict";
(function () {
  function close(within) {
    within.querySelectorAll(".chosen").forEach(function (one) { one.classList.remove("chosen"); });
  }
  function choose(link) {
    var graph = link.closest(".graph");
    var reason = document.getElementById(link.getAttribute("href").slice(1));
    if (!graph || !reason) return false;
    close(graph);
    link.classList.add("chosen");
    reason.classList.add("chosen");
    var box = reason.getBoundingClientRect();
    if (box.top < 0 || box.bottom > window.innerHeight) reason.scrollIntoView({ block: "nearest" });
    var status = graph.querySelector("[role=status]");
    if (status) status.textContent = reason.textContent;
    return true;
  }
  document.addEventListener("click", function (event) {
    if (!(event.target instanceof Element)) return;
    var link = event.target.closest("a.arrow");
    if (link && choose(link)) { event.preventDefault(); return; }
    var reason = event.target.closest("ol.reasons li");
    var graph = reason && reason.closest(".graph");
    if (!graph) return;
    graph.querySelectorAll("a.arrow").forEach(function (one) {
      if (one.getAttribute("href") === "#" + reason.id) choose(one);
    });
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { close(document); return; }
    var link = document.activeElement && document.activeElement.closest("a.arrow");
    if (!link) return;
    var all = Array.prototype.slice.call(link.closest("svg").querySelectorAll("a.arrow"));
    var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === " ") { choose(link); event.preventDefault(); }
    if (!step) return;
    var next = all[(all.indexOf(link) + step + all.length) % all.length];
    next.focus();
    choose(next);
    event.preventDefault();
  });
})();
