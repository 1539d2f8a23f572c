// What a page without scripts cannot do: add calls as they come, and move by keys. Nothing that comes from a
// server is ever run: what is fetched is parsed as a document of its own, where no script runs, and its nodes
// are taken over.
"use strict";

const PERIOD = 1000;

function links() {
  return [...document.querySelectorAll("[data-moves] a.go")];
}

function move(step) {
  const all = links();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next].focus();
  all[next].closest("li").scrollIntoView({ block: "nearest" });
}

function writes(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && writes(event.target)) return event.target.blur();
  if (writes(event.target)) return;
  const scrolls = event.target.tagName === "PRE";
  if (event.key === "/") {
    const field = document.querySelector("[data-filter]");
    if (!field) return;
    const around = field.closest("details");
    if (around) around.open = true;
    field.focus();
    field.select?.();
  } else if (event.key === "j" || (event.key === "ArrowDown" && !scrolls && links().length)) move(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && !scrolls && links().length)) move(-1);
  else if (event.key === "p") {
    const pause = document.querySelector("[data-pause]");
    if (!pause || pause.hidden) return;
    pause.click();
  } else return;
  event.preventDefault();
});

for (const select of document.querySelectorAll("[data-sends]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

for (const button of document.querySelectorAll("[data-copies]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copies);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  });
}

for (const time of document.querySelectorAll("[data-runs]")) {
  const behind = Date.parse(time.dateTime) - performance.now();
  setInterval(() => {
    time.textContent = new Date(behind + performance.now()).toISOString().slice(0, 19).replace("T", " ");
  }, PERIOD);
}

const place = document.querySelector("[data-live]");
if (place) {
  const pause = document.querySelector("[data-pause]");
  const told = document.querySelector("[data-told]");
  let paused = false;
  let asking = false;
  pause.hidden = false;

  function show() {
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    told.textContent = paused ? "Paused" : "Live";
    told.classList.toggle("on", !paused);
  }

  pause.addEventListener("click", () => { paused = !paused; show(); if (!paused) look(); });

  function take(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[data-lines]");
    const old = place.querySelector("[data-lines]");
    const focused = document.activeElement?.closest?.("[data-number]")?.dataset.number;
    const known = new Map([...old.querySelectorAll("[data-number]")].map((line) => [line.dataset.number, line]));
    // Calls are numbered on after they are forgotten, so a number that is known is the same call.
    for (const line of fresh.querySelectorAll("[data-number]")) {
      const same = known.get(line.dataset.number);
      if (same) { same.classList.remove("fresh"); line.replaceWith(same); } else line.classList.add("fresh");
    }
    old.replaceWith(document.adoptNode(fresh));
    if (focused) document.querySelector(`[data-number="${CSS.escape(focused)}"] a.go`)?.focus({ preventScroll: true });
  }

  async function look() {
    if (paused || asking || document.hidden) return;
    asking = true;
    const url = new URL(place.dataset.live, location.href);
    url.searchParams.set("state", place.querySelector("[data-lines]").dataset.state);
    try {
      const answer = await fetch(url);
      if (answer.status === 200) { const text = await answer.text(); if (!paused) take(text); }
      told.textContent = answer.ok ? (paused ? "Paused" : "Live") : "The server declines; reload";
      told.classList.toggle("on", answer.ok && !paused);
    } catch {
      told.textContent = "The server does not answer";
      told.classList.remove("on");
    } finally {
      asking = false;
    }
  }

  show();
  setInterval(look, PERIOD);
  document.addEventListener("visibilitychange", look);
}
