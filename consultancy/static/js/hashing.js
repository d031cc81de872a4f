// Hash a file in the browser and submit only its digest. Without crypto.subtle (plain HTTP) or
// JavaScript, the form uploads the file.

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-hashes-into]");
  const file = form?.querySelector("input[type=file]")?.files[0];
  if (!file || !window.crypto?.subtle) return;
  event.preventDefault();
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const field = document.getElementById(form.dataset.hashesInto);
  field.value = `sha256:${hex(digest)}`;
  field.form.requestSubmit();
}, true);

// A file dropped on the form is verified at once.
document.addEventListener("dragover", (event) => {
  if (event.target.closest("[data-hashes-into]")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const form = event.target.closest("[data-hashes-into]");
  if (!form || !event.dataTransfer.files.length) return;
  event.preventDefault();
  form.querySelector("input[type=file]").files = event.dataTransfer.files;
  form.requestSubmit();
});

function hex(buffer) {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
