// The name of the person here: kept with each decision, and remembered by the browser.

import { byId, state } from "./state.js";

const KEY = "truelabel-reviewer"; // of a cookie, which counts for every port of this address
const YEAR = 31536000; // seconds

function remembered() {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${KEY}=`));
  return found === undefined ? "" : decodeURIComponent(found.slice(KEY.length + 1));
}

function set(name) {
  state.reviewer = name;
  byId("who").textContent = name || "Your name";
  byId("who").title = name ? "You; click to change the name" : "Say who you are, so that others see who decided";
}

// Takes the name that was given in this tab, else at the command, else to this browser before; asks on a shared page.
export function greet({ reviewer, shared }) {
  set(sessionStorage.getItem("reviewer") ?? (reviewer || remembered()));
  if (shared && !state.reviewer && sessionStorage.getItem("reviewer") === null) askName();
}

export function askName() {
  byId("reviewer").value = state.reviewer;
  byId("name").returnValue = "";
  byId("name").showModal();
}

byId("name").addEventListener("close", () => {
  const name = byId("name").returnValue === "save" ? byId("reviewer").value.trim() : state.reviewer;
  sessionStorage.setItem("reviewer", name);
  document.cookie = `${KEY}=${encodeURIComponent(name)}; path=/; max-age=${name ? YEAR : 0}; samesite=strict`;
  set(name);
});
