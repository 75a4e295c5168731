// The review page. What comes from the data is only ever put in as text, never as markup.

import { openChooser } from "./chooser.js";
import { loadImage, made, readable } from "./instance.js";
import { ask } from "./server.js";

const AHEAD = 5; // suspects that are loaded before they are asked for
const KEPT = 60; // loaded suspects that are kept
const LOADERS = 2; // loads at a time, of two requests at most, so that a decision never waits for a connection
const EVERY = 700; // milliseconds between questions about how learning stands

const byId = (id) => document.getElementById(id);
const percent = (share) =>
  share > 0.99 && share < 1 ? "> 99 %" : share < 0.01 && share > 0 ? "< 1 %" : `${Math.round(100 * share)} %`;
const many = (number) => number.toLocaleString("en");
const pause = (time) => new Promise((done) => setTimeout(done, time));

const state = {
  data: null, // the suspects, column by column; a suspect is its position in these
  order: [], // positions that the filter lets through, ascending
  current: null, // position of the suspect on show
  standing: new Map(), // row → what stands about it
  version: 0,
  busy: false,
};
const tab = sessionStorage.getItem("tab") ?? crypto.randomUUID();
sessionStorage.setItem("tab", tab);
const others = new BroadcastChannel(location.pathname);

// Talking to the server

function absorb(answer) {
  for (const one of answer.changes) {
    if (one.decision === null) state.standing.delete(one.row);
    else state.standing.set(one.row, one);
  }
  state.version = answer.version;
  showProgress();
  if (answer.learned !== state.data.learned) watch();
}

async function catchUp() {
  if (state.busy || state.data === null) return;
  try {
    absorb(await ask(`changes?since=${state.version}`));
    if (state.current !== null) showLabels();
  } catch {
    complain("The server does not answer. What you decided is on disk; start truelabel review again to go on.");
  }
}

// Loading ahead

const waiting = [];
let running = 0;

function load(row, work) {
  return new Promise((done, failed) => {
    waiting.push({ row, work, done, failed });
    runNext();
  });
}

// What belongs to the suspect on show comes before what is loaded ahead, and a decision before everything.
function runNext() {
  if (state.busy || running >= LOADERS || !waiting.length) return;
  running += 1;
  const shown = state.current === null ? null : state.data.rows[state.current];
  const first = waiting.findIndex(({ row }) => row === shown);
  const [{ work, done, failed }] = waiting.splice(Math.max(first, 0), 1);
  work().then(done, failed).finally(() => {
    running -= 1;
    runNext();
  });
  runNext();
}

const views = new Map(); // row → what is shown of it, loaded or about to be

function viewOf(row) {
  let view = views.get(row);
  if (view === undefined) {
    view = { row, item: null, stage: null, near: [], failed: false };
    view.ready = load(row, () => fill(view)).catch(() => {
      view.failed = true;
      views.delete(row);
    });
  } else views.delete(row);
  views.set(row, view);
  while (views.size > KEPT) views.delete(views.keys().next().value);
  return view;
}

async function fill(view) {
  const picture = state.data.kind === "image" ? loadImage(new Image(), view.row, "large") : null;
  view.item = await ask(`item/${view.row}`);
  view.stage = picture === null ? readable(state.data.kind, view.item.fields) : await picture;
  view.near = view.item.neighbours.map((one) => neighbour(view, one));
}

function neighbour(view, { row, label, brief }) {
  const line = made("li");
  const title = made("span", "label");
  if (state.data.kind === "image") {
    const image = new Image();
    image.alt = "";
    load(view.row, () => loadImage(image, row, "small"));
    const frame = made("span", "frame");
    frame.append(image);
    line.append(frame, title);
  } else line.append(title, made("p", "brief", brief));
  return { row, label, line, title };
}

// Which suspects, in which order

function isTodo(position) {
  return !state.standing.has(state.data.rows[position]);
}

function filter() {
  const { rows, given, suggested, p_wrong: chance } = state.data;
  const [least, below] = byId("band").value.split(" ").map(Number);
  const chosen = byId("class").value === "" ? null : Number(byId("class").value);
  const show = byId("show").value;
  const wanted = {
    todo: (one) => one === undefined,
    skipped: (one) => one?.decision === "skip",
    decided: (one) => one !== undefined && one.decision !== "skip",
    all: () => true,
  }[show];
  state.order = [];
  for (let k = 0; k < rows.length; k += 1) {
    if (chance[k] < least || chance[k] >= below) continue;
    if (chosen !== null && given[k] !== chosen && suggested[k] !== chosen) continue;
    if (wanted(state.standing.get(rows[k]))) state.order.push(k);
  }
  for (const id of ["show", "class", "band"]) sessionStorage.setItem(id, byId(id).value);
}

