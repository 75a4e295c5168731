// Which suspects are shown, and in which order.

import { byId, many, state } from "./state.js";

export const FILTERS = ["show", "pair", "class", "band"];

export function isTodo(position) {
  return !state.standing.has(state.data.rows[position]);
}

// Positions of a pair (of all, if it is empty) with the class and the chance that are chosen.
function positionsOf(pair) {
  const { rows, given, suggested, p_wrong: chance } = state.data;
  const [least, below] = byId("band").value.split(" ").map(Number);
  const chosen = byId("class").value === "" ? null : Number(byId("class").value);
  const found = [];
  for (let k = 0; k < rows.length; k += 1) {
    if (chance[k] < least || chance[k] >= below) continue;
    if (pair !== "" && keyOfPair(k) !== pair) continue;
    if (chosen === null || given[k] === chosen || suggested[k] === chosen) found.push(k);
  }
  return found;
}

export function filter() {
  const { rows } = state.data;
  const wanted = {
    todo: (one) => one === undefined,
    skipped: (one) => one?.decision === "skip",
    decided: (one) => one !== undefined && one.decision !== "skip",
    all: () => true,
  }[byId("show").value];
  state.order = positionsOf(byId("pair").value).filter((k) => wanted(state.standing.get(rows[k])));
  for (const id of FILTERS) sessionStorage.setItem(id, byId(id).value);
}

// Index in `order` of the first position that is not before this one.
export function placeOf(position) {
  let low = 0;
  let high = state.order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (state.order[middle] < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function nextFrom(position, count = 1) {
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

export function tally() {
  const counts = { all: 0, accept: 0, keep: 0, other: 0, skip: 0, none: 0, ambiguous: 0, several: 0, "new class": 0 };
  for (const row of state.data.rows) {
    const one = state.standing.get(row);
    if (one === undefined) continue;
    counts.all += 1;
    counts[one.decision] += 1;
  }
  return counts;
}

// Pairs, given → suggested, as the options of their filter are called.

export const keyOfPair = (k) => `${state.data.given[k]} ${state.data.suggested[k]}`;

export function pairOf(key) {
  const [given, suggested] = key.split(" ").map(Number);
  return { given, suggested };
}

export function nameOfPair(key) {
  const { given, suggested } = pairOf(key);
  return `${state.data.classes[given]} → ${state.data.classes[suggested]}`;
}

function counted(positions) {
  const counts = new Map();
  for (const k of positions) counts.set(keyOfPair(k), (counts.get(keyOfPair(k)) ?? 0) + 1);
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}

// Which pairs have suspects to do, the one with the most first; class and chance are as filtered.
export function pairsToDo(except) {
  const { rows } = state.data;
  return counted(positionsOf("").filter((k) => isTodo(k) && !except.has(rows[k])));
}

// The rows of a pair that are to do, in their order.
export function wantedOfPair(pair, except) {
  const { rows } = state.data;
  return positionsOf(pair).filter((k) => isTodo(k) && !except.has(rows[k])).map((k) => rows[k]);
}

export function listPairs() {
  const chosen = byId("pair").value;
  byId("pair").length = 1;
  for (const [pair, count] of counted(state.data.rows.keys())) {
    byId("pair").append(new Option(`${nameOfPair(pair)} (${many(count)})`, pair));
  }
  byId("pair").value = [...byId("pair").options].some((option) => option.value === chosen) ? chosen : "";
}

export function listClasses() {
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
