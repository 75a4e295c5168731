// What the page's parts share: what is on show, what stands, and who sits here.

export const byId = (id) => document.getElementById(id);
export const percent = (share) =>
  share > 0.99 && share < 1 ? "> 99 %" : share < 0.01 && share > 0 ? "< 1 %" : `${Math.round(100 * share)} %`;
export const many = (number) => number.toLocaleString("en");
export const pause = (time) => new Promise((done) => setTimeout(done, time));

export const state = {
  data: null, // the suspects, column by column; a suspect is its position in these
  order: [], // positions that the filter lets through, ascending
  current: null, // position of the suspect on show
  seen: 0, // number of the decision that stood when it was put on show; 0 for none
  standing: new Map(), // row → what stands about it
  version: 0,
  reviewer: "", // the name of the person here
  grid: false, // whether the grid is on show
  busy: false,
};
export const tab = sessionStorage.getItem("tab") ?? crypto.randomUUID();
sessionStorage.setItem("tab", tab);
export const others = new BroadcastChannel(location.pathname);

export const seenOf = (row) => state.standing.get(row)?.seq ?? 0;

export function say(text) {
  byId("said").textContent = text;
}

export function complain(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = false;
}

export function complainThatNobodyAnswers() {
  complain("The server does not answer. What you decided is on disk; start truelabel review again to go on.");
}
