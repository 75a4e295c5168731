// The review page. What comes from the data is only ever put in as text, never as markup.

import { go, kindOf } from "./card.js";
import { openChooser } from "./chooser.js";
import { decide, goToFree, keepHeld, step, undo } from "./deciding.js";
import { acceptAll, keepTiles, moveFocus, openFocused, showGrid, undoInGrid } from "./grid.js";
import { absorb, apply, watch } from "./learning.js";
import { filter, FILTERS, listClasses, listPairs, placeOf } from "./order.js";
import { askName, greet } from "./reviewer.js";
import { ask } from "./server.js";
import { byId, complain, others, state } from "./state.js";

function choose() {
  if (state.busy || state.current === null) return;
  const notes = { "is-given": "given", "is-suggested": "suggested" };
  openChooser(state.data.classes, (label) => notes[kindOf(label)], (label) => decide({ label }));
}

// Asks for the name of a class that there is not; those that were named before can be chosen.
function nameClass() {
  if (state.busy || state.current === null) return;
  const { classes } = state.data;
  const named = [...new Set([...state.standing.values()].map((one) => one.new_class).filter(Boolean))].sort();
  const decideBy = (name) => {
    const label = classes.findIndex((one) => one.toLowerCase() === name.toLowerCase());
    return decide(label < 0 ? { new_class: name } : { label });
  };
  openChooser(named, () => "", (k) => decideBy(named[k]), decideBy);
}

const EVERY = 5000; // milliseconds after which the server learns what is on show, and the page what others decided

// The grid, and back to one suspect at a time

function switchTo(grid) {
  state.grid = grid;
  byId("grid").hidden = !grid;
  byId("grid-button").setAttribute("aria-pressed", String(grid));
  if (grid) byId("item").hidden = byId("finished").hidden = true;
}

async function toggleGrid() {
  if (state.busy) return;
  switchTo(!state.grid);
  if (state.grid) {
    byId("show").value = "todo";
    await showGrid();
    return;
  }
  filter();
  await goToFree(-1);
}

const keepUp = () => (state.grid ? keepTiles() : keepHeld());
setInterval(() => {
  if (document.visibilityState === "visible" && (state.grid || state.current !== null)) keepUp();
}, EVERY);

// Keys and buttons

const accept = () => decide({ label: state.data.suggested[state.current] });
const keep = () => decide({ label: state.data.given[state.current] });
const skip = () => decide({});
const none = () => decide({ verdict: "none" });
const ambiguous = () => decide({ verdict: "ambiguous" });
const several = () => decide({ verdict: "several" });
const learn = () => {
  openFiles(false);
  apply();
};
const actions = {
  accept,
  keep,
  other: choose,
  none,
  ambiguous,
  several,
  "new-class": nameClass,
  skip,
  undo,
  more: () => openVerdicts(byId("verdicts").dataset.open === undefined),
  "grid-button": toggleGrid,
  "accept-all": acceptAll,
  "undo-all": undoInGrid,
  "one-by-one": toggleGrid,
  "filter-button": () => openFilters(byId("filters").dataset.open === undefined),
  back: () => step(-1),
  forth: () => step(1),
  "help-button": () => byId("help").showModal(),
  export: () => openFiles(byId("files").hidden),
  apply: learn,
  "apply-at-end": learn,
  who: askName,
};
for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
byId("likely").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) decide({ label: Number(button.dataset.label) });
});

const keys = {
  a: accept,
  k: keep,
  o: choose,
  n: none,
  c: ambiguous,
  m: several,
  w: nameClass,
  s: skip,
  u: undo,
  f: () => {
    openFilters(true);
    byId("show").focus();
  },
  arrowleft: () => step(-1),
  arrowright: () => step(1),
  g: toggleGrid,
  "?": () => byId("help").showModal(),
  escape: () => openFiles(false),
};
const gridKeys = {
  a: acceptAll,
  u: undoInGrid,
  o: () => openFocused(() => switchTo(false)),
  arrowleft: moveFocus,
  arrowright: moveFocus,
  arrowup: moveFocus,
  arrowdown: moveFocus,
  f: keys.f,
  g: toggleGrid,
  "?": keys["?"],
  escape: keys.escape,
};
addEventListener("keydown", (event) => {
  if (state.data === null || event.repeat || event.altKey || event.ctrlKey || event.metaKey) return;
  if (document.querySelector("dialog[open]") || event.target.closest("select, input")) return;
  const key = event.key.toLowerCase();
  const known = state.grid ? gridKeys : keys;
  const digit = state.grid ? undefined : byId("likely").children[Number(key) - 1];
  if (!(key in known) && !digit) return;
  event.preventDefault();
  if (digit) digit.firstChild.click();
  else known[key](key);
});

// On a narrow screen some parts are shown only when they are asked for.
function opens(button, part) {
  return (open) => {
    byId(button).setAttribute("aria-expanded", String(open));
    if (open) byId(part).dataset.open = "";
    else delete byId(part).dataset.open;
  };
}
const openVerdicts = opens("more", "verdicts");
const openFilters = opens("filter-button", "filters");
byId("verdicts").addEventListener("click", () => openVerdicts(false));

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
  if (state.grid) {
    if (byId("show").value === "todo") {
      filter();
      showGrid();
      return;
    }
    switchTo(false); // the grid has what is to do
  }
  filter();
  const kept = state.current !== null && state.order[placeOf(state.current)] === state.current;
  if (kept) go(state.current);
  else goToFree(-1);
});
byId("filters").addEventListener("keydown", (event) => {
  if (event.key === "Escape") event.target.blur();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());

others.addEventListener("message", ({ data }) => (data === "learning" ? watch() : keepUp()));
addEventListener("focus", keepUp);

// Beginning where one left off: at the first suspect without a decision.

async function begin() {
  try {
    state.data = await ask("suspects");
  } catch (error) {
    complain(`The suspects cannot be loaded. ${error.message}`);
    return;
  }
  document.body.dataset.kind = state.data.kind;
  listPairs();
  listClasses();
  for (const id of FILTERS) {
    const kept = sessionStorage.getItem(id);
    const known = [...byId(id).options].some((option) => option.value === kept);
    byId(id).value = known ? kept : byId(id).options[0].value;
  }
  absorb(state.data);
  filter();
  greet(state.data);
  await goToFree(-1);
  const learning = await ask("apply").catch(() => null);
  if (learning?.state === "running") watch();
}

begin();
