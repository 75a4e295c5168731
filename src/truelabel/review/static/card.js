// The suspect on show: what there is to see of it, its labels, what stands about it, and what is most like it.

import { made } from "./instance.js";
import { viewOf } from "./loading.js";
import { nextFrom, placeOf, tally } from "./order.js";
import { byId, many, percent, seenOf, state, tab } from "./state.js";

const AHEAD = 5; // suspects that are loaded before they are asked for

export function go(position) {
  state.current = position ?? null;
  state.seen = state.current === null ? 0 : seenOf(state.data.rows[state.current]);
  byId("item").hidden = state.grid || state.current === null;
  byId("finished").hidden = state.grid || state.current !== null;
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
    byId("against").hidden = true;
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

export function showLabels() {
  const { rows, ids, given, suggested, p_wrong: chance, classes } = state.data;
  const k = state.current;
  byId("given").textContent = byId("keep-label").textContent = classes[given[k]];
  byId("suggested").textContent = byId("accept-label").textContent = classes[suggested[k]];
  byId("p-wrong").textContent = percent(chance[k]);
  byId("caption").textContent = state.data.kind === "name" ? "" : ids[k];
  showStanding(state.standing.get(rows[k]));
  const place = placeOf(k);
  const listed = state.order[place] === k;
  byId("place").textContent = listed ? `${many(place + 1)} of ${many(state.order.length)}` : "not among those listed";
}

function showStanding(one) {
  byId("standing").hidden = one === undefined;
  if (one === undefined) return;
  const when = new Date(one.when).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  byId("standing").textContent = `${capital(whoAnd(one) + sentence(one))} · ${when}`;
}

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

// Who decided, to stand before what: nothing where it was this tab.
export function whoAnd({ tab: where, reviewer }) {
  if (where === tab) return "";
  return reviewer && reviewer !== state.reviewer ? `${reviewer}: ` : "In another tab, or earlier: ";
}

const WITHOUT_CLASS = {
  skip: "skipped",
  none: "no class fits",
  ambiguous: "cannot tell",
  several: "several classes",
};

export function sentence({ decision, label, new_class: name }) {
  if (decision in WITHOUT_CLASS) return WITHOUT_CLASS[decision];
  if (decision === "new class") return `new class ${name}`;
  return `${{ accept: "accepted", keep: "kept", other: "labelled" }[decision]} ${state.data.classes[label]}`;
}

function showView(view) {
  byId("stage").replaceChildren(view.stage);
  byId("stage").scrollTop = 0;
  byId("likely").replaceChildren(...view.item.likely.map(likely));
  showAgainst(view.item.against);
  showNeighbours(view);
  byId("item").dataset.row = view.row;
}

// The numbers of a row that are far from those of its given class.
function showAgainst(columns) {
  const { classes, given, suggested } = state.data;
  const names = { given: classes[given[state.current]], suggested: classes[suggested[state.current]] };
  byId("against").hidden = !columns.length;
  byId("against-title").textContent = `Unusual for ${names.given}`;
  const lines = columns.map((column) => {
    const line = made("li");
    line.append(made("b", "", `${column.name} ${column.value}`));
    for (const kind of names.given === names.suggested ? ["given"] : ["given", "suggested"]) {
      if (column[kind] === null) continue;
      const [low, high] = column[kind];
      line.append(made("span", `is-${kind}`, `half of ${names[kind]}: ${low} to ${high}`));
    }
    return line;
  });
  byId("against-list").replaceChildren(...lines);
}

export function kindOf(label) {
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
    const one = state.standing.get(row);
    const decided = one !== undefined && one.decision !== "skip";
    const name = decided ? nameIn(one) : state.data.classes[label];
    counts.set(name, (counts.get(name) ?? 0) + 1);
    title.textContent = decided ? `${name} ✓` : name;
    title.title = decided ? `${name}, as decided` : name;
    line.className = kindOf(decided ? one.label : label);
  }
  const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
  const named = parts.map(([name, count]) => `${count} × ${name}`);
  byId("near-said").textContent = `Of the ${view.near.length} nearest, labelled: ${named.join(", ")}`;
  byId("neighbours").replaceChildren(...view.near.map(({ line }) => line));
}

const nameIn = ({ label, new_class: name }) => name ?? (label === null ? "no label" : state.data.classes[label]);

export function showProgress() {
  const counts = tally();
  const all = state.data.rows.length;
  const decided = counts.all - counts.skip;
  byId("bar-decided").style.width = `${(100 * decided) / all}%`;
  byId("bar-skipped").style.width = `${(100 * counts.skip) / all}%`;
  byId("bar").setAttribute("aria-valuemax", all);
  byId("bar").setAttribute("aria-valuenow", decided);
  const skipped = counts.skip ? `, ${many(counts.skip)} skipped` : "";
  byId("progress").textContent = `${many(decided)} of ${many(all)} decided${skipped}`;
  byId("bar").setAttribute("aria-valuetext", byId("progress").textContent);
}

export function showFinished() {
  const counts = tally();
  const left = state.data.rows.length - counts.all;
  const without = counts.none + counts.ambiguous + counts.several;
  byId("finished-title").textContent = left ? "Nothing more here" : "All done";
  byId("finished-text").textContent =
    `${many(counts.accept)} accepted, ${many(counts.keep)} kept, ` +
    `${many(counts.other + counts["new class"])} given another label, ` +
    (without ? `${many(without)} without a label, ` : "") +
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
  for (const [name, text] of [["decisions", "Decisions"], ["corrected", "Labels as they are now"]]) {
    const link = made("a", "", `${text} (CSV)`);
    link.href = `export/${name}.csv`;
    link.download = "";
    ways.push(link);
  }
  byId("apply-at-end").hidden = left === state.data.rows.length;
  byId("finished-ways").replaceChildren(...ways);
  byId("finished").focus();
}

function refilter({ show }) {
  byId("show").value = show;
  byId("class").value = byId("pair").value = "";
  byId("band").selectedIndex = 0;
  byId("filters").dispatchEvent(new Event("change"));
}
