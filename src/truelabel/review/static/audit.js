// The audit's page: the drawn labels in their order, each until it has an answer. What a model believes never comes here.

import { openChooser } from "./chooser.js";
import { loadImage, made, readable } from "./instance.js";
import { ask } from "./server.js";

const AHEAD = 3; // instances that are loaded before they are asked for
const UNCLEAR = -1;
const NONE = -2;
const DIGITS = 9; // classes up to which each has a key

const byId = (id) => document.getElementById(id);
const many = (number) => number.toLocaleString("en");
const tab = sessionStorage.getItem("tab") ?? crypto.randomUUID();
sessionStorage.setItem("tab", tab);
const others = new BroadcastChannel(location.pathname);

const state = {
  data: null, // the drawn instances, column by column, in their order
  answers: {}, // row → answer
  current: null, // position of the instance on show
  busy: false,
};
const views = new Map(); // row → promise of what is shown of it

function viewOf(row) {
  if (!views.has(row)) {
    const view = loaded(row);
    view.catch(() => views.delete(row));
    views.set(row, view);
  }
  return views.get(row);
}

async function loaded(row) {
  if (state.data.kind === "image") return loadImage(new Image(), row, "large");
  return readable(state.data.kind, (await ask(`item/${row}`)).fields);
}

const nameOf = (answer) =>
  ({ [UNCLEAR]: "cannot tell", [NONE]: "no class fits" })[answer] ?? state.data.classes[answer];

function complain(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = false;
}

function say(text) {
  byId("said").textContent = text;
}

function absorb({ answers }) {
  state.answers = answers;
  const all = state.data.rows.length;
  const done = Object.keys(answers).length;
  byId("bar-decided").style.width = `${(100 * done) / all}%`;
  byId("bar").setAttribute("aria-valuemax", all);
  byId("bar").setAttribute("aria-valuenow", done);
  byId("progress").textContent = `${many(done)} of ${many(all)} checked`;
  byId("bar").setAttribute("aria-valuetext", byId("progress").textContent);
}

function openAfter(position, count) {
  const found = [];
  const { rows } = state.data;
  for (let k = position; k < rows.length && found.length < count; k += 1) {
    if (!(rows[k] in state.answers)) found.push(k);
  }
  return found;
}

// Shows the first instance without an answer, or the end.
function next() {
  go(openAfter(0, 1)[0] ?? null);
}

async function go(position) {
  state.current = position;
  byId("item").hidden = position === null;
  byId("finished").hidden = position !== null;
  byId("verdict-button").hidden = position === null;
  if (position === null) {
    await showVerdict(byId("finished"));
    byId("finished").focus();
    return;
  }
  const { rows, ids, given, classes, kind } = state.data;
  const row = rows[position];
  byId("given").textContent = classes[given[position]];
  byId("caption").textContent = kind === "name" ? "" : ids[position];
  if (Number(byId("item").dataset.row) !== row) byId("stage").replaceChildren();
  const stage = await viewOf(row).catch(() => made("p", "lost", "This instance cannot be loaded."));
  if (state.current === null || state.data.rows[state.current] !== row) return;
  byId("stage").replaceChildren(stage);
  byId("stage").scrollTop = 0;
  byId("item").dataset.row = row;
  for (const ahead of openAfter(position + 1, AHEAD)) viewOf(rows[ahead]).catch(() => {});
  for (const kept of views.keys()) if (views.size > 2 * AHEAD && kept in state.answers) views.delete(kept);
}

// The verdict

async function showVerdict(where) {
  const box = where.querySelector(".verdict");
  box.replaceChildren(made("p", "", "Working it out…"));
  try {
    const { lines, answered, command } = await ask("verdict");
    const parts = lines.map((line) => made("p", "", line));
    if (answered) {
      parts.push(made("p", "", "Next, type this in the terminal. It writes the labels, corrected as far as that is safe:"));
      parts.push(made("code", "", command));
    }
    box.replaceChildren(...parts);
  } catch (error) {
    box.replaceChildren(made("p", "", `The verdict cannot be shown. ${error.message}`));
  }
}

