// Which suspects are shown, and in which order.

import { byId, many, state } from "./state.js";

export const FILTERS = ["show", "class", "band"];

export function isTodo(position) {
  return !state.standing.has(state.data.rows[position]);
}

export function filter() {
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
