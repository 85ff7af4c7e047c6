// What the theme leaves out, for those who hear the page or have no mouse: names, and keys for tables that scroll.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
new MutationObserver(() => {
  document.querySelectorAll(".md-code__nav").forEach((nav, at) => nav.setAttribute("aria-label", `Code block ${at + 1}`));
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((table) => table.setAttribute("tabindex", "0"));
}).observe(document.body, { childList: true, subtree: true });
