// Around every page: search by Ctrl-K, keyboard shortcuts, forms that outlive their session.

const search = document.getElementById("search");
const singleKeys = document.getElementById("single-keys");
const KEYS = "single-keys";
let pending = false;

function isTyping(element) {
  return element?.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(element?.tagName);
}

// Single keys are off until switched on: speech input and screen readers send letters, too.
if (singleKeys) {
  singleKeys.checked = localStorage.getItem(KEYS) === "on";
  singleKeys.addEventListener("change", () => {
    localStorage.setItem(KEYS, singleKeys.checked ? "on" : "off");
  });
}

document.addEventListener("keydown", (event) => {
  if (!search) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!search.open) search.showModal();
    document.getElementById("search-text").select();
    return;
  }
  if (!singleKeys?.checked || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (pending) {
    pending = false;
    const links = document.querySelectorAll(".nav a");
    const target = event.key === "n" ? document.querySelector(".topbar__bell") : links[Number(event.key) - 1];
    if (target) target.click();
  } else if (event.key === "g") {
    pending = true;
    setTimeout(() => (pending = false), 1500);
  }
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-search]") && search) {
    event.preventDefault();
    search.showModal();
  }
  const dialog = event.target.closest("dialog");
  if (dialog && (event.target === dialog || event.target.closest("[data-close]"))) dialog.close();
});

// Arrow keys move between the field and the results.
search?.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const stops = [document.getElementById("search-text"), ...search.querySelectorAll(".hits a")];
  const at = stops.indexOf(document.activeElement);
  stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
});

// Before a form that was open for a while is submitted, ask whether the session still exists. If
// not, the form stays as it is; after a new sign-in it is submitted with that session's token.
const opened = Date.now();
const FRESH_MS = 60_000;

document.addEventListener(
  "submit",
  async (event) => {
    const form = event.target;
    const token = form.querySelector("[name=csrfmiddlewaretoken]");
    const dialog = document.getElementById("expired");
    if (form.method !== "post" || !token || !dialog || form.dataset.checked) return;
    if (Date.now() - opened < FRESH_MS) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const submitter = event.submitter;
    let state = null;
    try {
      const answer = await fetch(dialog.dataset.session, { headers: { Accept: "application/json" } });
      state = answer.ok ? await answer.json() : null;
    } catch {
      // Without a network the browser itself says so.
      state = { token: token.value };
    }
    if (!state) {
      dialog.showModal();
      return;
    }
    document.querySelectorAll("[name=csrfmiddlewaretoken]").forEach((field) => (field.value = state.token));
    form.dataset.checked = "yes";
    form.requestSubmit(submitter);
    delete form.dataset.checked;
  },
  true,
);

// Start in the first field of a page that is one form, unless an error has the focus.
if (!document.querySelector("[aria-invalid=true]") && !location.hash) {
  document
    .querySelector("form.form--page :is(input:not([type=hidden]), select, textarea)")
    ?.focus({ preventScroll: true });
}
