// Loading suspects ahead of time, the one on show first.

import { loadImage, made, readable } from "./instance.js";
import { ask } from "./server.js";
import { state } from "./state.js";

const KEPT = 60; // loaded suspects that are kept
const LOADERS = 2; // loads at a time, of two requests at most, so that a decision never waits for a connection

const waiting = [];
let running = 0;

function load(row, work) {
  return new Promise((done, failed) => {
    waiting.push({ row, work, done, failed });
    runNext();
  });
}

// What belongs to the suspect on show comes before what is loaded ahead, and a decision before everything.
export function runNext() {
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

export const views = new Map(); // row → what is shown of it, loaded or about to be

export function viewOf(row) {
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
