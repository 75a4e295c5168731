"use strict";
(() => {
  const page = document.documentElement;
  const by = (id) => document.getElementById(id);
  page.classList.add("scripted");

  const themes = ["", "light", "dark"];
  const titles = ["auto", "light", "dark"];
  const button = by("theme");
  const remembered = {
    get: () => { try { return localStorage.getItem("truelabel-theme") || ""; } catch { return ""; } },
    set: (value) => { try { localStorage.setItem("truelabel-theme", value); } catch { /* a private window remembers nothing */ } },
  };
  const wear = (theme) => {
    if (theme) page.dataset.theme = theme;
    else delete page.dataset.theme;
    button.lastElementChild.textContent = titles[themes.indexOf(theme)];
  };
  wear(themes.includes(remembered.get()) ? remembered.get() : "");
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(page.dataset.theme || "") + 1) % themes.length];
    wear(next);
    remembered.set(next);
  });

  const [only, more] = [by("only"), by("more")];
  if (only) {
    const gallery = by("gallery");
    const all = () => { gallery.classList.remove("few"); more.hidden = true; };
    more.hidden = gallery.children.length <= 18;
    gallery.classList.toggle("few", !more.hidden);
    more.addEventListener("click", () => {
      all();
      const next = gallery.children[18];
      next.tabIndex = -1;
      next.focus();
    });
    only.addEventListener("change", () => {
      all();
      let shown = 0;
      for (const card of gallery.children) {
        card.hidden = only.selectedIndex > 0 && card.dataset.given !== only.value;
        shown += !card.hidden;
      }
      by("shown").textContent = `${shown} labels shown`;
    });
  }

  const atlas = by("atlas");
  if (!atlas) return;
  const data = JSON.parse(by("instances").textContent);
  const svg = atlas.querySelector("svg");
  const here = by("here");
  const circles = [...svg.querySelectorAll("circle")].filter((circle) => circle !== here);
  const places = circles.map((circle) => [+circle.getAttribute("cx"), +circle.getAttribute("cy")]);
  const panel = by("instance");
  const canvas = panel.querySelector("canvas");
  const sheet = by("sheet");
  let chosen = -1;

  const line = (text, kind) => {
    const part = document.createElement("p");
    part.textContent = text;
    if (kind) part.className = kind;
    return part;
  };
  const choose = (index) => {
    if (index === chosen) return;
    chosen = index;
    const [x, y] = index < 0 ? [-20, -20] : places[index];
    here.setAttribute("cx", x);
    here.setAttribute("cy", y);
    canvas.hidden = index < 0 || !sheet;
    const words = panel.lastElementChild;
    if (index < 0) {
      words.replaceChildren(line("No instance is chosen.", "sub"));
      return;
    }
    if (sheet) {
      const [side, columns] = [data.side, data.columns];
      const pen = canvas.getContext("2d");
      pen.imageSmoothingEnabled = side > 32;
      pen.drawImage(sheet, (index % columns) * side, Math.floor(index / columns) * side, side, side, 0, 0, canvas.width, canvas.height);
    }
    const [given, suggested] = [data.names[data.g[index]], data.names[data.s[index]]];
    const parts = [line(data.ids[index], "sub")];
    if (data.hints.length) parts.push(line(data.hints[index]));
    parts.push(line(given === suggested ? `labelled ${given}, which seems right` : `labelled ${given}, suggested ${suggested}`));
    parts.push(line(`wrong with ${data.w[index] < 99.95 ? data.w[index] : "> 99.9"} %; classifier: ${data.names[data.p[index]]}`, "sub"));
    words.replaceChildren(...parts);
  };

  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    let [best, found] = [(18 / scale) ** 2, -1];
    for (let index = places.length - 1; index >= 0; index--) {
      if (circles[index].classList.contains("dim")) continue;
      const far = (places[index][0] - x) ** 2 + (places[index][1] - y) ** 2;
      if (far < best) [best, found] = [far, index];
    }
    return found;
  };
  for (const kind of ["pointermove", "pointerdown"]) {
    svg.addEventListener(kind, (event) => { const index = nearest(event); if (index >= 0) choose(index); });
  }
  atlas.addEventListener("keydown", (event) => {
    const last = places.length - 1;
    const onward = { ArrowRight: -1, ArrowDown: -1, ArrowLeft: 1, ArrowUp: 1 }[event.key];
    if (event.key === "Escape") choose(-1);
    else if (event.key === "Home") choose(last);
    else if (event.key === "End") choose(0);
    else if (onward) choose(chosen < 0 ? last : Math.min(last, Math.max(0, chosen + onward)));
    else return;
    event.preventDefault();
  });

  const keys = [...document.querySelectorAll(".classes-key button")];
  const dim = () => {
    const slots = keys.filter((key) => key.getAttribute("aria-pressed") === "true").map((key) => key.dataset.slot);
    const letter = { given: "g", suggested: "s" }[atlas.dataset.by];
    for (const circle of circles) {
      circle.classList.toggle("dim", Boolean(letter) && slots.length > 0 && !slots.some((slot) => circle.classList.contains(letter + slot)));
    }
  };
  for (const key of keys) {
    key.addEventListener("click", () => {
      key.setAttribute("aria-pressed", String(key.getAttribute("aria-pressed") !== "true"));
      dim();
    });
  }
  for (const radio of document.querySelectorAll("input[name=by]")) {
    radio.addEventListener("change", () => {
      atlas.dataset.by = radio.value;
      document.querySelector(".classes-key").hidden = radio.value === "doubt";
      document.querySelector(".doubt-key").hidden = radio.value !== "doubt";
      dim();
    });
    if (radio.checked && radio.value !== "given") radio.dispatchEvent(new Event("change"));
  }
})();
