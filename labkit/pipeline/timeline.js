// The timeline in the browser: the recurrence of line.py, drawn as SVG, with sliders. No dependencies, no network.

// ---- the model: the same numbers as Python, to the last bit ----

/** When is each batch ready, and who waits? See line.py; `depth` null means no limit. */
export function simulate(prepare, train, { depth = null, workers = 1, getCost = 0 } = {}) {
  const prepareStart = [], prepareEnd = [], queued = [], trainStart = [], trainEnd = [], waits = [], blocked = [];
  let end = 0;
  for (let i = 0; i < prepare.length; i++) {
    const begin = i < workers ? 0 : queued[i - workers];
    const ready = begin + prepare[i];
    const start = Math.max(ready, end) + getCost;
    const taken = depth === null || i < depth ? 0 : depth === 0 ? start : trainStart[i - depth];
    prepareStart.push(begin);
    prepareEnd.push(ready);
    queued.push(Math.max(ready, taken));
    blocked.push(queued[i] - ready);
    trainStart.push(start);
    waits.push(start - end);
    end = start + train[i];
    trainEnd.push(end);
  }
  const serial = sum(prepare) + sum(train);
  return { prepareStart, prepareEnd, queued, trainStart, trainEnd, waits, blocked, makespan: end, serial };
}

/** `batches` times around `time`: time * (1 + amount * u), u uniform in [-1, 1) from mulberry32. See jitter.py. */
export function jittered(time, batches, amount, seed) {
  let state = seed >>> 0;
  return Array.from({ length: batches }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    const uniform = ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    return time * (1 + amount * (2 * uniform - 1));
  });
}

/** The times that the settings stand for: a recorded trace scaled to a new mean, or times with jitter. */
export function times({ prepare, train, batches, jitter, seed, trace_prepare: first, trace_train: second }) {
  if (first.length) return [scaled(first, prepare).slice(0, batches), scaled(second, train).slice(0, batches)];
  return [jittered(prepare, batches, jitter, seed), jittered(train, batches, jitter, (seed + 1) >>> 0)];
}

