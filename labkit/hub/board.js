// Keeps the board up to date: asks for the part that changes, and puts it in place only when it has changed.
// Focus and scroll position stay; the sentence at the top has role=status, so that a screen reader says it.
"use strict";
const live = document.getElementById("live");
let shown = live ? live.dataset.version : "";
async function refresh() {
  try {
    const headers = { "X-Shown": shown, "X-XSRFToken": live.dataset.key };
    const answer = await fetch(live.dataset.source, { headers, credentials: "same-origin", redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) {
      say("You are logged out: load this page again.");
      return;
    }
    if (answer.ok && answer.status !== 204) {
      const focused = live.contains(document.activeElement) && nameOf(document.activeElement);
      const open = [...live.querySelectorAll("details[open]")].map((part) => part.id);
      const scrolled = [...live.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
      live.innerHTML = await answer.text();
      shown = answer.headers.get("X-Shown") || "";
      open.forEach((id) => { const part = document.getElementById(id); if (part) part.open = true; });
      live.querySelectorAll(".scroll").forEach((part, i) => { part.scrollLeft = scrolled[i] || 0; });
      const again = focused && [...live.querySelectorAll("a, [id]")].find((part) => nameOf(part) === focused);
      if (again) again.focus({ preventScroll: true });
    }
    say("");
  } catch (error) {
    say("The board can't be reached just now; what you see is from before.");
  }
  setTimeout(refresh, 2000);
}
function nameOf(part) {
  return part.getAttribute("href") || part.id;
}
function say(words) {
  const place = document.getElementById("connection");
  if (place && place.textContent !== words) place.textContent = words;
}
if (live) setTimeout(refresh, 2000);
