// Deciding: the next suspect shows when the server has said that the decision is on disk.

import { capital, go, sentence, showLabels } from "./card.js";
import { absorb } from "./learning.js";
import { runNext } from "./loading.js";
import { nextFrom, placeOf } from "./order.js";
import { ask } from "./server.js";
import { byId, complain, complainThatNobodyAnswers, others, say, state, tab } from "./state.js";

const WANTED = 50; // suspects among which the server chooses one that nobody else has
const MOST_WANTED = 500; // ... and at most, where those are taken

export const from = () => ({ tab, reviewer: state.reviewer, since: state.version });
const OPEN_ELSEWHERE = "Somebody else has this one open, too";
let silent = false; // whether the server did not answer the last time

export async function change(path, body) {
  state.busy = true;
  try {
    const answer = await ask(path, { ...body, ...from() });
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

// What is said is { label }, { verdict } or { new_class }; nothing skips the suspect.
export async function decide(said, seen = state.seen) {
  if (state.busy || state.current === null) return;
  const position = state.current;
  const row = state.data.rows[position];
  const wanted = nextFrom(position, WANTED);
  const answer = await change("decide", {
    row,
    label: null,
    ...said,
    seen,
    next: wanted.map((k) => state.data.rows[k]),
  });
  if (answer === null) return;
  if (answer.conflict) {
    await settle(said, answer.conflict);
    return;
  }
  say(capital(sentence(state.standing.get(row) ?? { decision: answer.decision, ...said })));
  if (answer.next !== null) go(state.data.rows.indexOf(answer.next));
  else await goToFree(position);
}

// Shows what another person decided meanwhile; the decision made here counts only if it is confirmed.
async function settle(said, conflict) {
  const { data, current } = state;
  showLabels();
  const who = conflict.reviewer || "Another person";
  byId("conflict-theirs").textContent =
    conflict.decision === null ? `${who} took a decision back` : `${who}: ${sentence(conflict)}`;
  byId("conflict-mine").textContent = `You: ${sentence(intended(said))}`;
  const name = said.new_class ?? data.classes[said.label];
  byId("conflict-replace").firstChild.textContent = name === undefined ? "Take mine" : `Change it to ${name}`;
  byId("conflict").returnValue = "";
  byId("conflict").showModal();
  await new Promise((done) => byId("conflict").addEventListener("close", done, { once: true }));
  if (state.current !== current || state.data !== data) return;
  if (byId("conflict").returnValue === "replace") {
    await decide(said, conflict.seq);
    return;
  }
  say(conflict.decision === null ? "Not decided" : `Left as it is: ${sentence(conflict)}`);
  await goToFree(current);
}

const intended = ({ label, verdict, new_class: name }) => ({
  decision: name ? "new class" : (verdict ?? (label === undefined ? "skip" : "other")),
  label,
  new_class: name,
});

// Goes to the next suspect that nobody else has on show; to one that somebody has, where there is no other.
export async function goToFree(position) {
  const all = nextFrom(position, Infinity);
  const { rows } = state.data;
  let next = null;
  state.busy = true;
  for (let k = 0; k < all.length && next === null; k += MOST_WANTED) {
    const wanted = all.slice(k, k + MOST_WANTED).map((one) => rows[one]);
    next = await hold(wanted, true);
  }
  state.busy = false;
  const free = next ?? rows[nextFrom(position)[0]];
  go(free === undefined ? undefined : state.data.rows.indexOf(free));
  if (next === null && free !== undefined) say(OPEN_ELSEWHERE);
  runNext();
}

// Tells the server which rows this page would like to show; returns the one that it may, null for none, undefined
// where the server does not answer.
async function hold(rows, undecided) {
  try {
    const answer = await ask("show", { rows, undecided, ...from() });
    absorb(answer);
    if (silent) byId("trouble").hidden = true;
    silent = false;
    return answer.next;
  } catch {
    silent = true;
    complainThatNobodyAnswers();
    return undefined;
  }
}

byId("conflict").addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "c" || event.repeat) return;
  event.stopPropagation(); // or it would be the key for "cannot tell", once the dialog is closed
  byId("conflict-replace").click();
});

export async function undo() {
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
  if (position >= 0) show(position);
}

export function step(by) {
  if (state.busy || !state.order.length) return;
  const place = state.current === null ? state.order.length : placeOf(state.current);
  const listed = state.order[place] === state.current;
  const next = place + (by > 0 && !listed ? 0 : by);
  if (next >= 0 && next < state.order.length) show(state.order[next]);
}

// Shows a suspect that the person asked for, whoever else has it open.
export function show(position) {
  go(position);
  keepHeld();
}

// Takes in what other tabs and other people decided, and keeps what is on show for this tab.
export async function keepHeld() {
  if (state.busy || state.data === null) return;
  const rows = state.current === null ? [] : [state.data.rows[state.current]];
  const next = await hold(rows, false);
  if (state.current === null || state.data.rows[state.current] !== rows[0]) return;
  showLabels();
  if (next === null) say(OPEN_ELSEWHERE);
}

addEventListener("pagehide", () => {
  const gone = JSON.stringify({ rows: [], undecided: false, ...from() });
  navigator.sendBeacon("show", new Blob([gone], { type: "application/json" }));
});