function verdictSoFar() {
  if (state.current === null) return;
  byId("so-far").showModal();
  showVerdict(byId("so-far"));
}

// Answering: the next label shows when the server has said that the answer is on disk.

async function change(path, body) {
  state.busy = true;
  try {
    const changed = await ask(path, { ...body, tab });
    absorb(changed);
    others.postMessage("changed");
    byId("trouble").hidden = true;
    return changed;
  } catch (error) {
    const gone = error instanceof TypeError;
    complain(gone ? "Not saved: the server does not answer. Earlier answers are on disk." : `Not saved. ${error.message}`);
    if (!gone) setTimeout(catchUp);
    return null;
  } finally {
    state.busy = false;
  }
}

async function answer(code) {
  if (state.busy || state.current === null) return;
  const row = state.data.rows[state.current];
  if (Number(byId("item").dataset.row) !== row) return; // not on show yet
  if ((await change("answer", { row, answer: code })) === null) return;
  say(`Saved: ${nameOf(code)}`);
  next();
}

async function undo() {
  if (state.busy) return;
  const changed = await change("undo", {});
  if (changed === null) return;
  if (changed.row === null) {
    say("Nothing to undo here");
    return;
  }
  say("Undone");
  go(state.data.rows.indexOf(changed.row));
}

// What another tab answered is known here, too, and is not asked again.
async function catchUp() {
  if (state.busy || state.data === null) return;
  try {
    absorb(await ask("audit"));
  } catch {
    complain("The server does not answer. Your answers are on disk; start truelabel audit with --page again to go on.");
    return;
  }
  const answered = state.current === null || state.data.rows[state.current] in state.answers;
  if (answered && (state.current !== null || openAfter(0, 1).length)) next();
}

// Keys and buttons

const right = () => answer(state.data.given[state.current]);
function choose() {
  if (state.busy || state.current === null) return;
  const given = state.data.given[state.current];
  openChooser(state.data.classes, (label) => (label === given ? "given" : ""), answer);
}
const actions = {
  keep: right,
  other: choose,
  none: () => answer(NONE),
  unclear: () => answer(UNCLEAR),
  undo,
  "undo-last": undo,
  "verdict-button": verdictSoFar,
  "help-button": () => byId("help").showModal(),
};
for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);

const keys = {
  k: right,
  o: choose,
  n: actions.none,
  c: actions.unclear,
  u: undo,
  v: verdictSoFar,
  "?": actions["help-button"],
};
addEventListener("keydown", (event) => {
  if (state.data === null || event.repeat || event.altKey || event.ctrlKey || event.metaKey) return;
  if (document.querySelector("dialog[open]")) return;
  const key = event.key.toLowerCase();
  const digit = byId("likely").children[Number(key) - 1];
  if (!(key in keys) && !digit) return;
  event.preventDefault();
  if (digit) digit.firstChild.click();
  else keys[key]();
});

function listClasses() {
  const { classes } = state.data;
  if (classes.length > DIGITS) return;
  const lines = classes.map((name, label) => {
    const line = made("li");
    const button = made("button");
    button.type = "button";
    button.append(made("kbd", "", String(label + 1)), made("span", "label", name));
    button.addEventListener("click", () => answer(label));
    line.append(button);
    return line;
  });
  byId("likely").replaceChildren(...lines);
  byId("likely-part").hidden = byId("digits").hidden = false;
  byId("last-digit").textContent = classes.length;
}

others.addEventListener("message", catchUp);
addEventListener("focus", catchUp);

async function begin() {
  try {
    state.data = await ask("audit");
  } catch (error) {
    complain(`The audit cannot be loaded. ${error.message}`);
    return;
  }
  document.body.dataset.kind = state.data.kind;
  listClasses();
  absorb(state.data);
  next();
}

begin();
