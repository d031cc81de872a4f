// Small conveniences. Every page works without them.

// A form that was sent is not sent again; the server would answer the same anyhow.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method === "get") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  // After this turn: a disabled button would not send its own name and value.
  setTimeout(() => mark(form, true));
});

// Back from the browser's page cache, a form may be sent anew.
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  document.querySelectorAll("form[data-sent]").forEach(release);
});

document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest ? event.target.closest("form") : null;
  if (form) release(form);
});

function mark(form, busy) {
  form.querySelectorAll("button:not([type=button])").forEach((button) => {
    button.disabled = busy;
    button.setAttribute("aria-busy", String(busy));
  });
}

function release(form) {
  delete form.dataset.sent;
  mark(form, false);
}

// Signed out while a page was open: show the sign-in page whole, not inside a fragment.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { responseURL } = event.detail.xhr;
  if (responseURL && new URL(responseURL).pathname.startsWith("/accounts/")) {
    event.detail.shouldSwap = false;
    window.location.reload();
  }
});

// Copy buttons carry what they copy.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label), 1500);
});

// One menu open at a time, closed by Escape or a click elsewhere.
document.addEventListener("click", (event) => {
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

// What moves is announced when its words change, not at every refresh.
document.addEventListener("htmx:afterSwap", () => {
  const said = document.querySelector("[data-announce]");
  const status = document.getElementById("announcement");
  if (said && status && status.textContent !== said.dataset.announce) {
    status.textContent = said.dataset.announce;
  }
});

// How much of a large file was sent.
document.addEventListener("htmx:xhr:progress", (event) => {
  const bar = event.target.closest ? event.target.closest("form")?.querySelector("progress") : null;
  if (!bar || !event.detail.lengthComputable) return;
  bar.hidden = false;
  bar.value = event.detail.loaded / event.detail.total;
});
