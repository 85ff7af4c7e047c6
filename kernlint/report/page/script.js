"use strict";
// What the page can do beyond links: filter the ranking, step through programs by keys, print everything.
(() => {
  const filter = document.getElementById("filter");
  const count = document.getElementById("count");
  const programs = [...document.querySelectorAll("article")];

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of document.querySelectorAll("[data-text]")) {
      const fits = words.every((word) => row.dataset.text.includes(word));
      row.hidden = !fits;
      left += fits && row.tagName === "TR" ? 1 : 0;
    }
    count.textContent = words.length ? `${left} shown` : "";
  };

  const step = (by) => {
    const seen = programs.filter((one) => !one.hidden);
    const now = seen.indexOf(document.activeElement.closest ? document.activeElement.closest("article") : null);
    const next = seen[Math.max(0, Math.min(seen.length - 1, now < 0 ? (by > 0 ? 0 : seen.length - 1) : now + by))];
    if (next) {
      next.focus();
      next.scrollIntoView();
    }
  };

  if (filter) {
    filter.addEventListener("input", show);
    document.getElementById("tools").hidden = false;
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target === filter;
    if (event.key === "Escape" && writing) {
      filter.value = "";
      show();
      filter.blur();
    } else if (writing) {
      return;
    } else if (event.key === "/" && filter) {
      event.preventDefault();
      filter.focus();
    } else if (event.key === "j") {
      step(1);
    } else if (event.key === "k") {
      step(-1);
    }
  });

  const closed = [];
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      closed.push(one);
      one.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    while (closed.length) closed.pop().open = false;
  });
})();