function scaled(trace, mean) {
  const recorded = sum(trace) / trace.length;
  return recorded === 0 || recorded === mean ? trace : trace.map((time) => time * (mean / recorded));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

// ---- words and numbers ----

const short = (value, digits = 4) => String(Number(value.toPrecision(digits)));
const SETTINGS = ["prepare", "train", "batches", "depth", "workers", "jitter"];
const MOST = 200; // batches drawn; more would be thinner than a pixel

/** The run in words: what the live region, and so a screen reader, says. */
export function summary(line, unit, getCost = 0) {
  const later = line.waits.slice(1).filter((wait) => wait > getCost + 1e-9 * line.makespan);
  const stalls = later.length
    ? `After it the trainer stalls ${later.length} time${later.length > 1 ? "s" : ""}, ${short(sum(later))} ${unit} in all.`
    : "After it the trainer never stalls.";
  const held = sum(line.blocked);
  return (
    `Serial ${short(line.serial)} ${unit}, overlapped ${short(line.makespan)} ${unit}. ` +
    `First wait ${short(line.waits[0])} ${unit}. ${stalls}` +
    (held > 1e-9 * line.makespan ? ` Workers are blocked for ${short(held)} ${unit}.` : "")
  );
}

/** Round tick positions from 0 to `last`, about `count` of them. */
function ticks(last, count) {
  const rough = last / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  return Array.from({ length: Math.floor(last / step + 1e-9) + 1 }, (_, i) => i * step);
}

// ---- the drawing ----

const node = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);
const shape = (name, attributes = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function build(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const LANE = 34, BAR = 26, CHARACTER = 7.2, LEFT = 74, RIGHT = 10;
let views = 0; // pattern ids are global to the page, and a page may hold several views

function patterns(id) {
  const stripes = { id: `${id}-wait`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  const dots = { id: `${id}-blocked`, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  return shape("defs", {},
    shape("pattern", stripes, shape("line", { x1: 1, y1: 0, x2: 1, y2: 7, class: "lk-stripe" })),
    shape("pattern", dots, shape("circle", { cx: 2, cy: 2, r: 1, class: "lk-dot" })));
}

function drawing(line, { workers, unit, id, width, words }) {
  const count = Math.min(line.trainEnd.length, MOST), used = Math.min(workers, count);
  const last = line.trainEnd[count - 1] || 1;
  const scale = (width - LEFT - RIGHT) / last;
  const height = (used + 1) * LANE + 42;
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  svg.append(patterns(id));
  const floor = (used + 1) * LANE + 4;
  for (const tick of ticks(last, Math.floor(width / 90))) {
    const x = LEFT + tick * scale;
    svg.append(
      shape("line", { x1: x, x2: x, y1: 0, y2: floor + 4, class: "lk-grid" }),
      shape("text", { x, y: floor + 18, class: "lk-tick" }, short(tick)));
  }
  svg.append(shape("text", { x: LEFT - 10, y: floor + 18, class: "lk-lane" }, `time (${unit})`));
  const bar = (kind, lane, start, end, ...labels) => {
    const size = (end - start) * scale;
    const place = { x: LEFT + start * scale, y: lane * LANE + 4, width: Math.max(size, 0), height: BAR };
    const rect = shape("rect", { ...place, class: `lk-bar lk-${kind}` },
      shape("title", {}, `${kind} ${labels[0]}: ${short(start)} to ${short(end)} ${unit}`));
    if (kind === "wait" || kind === "blocked") rect.style.fill = `url(#${id}-${kind})`;
    svg.append(rect);
    const text = labels.find((label) => label && label.length * CHARACTER + 2 <= size);
    if (!text) return;
    const x = LEFT + ((start + end) / 2) * scale, y = lane * LANE + 4 + BAR / 2, room = text.length * 6.4;
    if (kind === "wait") svg.append(shape("rect", { x: x - room / 2, y: y - 9, width: room, height: 18, class: "lk-plate" }));
    svg.append(shape("text", { x, y, class: `lk-text lk-on-${kind}` }, text));
  };
  const name = (lane, text) => svg.append(shape("text", { x: LEFT - 10, y: lane * LANE + 4 + BAR / 2, class: "lk-lane" }, text));
  for (let w = 0; w < used; w++) name(w, workers === 1 ? "worker" : `worker ${w}`);
  name(used, "trainer");
  for (let i = 0; i < count; i++) {
    const lane = i % used;
    bar("prepare", lane, line.prepareStart[i], line.prepareEnd[i], String(i));
    if (line.blocked[i] > 0) bar("blocked", lane, line.prepareEnd[i], line.queued[i], "");
    if (line.waits[i] > 0) {
      const size = short(line.waits[i], 3);
      bar("wait", used, line.trainStart[i] - line.waits[i], line.trainStart[i], `${i ? "wait" : "first wait"} ${size}`, `wait ${size}`, size);
    }
    bar("train", used, line.trainStart[i], line.trainEnd[i], String(i));
  }
  return svg;
}

function legend(id) {
  const entries = [["prepare", "prepare"], ["train", "train"], ["wait", "trainer waits"], ["blocked", "worker blocked"]];
  return node("div", { class: "lk-legend", "aria-hidden": "true" }, ...entries.map(([kind, words]) => {
    const rect = shape("rect", { x: 1, y: 1, width: 22, height: 12, class: `lk-bar lk-${kind}` });
    if (kind === "wait" || kind === "blocked") rect.style.fill = `url(#${id}-${kind})`;
    return node("span", {}, shape("svg", { width: 24, height: 14 }, rect), words);
  }));
}

const COLUMNS = [
  ["prepare start", "prepareStart"], ["prepare end", "prepareEnd"], ["handed over", "queued"],
  ["train start", "trainStart"], ["train end", "trainEnd"], ["wait", "waits"], ["blocked", "blocked"],
];

function table(line, unit) {
  const head = ["batch", ...COLUMNS.map(([title]) => title)].map((title) => node("th", { scope: "col" }, title));
  const rows = line.trainEnd.slice(0, MOST).map((_, i) => node("tr", {},
    node("th", { scope: "row" }, String(i)), ...COLUMNS.map(([, key]) => node("td", {}, short(line[key][i])))));
  const caption = node("caption", {}, `Times in ${unit}`);
  return node("table", {}, caption, node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...rows));
}

// ---- the controls ----

const LIMIT = "no limit";
// JupyterLab takes arrow keys, Space and Enter for its own commands, unless the focused element itself says otherwise.
const KEEP_KEYS = { "data-lm-suppress-shortcuts": "true" };

/** One slider: `show` puts the model's value on it, `read` gives the value that the model is to take. */
function slider(name, { unit, least, most, step, disabled }, changed) {
  const input = node("input", { type: "range", min: least, max: most, step, "aria-label": name, ...KEEP_KEYS });
  input.disabled = disabled;
  const output = node("output", {});
  const row = node("label", { class: "lk-slider" }, node("span", {}, name), input, output);
  const read = () => (name === "depth" && Number(input.value) >= most ? null : Number(input.value));
  const show = (value) => {
    const words = value === null ? LIMIT : `${short(value)}${unit}`;
    input.value = value === null ? most : value;
    input.setAttribute("aria-valuetext", words);
    output.textContent = words;
  };
  input.addEventListener("input", () => changed(name, read()));
  return { row, show };
}

/** The range of each slider: wide enough for the value it opens with. */
function range(name, state) {
  const { unit } = state, value = state[name];
  if (name === "prepare" || name === "train") {
    // One range for both, so that equal places mean equal times: up to about four times the larger.
    const largest = 4 * Math.max(state.prepare, state.train) || 40, power = 10 ** Math.floor(Math.log10(largest));
    const most = [1, 2, 4, 5, 10].find((factor) => factor * power >= largest * (1 - 1e-9)) * power;
    return { unit: ` ${unit}`, least: 0, most, step: 10 ** Math.floor(Math.log10(most / 40) + 1e-9) };
  }
  const recorded = state.trace_prepare.length;
  return {
    batches: { unit: "", least: 1, most: recorded || Math.max(40, value), step: 1 },
    depth: { unit: "", least: 0, most: Math.max(12, value ?? 0) + 1, step: 1 }, // the last place means no limit
    workers: { unit: "", least: 1, most: Math.max(8, value), step: 1 },
    jitter: { unit: "", least: 0, most: 1, step: 0.05, disabled: Boolean(recorded) },
  }[name];
}

function read(model) {
  const names = [...SETTINGS, "seed", "get_cost", "unit", "trace_prepare", "trace_train"];
  return Object.fromEntries(names.map((name) => [name, model.get(name)]));
}

function render({ model, el }) {
  const id = `labkit-timeline-${++views}`;
  const state = read(model);
  const sliders = Object.fromEntries(SETTINGS.map((name) => [name, slider(name, range(name, state), (key, value) => {
    model.set(key, value);
    model.save_changes();
  })]));
  const words = node("p", { class: "lk-summary", "aria-live": "polite" });
  const stage = node("div", { class: "lk-stage" });
  const details = node("details", {}, node("summary", KEEP_KEYS, "The same as a table"), node("div", { class: "lk-table" }));
  const notes = [];
  if (state.trace_prepare.length) {
    notes.push("A recorded trace: prepare and train scale its mean and keep its shape, so jitter is off.");
  }
  const note = node("p", { class: "lk-note" });
  const controls = node("div", { class: "lk-controls", role: "group", "aria-label": "Settings of the line" },
    ...SETTINGS.map((name) => sliders[name].row));
  const root = node("div", { class: "labkit-timeline" }, controls, words, stage, legend(id), note, details);
  el.append(root);

  let line;
  const fill = () => details.open && details.lastChild.replaceChildren(table(line, model.get("unit")));
  const draw = () => {
    const now = read(model);
    for (const name of SETTINGS) sliders[name].show(now[name]);
    const [prepare, train] = times(now);
    line = simulate(prepare, train, { depth: now.depth, workers: now.workers, getCost: now.get_cost });
    const said = summary(line, now.unit, now.get_cost);
    if (words.textContent !== said) words.textContent = said;
    const width = Math.max(Math.floor(stage.clientWidth || root.clientWidth || 720), 320);
    const alt = `Timeline of ${prepare.length} batches, ${now.workers} worker${now.workers > 1 ? "s" : ""}. ${said}`;
    stage.replaceChildren(drawing(line, { workers: now.workers, unit: now.unit, id, width, words: alt }));
    const cut = prepare.length > MOST ? [`Drawing and table show the first ${MOST} of ${prepare.length} batches.`] : [];
    note.textContent = [...notes, ...cut].join(" ");
    fill();
  };
  details.addEventListener("toggle", fill);
  model.on(SETTINGS.map((name) => `change:${name}`).join(" "), draw);
  let seen = 0;
  const watch = new ResizeObserver(() => {
    if (stage.clientWidth && stage.clientWidth !== seen) {
      seen = stage.clientWidth;
      draw();
    }
  });
  draw();
  watch.observe(stage);
  return () => {
    watch.disconnect();
    model.off(SETTINGS.map((name) => `change:${name}`).join(" "), draw);
  };
}

export default { render };
