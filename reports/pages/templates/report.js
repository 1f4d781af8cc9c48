"use strict";
(() => {
  const box = document.getElementById("filter");
  if (box) {
    const kind = document.getElementById("kind"), only = document.getElementById("only"), told = document.getElementById("shown");
    const rows = [...document.querySelectorAll("tr[data-text]")];
    const apply = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const fits = words.every((word) => row.dataset.text.includes(word));
        const holds = row.dataset.answer.split(" ").every((answer) => answer === "HOLDS");
        const other = kind && kind.value && !row.dataset.change.split(" ").includes(kind.value);
        row.hidden = !fits || other || (only.checked && holds);
        shown += !row.hidden;
      }
      const wanted = words.length > 0 || only.checked;
      for (const part of document.querySelectorAll("[data-part]")) {
        part.hidden = !part.querySelector("tr[data-text]:not([hidden])");
        if (part.tagName === "DETAILS") part.open = wanted;
      }
      told.textContent = `${shown} of ${rows.length} shown`;
    };
    box.addEventListener("input", apply);
    only.addEventListener("change", apply);
    if (kind) kind.addEventListener("change", apply);
    apply();
  }
  // A narrow page begins with the moment that it is about, not with the log's.
  for (const band of document.querySelectorAll(".scroll[data-cut]"))
    band.scrollLeft = Math.max(0, band.dataset.cut - band.clientWidth / 2);
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const code = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {  // a page from disk may lack the clipboard: select it instead
        getSelection().selectAllChildren(code);
        button.textContent = "Selected: press Ctrl+C";
      }
    });
  }
})();
