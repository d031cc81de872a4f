// The navigation of a long page: one link a section, the one in view marked.

(() => {
  const page = document.querySelector("[data-sections]");
  if (!page) return;
  const nav = document.createElement("nav");
  nav.className = "sections no-print";
  nav.setAttribute("aria-label", "Sections of this page");
  let links = new Map();

  function build() {
    const headings = [...page.querySelectorAll("h2[id]")].filter((heading) => heading.closest("section, form"));
    links = new Map();
    for (const heading of headings) {
      const link = document.createElement("a");
      link.href = `#${heading.id}`;
      link.textContent = heading.textContent;
      links.set(heading, link);
    }
    nav.replaceChildren(...links.values());
    const isLong = headings.length > 2;
    page.classList.toggle("with-sections", isLong);
    if (isLong && !nav.isConnected) page.prepend(nav);
    if (!isLong) nav.remove();
    mark();
  }

  function mark() {
    const places = [...links.keys()].map((heading) => [heading, heading.getBoundingClientRect().top]);
    const passed = places.filter(([, top]) => top < 120).sort((a, b) => b[1] - a[1]);
    const here = passed[0]?.[0] ?? places[0]?.[0];
    links.forEach((link, heading) => {
      if (heading === here) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    });
  }

  document.addEventListener("scroll", mark, { passive: true });
  // Fragments of the page reload, with sections of their own.
  document.addEventListener("htmx:afterSettle", () => {
    if ([...links.keys()].some((heading) => !heading.isConnected)) build();
  });
  build();
})();