// Index in `order` of the first position that is not before this one.
function placeOf(position) {
  let low = 0;
  let high = state.order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (state.order[middle] < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nextFrom(position, count = 1) {
  const found = [];
  const start = placeOf(position + 1);
  const todo = byId("show").value === "todo";
  const end = start + (todo ? state.order.length : state.order.length - start);
  for (let k = start; k < end && found.length < count; k += 1) {
    const candidate = state.order[k % state.order.length];
    if (candidate !== position && (!todo || isTodo(candidate))) found.push(candidate);
  }
  return found;
}

// Showing

function go(position) {
  state.current = position ?? null;
  byId("item").hidden = state.current === null;
  byId("finished").hidden = state.current !== null;
  if (state.current === null) {
    showFinished();
    return;
  }
  showLabels();
  const view = viewOf(state.data.rows[state.current]);
  if (view.stage) showView(view);
  else {
    byId("stage").replaceChildren();
    byId("likely").replaceChildren();
    byId("neighbours").replaceChildren();
    view.ready.then(() => {
      if (state.current === null || state.data.rows[state.current] !== view.row) return;
      if (view.stage) showView(view);
      else byId("stage").replaceChildren(made("p", "lost", "This instance cannot be loaded."));
    });
  }
  setTimeout(() => {
    if (state.current === null) return;
    for (const ahead of nextFrom(state.current, AHEAD)) viewOf(state.data.rows[ahead]);
  });
}

function showLabels() {
  const { rows, ids, given, suggested, p_wrong: chance, classes } = state.data;
  const k = state.current;
  byId("given").textContent = byId("keep-label").textContent = classes[given[k]];
  byId("suggested").textContent = byId("accept-label").textContent = classes[suggested[k]];
  byId("p-wrong").textContent = percent(chance[k]);
  byId("caption").textContent = state.data.kind === "name" ? "" : ids[k];
  showStanding(state.standing.get(rows[k]));
  const place = placeOf(k);
  const listed = state.order[place] === k;
  byId("place").textContent = listed ? `${many(place + 1)} of ${many(state.order.length)}` : "outside the filter";
}

function showStanding(one) {
  byId("standing").hidden = one === undefined;
  if (one === undefined) return;
  const when = new Date(one.when).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const where = one.tab === tab ? "" : "In another tab, or earlier: ";
  const said = where + sentence(one);
  byId("standing").textContent = `${said[0].toUpperCase()}${said.slice(1)} · ${when}`;
}

function sentence({ decision, label }) {
  if (decision === "skip") return "skipped";
  return `${{ accept: "accepted", keep: "kept", other: "labelled" }[decision]} ${state.data.classes[label]}`;
}

function showView(view) {
  byId("stage").replaceChildren(view.stage);
  byId("stage").scrollTop = 0;
  byId("likely").replaceChildren(...view.item.likely.map(likely));
  showNeighbours(view);
  byId("item").dataset.row = view.row;
}

function kindOf(label) {
  if (label === state.data.suggested[state.current]) return "is-suggested";
  return label === state.data.given[state.current] ? "is-given" : "";
}

function likely([label, share], k) {
  const line = made("li");
  const button = made("button", kindOf(label));
  button.type = "button";
  button.dataset.label = label;
  const meter = made("meter");
  meter.value = share;
  meter.setAttribute("aria-hidden", "true");
  button.append(
    made("kbd", "", String(k + 1)),
    made("span", "label", state.data.classes[label]),
    made("span", "share", percent(share)),
    meter,
  );
  line.append(button);
  return line;
}

function showNeighbours(view) {
  byId("near").hidden = !view.near.length;
  const counts = new Map();
  for (const { row, label, line, title } of view.near) {
    const decided = state.standing.get(row)?.label ?? null;
    const shown = decided ?? label;
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
    title.textContent = state.data.classes[shown] + (decided === null ? "" : " ✓");
    title.title = decided === null ? title.textContent : `${state.data.classes[shown]}, as decided`;
    line.className = kindOf(shown);
  }
  const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
  const named = parts.map(([label, count]) => `${count} ${state.data.classes[label]}`);
  byId("near-said").textContent = `Of the ${view.near.length} nearest, labelled: ${named.join(", ")}`;
  byId("neighbours").replaceChildren(...view.near.map(({ line }) => line));
}

function tally() {
  const counts = { accept: 0, keep: 0, other: 0, skip: 0 };
  for (const row of state.data.rows) {
    const one = state.standing.get(row);
    if (one !== undefined) counts[one.decision] += 1;
  }
  return counts;
}

function showProgress() {
  const counts = tally();
  const all = state.data.rows.length;
  const decided = counts.accept + counts.keep + counts.other;
  byId("bar-decided").style.width = `${(100 * decided) / all}%`;
  byId("bar-skipped").style.width = `${(100 * counts.skip) / all}%`;
  byId("bar").setAttribute("aria-valuemax", all);
  byId("bar").setAttribute("aria-valuenow", decided);
  const skipped = counts.skip ? `, ${many(counts.skip)} skipped` : "";
  byId("progress").textContent = `${many(decided)} of ${many(all)} decided${skipped}`;
  byId("bar").setAttribute("aria-valuetext", byId("progress").textContent);
}

function showFinished() {
  const counts = tally();
  const left = state.data.rows.length - counts.accept - counts.keep - counts.other - counts.skip;
  byId("finished-title").textContent = left ? "Nothing more here" : "All done";
  byId("finished-text").textContent =
    `${many(counts.accept)} accepted, ${many(counts.keep)} kept, ${many(counts.other)} given another label, ` +
    `${many(counts.skip)} skipped, ${many(left)} to do.`;
  const ways = [];
  const way = (text, show) => {
    const button = made("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => refilter({ show }));
    ways.push(button);
  };
  if (left) way("Go on with the rest", "todo");
  if (counts.skip) way("Look at the skipped", "skipped");
  for (const [name, text] of [["decisions", "Decisions"], ["corrected", "Corrected labels"]]) {
    const link = made("a", "", `${text} (CSV)`);
    link.href = `export/${name}.csv`;
    link.download = "";
    ways.push(link);
  }
  if (left < state.data.rows.length) ways.push(applyAtEnd);
  byId("finished-ways").replaceChildren(...ways);
  byId("finished").focus();
}

function refilter({ show }) {
  byId("show").value = show;
  byId("class").value = "";
  byId("band").selectedIndex = 0;
  filter();
  go(nextFrom(-1)[0]);
}

function say(text) {
  byId("said").textContent = text;
}

function complain(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = false;
}

// Deciding: the next suspect shows when the server has said that the decision is on disk.

async function change(path, body) {
  state.busy = true;
  try {
    const answer = await ask(path, { ...body, tab, since: state.version });
    absorb(answer);
    others.postMessage(state.version);
    byId("trouble").hidden = true;
    return answer;
  } catch (error) {
    const gone = error instanceof TypeError;
    complain(gone ? "Not saved: the server does not answer. Earlier decisions are on disk." : `Not saved. ${error.message}`);
    return null;
  } finally {
    state.busy = false;
    setTimeout(runNext);
  }
}

async function decide(label) {
  if (state.busy || state.current === null) return;
  const position = state.current;
  const answer = await change("decide", { row: state.data.rows[position], label });
  if (answer === null) return;
  const said = sentence({ decision: answer.decision, label });
  say(`${said[0].toUpperCase()}${said.slice(1)}`);
  go(nextFrom(position)[0]);
}

async function undo() {
  if (state.busy) return;
  const answer = await change("undo", {});
  if (answer === null) return;
  if (answer.row === null) {
    say("Nothing to undo in this tab");
    return;
  }
  const stands = state.standing.get(answer.row);
  say(stands === undefined ? "Undone" : `Undone; it stands as: ${sentence(stands)}`);
  const position = state.data.rows.indexOf(answer.row);
  if (position >= 0) go(position);
}

function step(by) {
  if (state.busy || !state.order.length) return;
  const place = state.current === null ? state.order.length : placeOf(state.current);
  const listed = state.order[place] === state.current;
  const next = place + (by > 0 && !listed ? 0 : by);
  if (next >= 0 && next < state.order.length) go(state.order[next]);
}

// Learning from the decisions, on the server, while one goes on; every tab is told, and ranks the rest anew.

const applyAtEnd = made("button", "", "Apply to calibrator");
applyAtEnd.type = "button";
let watching = false;

function showLearning({ state: stands, said }) {
  byId("learning").textContent = stands === "failed" ? "" : said;
  for (const button of [byId("apply"), applyAtEnd]) button.setAttribute("aria-disabled", String(stands === "running"));
  if (stands === "failed") complain(said);
}

async function apply() {
  openFiles(false);
  if (byId("apply").getAttribute("aria-disabled") === "true") return;
  if (![...state.standing.values()].some(({ label }) => label !== null)) {
    byId("learning").textContent = "Nothing is decided yet; decide about some labels first.";
    return;
  }
  try {
    showLearning(await ask("apply", {}));
    byId("trouble").hidden = true;
  } catch (error) {
    complain(error instanceof TypeError ? "The server does not answer." : error.message);
    return;
  }
  others.postMessage("learning");
  watch();
}

async function watch() {
  if (watching || state.data === null) return;
  watching = true;
  try {
    for (let stands = "running"; stands === "running"; ) {
      const told = await ask("apply");
      if (told.learned !== state.data.learned) await renew();
      showLearning(told);
      stands = told.state;
      if (stands === "running") await pause(EVERY);
    }
  } catch {
    showLearning({ state: "idle", said: "" });
    complain("The server does not answer. What you decided is on disk; start truelabel review again to go on.");
  } finally {
    watching = false;
  }
}

// The suspect on show stays as it is and comes first, so that nothing changes under one's hands.
async function renew() {
  const data = await ask("suspects");
  while (state.busy) await pause(20);
  const { data: old, current } = state;
  if (current !== null) {
    const place = data.rows.indexOf(old.rows[current]);
    for (const name of ["rows", "ids", "given", "suggested", "p_wrong"]) {
      if (place >= 0) data[name].splice(place, 1);
      data[name].unshift(old[name][current]);
    }
    state.current = 0;
  }
  state.data = data;
  for (const row of [...views.keys()]) if (current === null || row !== data.rows[0]) views.delete(row);
  listClasses();
  if (data.version >= state.version) absorb(data);
  else showProgress();
  filter();
  if (state.current !== null) {
    showLabels();
    return;
  }
  const focused = document.activeElement;
  showFinished();
  if (focused.isConnected) focused.focus();
}

function choose() {
  if (state.busy || state.current === null) return;
  const notes = { "is-given": "given", "is-suggested": "suggested" };
  openChooser(state.data.classes, (label) => notes[kindOf(label)], decide);
}

// Keys and buttons

const accept = () => decide(state.data.suggested[state.current]);
const keep = () => decide(state.data.given[state.current]);
const actions = {
  accept,
  keep,
  other: choose,
  skip: () => decide(null),
  undo,
  back: () => step(-1),
  forth: () => step(1),
  "help-button": () => byId("help").showModal(),
  export: () => openFiles(byId("files").hidden),
  apply,
};
for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
applyAtEnd.addEventListener("click", apply);
byId("likely").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) decide(Number(button.dataset.label));
});

