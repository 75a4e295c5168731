// Learning from the decisions, on the server, while one goes on; every tab knows of it, and ranks the rest anew.

import { showFinished, showLabels, showProgress } from "./card.js";
import { made } from "./instance.js";
import { views } from "./loading.js";
import { filter, listClasses, listPairs } from "./order.js";
import { ask } from "./server.js";
import { byId, complain, complainThatNobodyAnswers, others, pause, state } from "./state.js";

const EVERY = 700; // milliseconds between questions about how learning stands

let watching = false;

// Takes in what changed on the server; of answers that arrive out of order, the newest counts.
export function absorb(answer) {
  if (answer.version < state.version) return;
  for (const one of answer.changes) {
    if (one.decision === null) state.standing.delete(one.row);
    else state.standing.set(one.row, one);
  }
  state.version = answer.version;
  showProgress();
  if (answer.learned !== state.data.learned) watch();
}

function showLearning({ state: stands, said }) {
  byId("learning").textContent = stands === "failed" ? "" : said;
  for (const button of [byId("apply"), byId("apply-at-end")]) button.setAttribute("aria-disabled", String(stands === "running"));
  if (stands === "failed") complain(said);
}

export async function apply() {
  if (byId("apply").getAttribute("aria-disabled") === "true") return;
  if (![...state.standing.values()].some(({ label }) => label !== null)) {
    byId("learning").textContent = "No label is decided yet; decide about some labels first.";
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

export async function watch() {
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
    complainThatNobodyAnswers();
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
  listPairs();
  listClasses();
  absorb(data);
  showProgress();
  filter();
  if (state.current !== null) {
    showLabels();
    return;
  }
  const focused = document.activeElement;
  showFinished();
  if (focused.isConnected) focused.focus();
}
