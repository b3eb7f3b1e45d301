"use strict";
// Pages that have all words, those with them in their title first, with what stands around the first.
(() => {
  const input = document.getElementById("search"), hits = document.getElementById("hits");
  const root = document.querySelector(".home").getAttribute("href").replace(/index\.html$/, "");
  const item = (page, words) => {
    const li = document.createElement("li"), a = document.createElement("a"), small = document.createElement("small");
    a.href = root + page.at;
    a.textContent = page.title;
    const at = Math.max(0, page.text.toLowerCase().indexOf(words[0]) - 50);
    small.textContent = (at ? "…" : "") + page.text.slice(at, at + 140).replace(/\s+/g, " ") + "…";
    li.append(a, small);
    return li;
  };
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits.hidden = words.length === 0;
    const found = [];
    for (const page of words.length ? pages : []) {
      const title = page.title.toLowerCase() + " " + page.at, text = page.text.toLowerCase();
      if (words.every((w) => title.includes(w) || text.includes(w))) found.push([words.every((w) => title.includes(w)) ? 0 : 1, page]);
    }
    found.sort((a, b) => a[0] - b[0]);
    hits.replaceChildren(...found.slice(0, 20).map(([, page]) => item(page, words)));
    if (words.length && !found.length) hits.append(Object.assign(document.createElement("li"), { textContent: "no page has this" }));
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") hits.hidden = true;
    if (e.key === "/" && document.activeElement !== input) { e.preventDefault(); input.focus(); }
  });
})();