const keys = {
  a: accept,
  k: keep,
  o: choose,
  s: () => decide(null),
  u: undo,
  f: () => byId("show").focus(),
  arrowleft: () => step(-1),
  arrowright: () => step(1),
  "?": () => byId("help").showModal(),
  escape: () => openFiles(false),
};
addEventListener("keydown", (event) => {
  if (state.data === null || event.repeat || event.altKey || event.ctrlKey || event.metaKey) return;
  if (document.querySelector("dialog[open]") || event.target.closest("select, input")) return;
  const key = event.key.toLowerCase();
  const digit = byId("likely").children[Number(key) - 1];
  if (!(key in keys) && !digit) return;
  event.preventDefault();
  if (digit) digit.firstChild.click();
  else keys[key]();
});

function openFiles(open) {
  const inside = byId("files").contains(document.activeElement);
  byId("files").hidden = !open;
  byId("export").setAttribute("aria-expanded", String(open));
  if (!open && inside) byId("export").focus();
}
addEventListener("click", (event) => {
  if (!event.target.closest(".menu")) openFiles(false);
});

byId("filters").addEventListener("change", () => {
  filter();
  const kept = state.current !== null && state.order[placeOf(state.current)] === state.current;
  go(kept ? state.current : nextFrom(-1)[0]);
});
byId("filters").addEventListener("keydown", (event) => {
  if (event.key === "Escape") event.target.blur();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());

others.addEventListener("message", ({ data }) => (data === "learning" ? watch() : catchUp()));
addEventListener("focus", catchUp);

// Beginning where one left off: at the first suspect without a decision.

function listClasses() {
  const counts = new Array(state.data.classes.length).fill(0);
  state.data.rows.forEach((_, k) => {
    counts[state.data.given[k]] += 1;
    if (state.data.suggested[k] !== state.data.given[k]) counts[state.data.suggested[k]] += 1;
  });
  const chosen = byId("class").value;
  byId("class").length = 1;
  counts.forEach((count, label) => {
    if (count) byId("class").append(new Option(`${state.data.classes[label]} (${many(count)})`, label));
  });
  byId("class").value = [...byId("class").options].some((option) => option.value === chosen) ? chosen : "";
}

async function begin() {
  try {
    state.data = await ask("suspects");
  } catch (error) {
    complain(`The suspects cannot be loaded. ${error.message}`);
    return;
  }
  document.body.dataset.kind = state.data.kind;
  listClasses();
  for (const id of ["show", "class", "band"]) {
    const kept = sessionStorage.getItem(id);
    const known = [...byId(id).options].some((option) => option.value === kept);
    byId(id).value = known ? kept : byId(id).options[0].value;
  }
  absorb(state.data);
  filter();
  go(nextFrom(-1)[0]);
  const told = await ask("apply").catch(() => null);
  if (told?.state === "running") watch();
}

begin();
