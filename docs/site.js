// Names that the theme leaves out, for those who hear the page.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
new MutationObserver(() =>
  document.querySelectorAll(".md-code__nav").forEach((nav, at) => nav.setAttribute("aria-label", `Code block ${at + 1}`)),
).observe(document.body, { childList: true, subtree: true });
