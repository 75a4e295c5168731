// The grid: suspects of one pair, given → suggested, that are decided together, but for those that are left out.

import { whoAnd, sentence } from "./card.js";
import { change, from, show } from "./deciding.js";
import { loadImage, made } from "./instance.js";
import { absorb } from "./learning.js";
import { keyOfPair, nameOfPair, pairOf, pairsToDo, wantedOfPair } from "./order.js";
import { ask } from "./server.js";
import { byId, complainThatNobodyAnswers, many, seenOf, state } from "./state.js";

const SHOWN = 30; // tiles at a time
const WANTED = 500; // suspects among which the server chooses those that nobody else has

const tiles = new Map(); // row → its tile: the button, the decision that stood when it came on show
const leftOut = new Set(); // rows that the person left out; they are shown one by one later
let left = 0; // suspects of the pair that are to do

function tell(text) {
  byId("grid-said").textContent = text;
}

// Shows the pair that is chosen, else the one with the most to do.
export async function showGrid() {
  const chosen = byId("pair").value;
  const pairs = pairsToDo(leftOut);
  const pair = chosen !== "" && pairs.has(chosen) ? chosen : pairs.keys().next().value;
  tiles.clear();
  byId("tiles").replaceChildren();
  if (pair === undefined) {
    showHead(null);
    return;
  }
  if (pair !== chosen) byId("pair").value = pair;
  const wanted = wantedOfPair(pair, leftOut);
  left = wanted.length;
  state.busy = true;
  let answer;
  try {
    answer = await ask("tiles", { rows: wanted.slice(0, WANTED), undecided: true, most: SHOWN, ...from() });
  } catch {
    complainThatNobodyAnswers();
    return;
  } finally {
    state.busy = false;
  }
  absorb(answer);
  const lines = answer.rows.map((row, k) => tileOf(row, answer.briefs[k]));
  byId("tiles").replaceChildren(...lines);
  showHead(pair);
}

function tileOf(row, brief) {
  const line = made("li");
  const button = made("button", "tile");
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  const position = state.data.rows.indexOf(row);
  if (state.data.kind === "image") {
    const image = new Image();
    loadImage(image, row, "small").then((shown) => frame.replaceChildren(shown));
    const frame = made("span", "frame");
    button.append(frame);
  } else button.append(made("span", "brief", brief));
  const name = made("span", "caption", state.data.ids[position]);
  name.title = name.textContent;
  button.append(name);
  button.addEventListener("click", () => toggle(row));
  line.append(button);
  tiles.set(row, { button, name, seen: seenOf(row), gone: false });
  return line;
}

function toggle(row) {
  const { button, gone } = tiles.get(row);
  if (gone) return;
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  showHead(byId("pair").value);
}

const chosenRows = () =>
  [...tiles].filter(([, { button, gone }]) => !gone && button.getAttribute("aria-pressed") === "true").map(([row]) => row);

function showHead(pair) {
  byId("grid-actions").hidden = byId("grid-how").hidden = pair === null;
  if (pair === null) {
    byId("grid-title").textContent = "Nothing more here";
    byId("grid-count").textContent = leftOut.size ? "What you left out is still to do: look at it one by one." : "";
    return;
  }
  const { given, suggested } = pairOf(pair);
  byId("grid-title").textContent = nameOfPair(pair);
  const rows = chosenRows();
  const elsewhere = tiles.size ? "" : " Other people have all of them on show.";
  byId("grid-count").textContent = `${many(tiles.size)} of ${many(left)} to do.${elsewhere}`;
  const what = given === suggested ? `Keep all ${rows.length}: ` : `Accept all ${rows.length}: `;
  const label = given === suggested ? state.data.classes[given] : nameOfPair(pair);
  byId("accept-all").firstChild.replaceChildren(what, made("b", "", label));
  byId("accept-all").setAttribute("aria-disabled", String(rows.length === 0));
}

export async function acceptAll() {
  const rows = chosenRows();
  const pair = byId("pair").value;
  if (state.busy || !rows.length || pair === "") return;
  const { suggested } = pairOf(pair);
  const others = [...tiles].filter(([row, { gone }]) => !gone && !rows.includes(row)).map(([row]) => row);
  const seen = rows.map((row) => tiles.get(row).seen);
  const answer = await change("decide-all", { rows, seen, label: suggested });
  if (answer === null) return;
  for (const row of others) leftOut.add(row);
  const parts = [`Accepted ${answer.decided.length}: ${nameOfPair(pair)}`];
  if (others.length) parts.push(`${others.length} left out for later`);
  if (answer.conflicts.length) parts.push(`${answer.conflicts.length} left as somebody else decided meanwhile`);
  tell(parts.join(" · "));
  await showGrid();
}

export async function undoInGrid() {
  if (state.busy) return;
  const answer = await change("undo", {});
  if (answer === null) return;
  tell(answer.rows.length ? `Undone: ${many(answer.rows.length)}` : "Nothing to undo in this tab");
  const position = state.data.rows.indexOf(answer.row);
  if (position >= 0) byId("pair").value = keyOfPair(position);
  await showGrid();
}

// Keeps the tiles for this tab, and marks those that somebody else has decided meanwhile.
export async function keepTiles() {
  if (state.busy || state.data === null) return;
  try {
    absorb(await ask("show", { rows: [...tiles.keys()], most: SHOWN, undecided: false, ...from() }));
  } catch {
    complainThatNobodyAnswers();
    return;
  }
  for (const [row, tile] of tiles) {
    const one = state.standing.get(row);
    if (tile.gone || one === undefined || one.seq === tile.seen) continue;
    tile.gone = true;
    tile.button.setAttribute("aria-pressed", "false");
    tile.button.setAttribute("aria-disabled", "true");
    tile.name.textContent = tile.name.title = whoAnd(one) + sentence(one);
  }
  if (tiles.size) showHead(byId("pair").value);
}

function focusedRow() {
  return [...tiles].find(([, { button }]) => button === document.activeElement)?.[0];
}

// Opens the tile that has the focus, to look at it alone.
export function openFocused(leave) {
  const row = focusedRow();
  if (row === undefined) return;
  leave();
  show(state.data.rows.indexOf(row));
}

// Moves the focus from tile to tile.
export function moveFocus(by) {
  const buttons = [...tiles.values()].map(({ button }) => button);
  if (!buttons.length) return;
  const across = buttons.filter((one) => one.offsetTop === buttons[0].offsetTop).length;
  const step = { arrowleft: -1, arrowright: 1, arrowup: -across, arrowdown: across }[by];
  const at = buttons.indexOf(document.activeElement);
  const next = at < 0 ? 0 : at + step;
  if (next >= 0 && next < buttons.length) buttons[next].focus();
}
