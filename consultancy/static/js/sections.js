// The navigation of a long page: one link a section, the one in view marked.

const page = document.querySelector("[data-sections]");
if (page) {
  const headings = [...page.querySelectorAll("h2[id]")].filter((heading) => heading.closest("section, form"));
  const nav = document.createElement("nav");
  nav.className = "sections no-print";
  nav.setAttribute("aria-label", "Sections of this page");
  const links = new Map();
  for (const heading of headings) {
    const link = document.createElement("a");
    link.href = `#${heading.id}`;
    link.textContent = heading.textContent;
    links.set(heading, link);
    nav.append(link);
  }
  if (headings.length > 2) {
    page.classList.add("with-sections");
    page.prepend(nav);
  }
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const here = passed.sort((a, b) => b.getBoundingClientRect().top - a.getBoundingClientRect().top)[0];
    links.forEach((link, heading) => {
      if (heading === (here ?? headings[0])) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    });
  };
  document.addEventListener("scroll", mark, { passive: true });
  mark();
}
