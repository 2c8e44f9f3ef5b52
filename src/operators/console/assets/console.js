// The console: what a page does beyond its HTML. Without it everything works but the live figures.
"use strict";

// Language and theme are sent as soon as they are chosen.
for (const choice of document.querySelectorAll("select[data-sends]")) {
  choice.addEventListener("change", () => choice.form.requestSubmit());
}
for (const button of document.querySelectorAll("[data-sent-alone]")) button.hidden = true;

// "/" leads to the search, unless somebody writes.
const seek = document.getElementById("seek");
document.addEventListener("keydown", (event) => {
  const writes = event.target.closest("input, textarea, select");
  if (seek && event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    seek.focus();
    seek.select();
  }
});

// In a narrow window the sections are one line: the present one is in view.
document.querySelector(".parts [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A form that was sent is not sent again by a second click.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// The charts of the overview, and the figures of now.
const KEPT = 300;
const live = document.querySelector("[data-live]");
if (live) follow(live);

function follow(live) {
  const points = JSON.parse(document.getElementById("past").dataset.points);
  const charts = [];
  const style = () => getComputedStyle(document.documentElement);
  const column = (series) => [points.map((point) => point[0]), points.map((point) => point[series])];
  const local = (second) => new Date((second - 3 * 3600) * 1000);
  const two = (number) => String(number).padStart(2, "0");
  const clock = (second) => {
    const at = local(second);
    return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  };
  const draw = () => {
    for (const chart of charts.splice(0)) chart.destroy();
    const colour = (name) => style().getPropertyValue(name).trim();
    const axis = {
      stroke: colour("--quiet"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    for (const place of live.querySelectorAll(".chart")) {
      const series = Number(place.dataset.series);
      const chart = new uPlot({
        width: Math.max(place.clientWidth, 200),
        height: 130,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.15 : 1] } },
        axes: [
          { ...axis, space: 70, size: 28, values: (_, all) => all.map(clock) },
          { ...axis, size: 52 },
        ],
        series: [{}, { stroke: colour("--accent"), width: 1.5, fill: colour("--accent-soft"), points: { show: false } }],
      }, column(series), place);
      chart.of = series;
      charts.push(chart);
    }
    say();
  };
  const say = () => {
    const last = points[points.length - 1];
    for (const place of live.querySelectorAll(".chart")) {
      if (last) place.setAttribute("aria-label", `${place.dataset.name}: ${last[Number(place.dataset.series)]}`);
    }
  };
  const state = live.querySelector("[data-live-state]");
  const show = (on) => {
    state.textContent = on ? state.dataset.on : state.dataset.off;
    state.className = on ? "state good" : "state quiet";
  };
  let paused = false;
  const pause = live.querySelector("[data-pause]");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? pause.dataset.go : pause.dataset.stop;
    show(!paused);
  });
  document.body.addEventListener("htmx:sseBeforeMessage", (event) => {
    if (paused) event.preventDefault();
  });
  document.body.addEventListener("htmx:sseOpen", () => show(!paused));
  document.body.addEventListener("htmx:sseError", () => show(false));
  document.body.addEventListener("htmx:sseClose", () => show(false));
  document.body.addEventListener("htmx:afterSwap", () => {
    const found = document.getElementById("point");
    if (!found) return;
    const point = JSON.parse(found.dataset.point);
    const last = points[points.length - 1];
    if (last && last[0] >= point[0]) return;
    points.push(point);
    if (points.length > KEPT) points.shift();
    for (const chart of charts) chart.setData(column(chart.of));
    say();
  });
  draw();
  // A stream that the browser cuts off when the page is left is no fault.
  const stream = live.querySelector("[sse-connect]");
  window.addEventListener("beforeunload", () => htmx.trigger(stream, "htmx:beforeCleanupElement"));
  let waits = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(waits);
    waits = requestAnimationFrame(draw);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
