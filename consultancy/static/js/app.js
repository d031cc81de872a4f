// Progressive enhancement: every page works without this file.

// Prevent double submission. The server deduplicates, too.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method === "get") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  // Deferred: a disabled button would not submit its name and value.
  setTimeout(() => mark(form, true));
});

// Enable forms again when the browser restores a page from its cache.
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

// After sign-out elsewhere, reload instead of swapping the sign-in page into a fragment.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { responseURL } = event.detail.xhr;
  if (responseURL && new URL(responseURL).pathname.startsWith("/accounts/")) {
    event.detail.shouldSwap = false;
    window.location.reload();
  }
});

// Copy buttons copy their data-copy attribute.
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

// Announce a live value to screen readers when its text changes, not at every refresh.
document.addEventListener("htmx:afterSwap", () => {
  const source = document.querySelector("[data-announce]");
  const status = document.getElementById("announcement");
  if (source && status && status.textContent !== source.dataset.announce) {
    status.textContent = source.dataset.announce;
  }
});

// Show the upload progress of large files.
document.addEventListener("htmx:xhr:progress", (event) => {
  const bar = event.target.closest ? event.target.closest("form")?.querySelector("progress") : null;
  if (!bar || !event.detail.lengthComputable) return;
  bar.hidden = false;
  bar.value = event.detail.loaded / event.detail.total;
});

// On phones the rows of a table with three or more columns stack: each cell says its column.
function stackTables() {
  document.querySelectorAll(".table:not([data-stacks])").forEach((table) => {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    if (heads.length < 3 || table.tHead.rows.length > 1) return;
    table.dataset.stacks = "yes";
    // The roles stay with cells that are laid out as blocks.
    table.setAttribute("role", "table");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      let column = 0;
      for (const cell of row.cells) {
        const isHead = cell.tagName === "TH";
        const scope = row.parentNode === table.tHead ? "columnheader" : "rowheader";
        cell.setAttribute("role", isHead ? scope : "cell");
        const label = heads[column]?.textContent.trim();
        if (column && label && cell.colSpan === 1 && scope !== "columnheader") cell.dataset.label = label;
        column += cell.colSpan;
      }
    }
    for (const group of [table.tHead, ...table.tBodies, table.tFoot]) group?.setAttribute("role", "rowgroup");
  });
}
document.addEventListener("htmx:afterSettle", stackTables);
stackTables();

// Rows of inputs: the button adds an empty row after the last.
document.querySelectorAll("[data-add-row]").forEach((button) => (button.hidden = false));
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-add-row]");
  if (!button) return;
  const rows = button.closest("[data-rows]").querySelectorAll(".input-rows__row");
  const row = rows[rows.length - 1].cloneNode(true);
  row.setAttribute("aria-label", `Row ${rows.length + 1}`);
  row.querySelectorAll("input").forEach((input) => {
    input.name = input.name.replace(/-\d+-([^-]+)$/, `-${rows.length}-$1`);
    input.setAttribute("aria-label", input.ariaLabel.replace(/\d+$/, rows.length + 1));
    input.removeAttribute("id");
    input.value = "";
  });
  button.before(row);
  row.querySelector("input").focus();
});

// After a declined form, focus the first field with an error. Django marks it as invalid.
document.querySelector("[aria-invalid=true]:not([type=hidden])")?.focus();
