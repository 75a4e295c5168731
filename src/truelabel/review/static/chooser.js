// Choosing a class from all of them, by typing or with the arrows: the dialog "choose".

import { made } from "./instance.js";

const OPTIONS = 100; // classes listed at a time

const byId = (id) => document.getElementById(id);
let classes = [];
let noteOf = () => "";
let chosen = () => {};
let make = null; // what is done with a name that none has yet, where there may be new ones
let active = -1; // which option Enter takes: none before something is typed or chosen

// Names the classes to choose from, a word to stand beside each (or none), and what is done with the one chosen; and
// where a new name may be typed, what is done with that.
export function openChooser(names, note, done, named = null) {
  [classes, noteOf, chosen, make] = [names, note, done, named];
  byId("choose-title").textContent = make === null ? "What is it?" : "What is the new class called?";
  byId("typed").value = "";
  byId("choose").showModal();
  listOptions();
}

function listOptions() {
  const typed = byId("typed").value.trim().toLowerCase();
  const found = [];
  classes.forEach((name, label) => {
    const at = name.toLowerCase().indexOf(typed);
    if (at >= 0) found.push({ name, label, late: at > 0 });
  });
  found.sort((a, b) => a.late - b.late || a.label - b.label);
  const lines = found.slice(0, OPTIONS).map(({ name, label }, k) => {
    const line = made("li", "", name);
    line.id = `option-${k}`;
    line.role = "option";
    line.dataset.label = label;
    const note = noteOf(label);
    if (note) line.append(made("small", "", note));
    return line;
  });
  if (make !== null && typed && !found.some(({ name }) => name.toLowerCase() === typed)) lines.unshift(newLine());
  if (!lines.length) {
    const none = made("li", "none", make === null ? "No class is called so." : "Type its name.");
    none.role = "option";
    none.setAttribute("aria-disabled", "true");
    lines.push(none);
  }
  byId("options").replaceChildren(...lines);
  active = -1;
  if (typed) activate(0);
  else byId("typed").removeAttribute("aria-activedescendant");
}

function newLine() {
  const line = made("li", "", byId("typed").value.trim());
  line.id = "option-new";
  line.role = "option";
  line.dataset.label = "new";
  line.append(made("small", "", "new class"));
  return line;
}

function activate(k) {
  const lines = [...byId("options").children].filter((line) => line.dataset.label !== undefined);
  byId("typed").removeAttribute("aria-activedescendant");
  if (!lines.length) return;
  active = k < 0 ? lines.length - 1 : k % lines.length;
  lines.forEach((line, place) => line.setAttribute("aria-selected", String(place === active)));
  lines[active].scrollIntoView({ block: "nearest" });
  byId("typed").setAttribute("aria-activedescendant", lines[active].id);
}

function pick(line) {
  if (line?.dataset.label === undefined) return;
  byId("choose").close();
  if (line.dataset.label === "new") make(byId("typed").value.trim());
  else chosen(Number(line.dataset.label));
}

byId("typed").addEventListener("input", listOptions);
byId("typed").addEventListener("keydown", (event) => {
  const keys = {
    ArrowDown: () => activate(active + 1),
    ArrowUp: () => activate(Math.max(active, 0) - 1),
    Enter: () => pick(byId("options").querySelector("[aria-selected='true']")),
  };
  if (!(event.key in keys) || event.isComposing) return;
  event.preventDefault();
  keys[event.key]();
});
byId("options").addEventListener("click", (event) => pick(event.target.closest("li")));
