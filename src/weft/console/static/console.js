// Keeps the overview alive: what the server says goes into the page as text, never as mark-up.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const root = document.querySelector("[data-live-root]");
const connection = document.querySelector("[data-connection]");

function bar(share) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("class", "bar");
  drawing.setAttribute("viewBox", "0 0 100 4");
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true");
  const rect = document.createElementNS(SVG, "rect");
  rect.setAttribute("width", (100 * share).toFixed(1));
  rect.setAttribute("height", "4");
  drawing.append(rect);
  return drawing;
}

function cell(value, numeric) {
  const made = document.createElement("td");
  made.className = `${numeric ? "number " : ""}${value.tone ?? ""}`;
  made.textContent = value.text;
  if (value.title) made.title = value.title;
  if (value.bar >= 0) made.append(bar(value.bar));
  return made;
}

function fill(body, rows) {
  const numbers = new Set(body.dataset.numbers.split(" "));
  body.replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    line.append(...row.map((value, place) => cell(value, numbers.has(String(place)))));
    return line;
  }));
}

function draw(figure, rates) {
  const most = Math.max(...rates, 1e-9);
  const step = 300 / Math.max(1, rates.length - 1);
  const points = rates.map((rate, place) => `${(place * step).toFixed(1)},${(38 - 36 * rate / most).toFixed(1)}`);
  figure.querySelector("polyline").setAttribute("points", points.join(" "));
}

function show(overview) {
  for (const place of document.querySelectorAll("[data-live]")) {
    const text = overview.values[place.dataset.live];
    if (text !== undefined && place.textContent !== text) place.textContent = text;
  }
  for (const body of document.querySelectorAll("[data-table]")) fill(body, overview.tables[body.dataset.table] ?? []);
  for (const figure of document.querySelectorAll("[data-spark]")) draw(figure, overview.rates[figure.dataset.spark]);
  document.querySelector("[data-tone]").className = `dot ${overview.tone}`;
}

function say(text) {
  connection.textContent = text;
  connection.hidden = !text;
}

const source = new EventSource(root.dataset.liveRoot);
source.onmessage = (event) => { say(""); show(JSON.parse(event.data)); };
source.onerror = () => say("The console does not answer; what is shown is old.");
source.addEventListener("trouble", (event) => say(JSON.parse(event.data)));
