"use strict";
(() => {
  const box = document.getElementById("filter");
  if (box) {
    const kind = document.getElementById("kind"), only = document.getElementById("only"), count = document.getElementById("shown");
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
      count.textContent = `${shown} of ${rows.length} shown`;
      document.dispatchEvent(new Event("filtered"));
    };
    box.addEventListener("input", apply);
    only.addEventListener("change", apply);
    if (kind) kind.addEventListener("change", apply);
    apply();
  }
  // Many cells are one stop of the Tab key. Arrow keys go from cell to cell; with Shift, to the next that does not hold.
  for (const group of document.querySelectorAll("[data-cells]")) {
    const cells = [...group.querySelectorAll("a")];
    const stop = (cell) => { for (const each of cells) each.setAttribute("tabindex", each === cell ? "0" : "-1"); };
    const visible = (cell) => cell.getClientRects().length > 0;
    const holds = (cell) => cell.matches(".HOLDS, .none") || cell.querySelector("rect.HOLDS");
    const beside = (from, step, wanted) => {
      for (let at = cells.indexOf(from) + step; at >= 0 && at < cells.length; at += step)
        if (visible(cells[at]) && wanted(cells[at])) return cells[at];
      return null;
    };
    const row = (from, step) => {
      const here = from.getBoundingClientRect();
      const other = beside(from, step, (cell) => step * (cell.getBoundingClientRect().top - here.top) > here.height / 2);
      if (!other) return null;
      const top = other.getBoundingClientRect().top;
      const distance = (cell) => Math.abs(cell.getBoundingClientRect().left - here.left);
      return cells.filter((cell) => visible(cell) && Math.abs(cell.getBoundingClientRect().top - top) < here.height / 2)
        .reduce((best, cell) => (distance(cell) < distance(best) ? cell : best), other);
    };
    const targets = {
      ArrowRight: (cell) => beside(cell, 1, () => true), ArrowLeft: (cell) => beside(cell, -1, () => true),
      ArrowDown: (cell) => row(cell, 1), ArrowUp: (cell) => row(cell, -1),
      Home: () => cells.find(visible), End: () => cells.findLast(visible),
    };
    if (cells.length) stop(cells[0]);
    document.addEventListener("filtered", () => {
      const first = cells.find(visible);
      if (first && !cells.some((cell) => visible(cell) && cell.getAttribute("tabindex") === "0")) stop(first);
    });
    group.addEventListener("focusin", (event) => stop(event.target.closest("a")));
    group.addEventListener("keydown", (event) => {
      if (!(event.key in targets) || event.ctrlKey || event.altKey || event.metaKey) return;
      const from = event.target.closest("a"), back = event.key === "ArrowLeft" || event.key === "ArrowUp";
      const jump = event.shiftKey && event.key.startsWith("Arrow");
      const to = jump ? beside(from, back ? -1 : 1, (cell) => !holds(cell)) : targets[event.key](from);
      if (!to) return;
      event.preventDefault();
      to.focus();
    });
  }
  // What scrolls is a stop of the Tab key, so that the arrow keys can scroll it; what fits is none.
  const stops = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.setAttribute("tabindex", "0"); else target.removeAttribute("tabindex");
    }
  });
  for (const band of document.querySelectorAll(".scroll, .log, .script, .tall")) stops.observe(band);
  // A narrow page begins with the moment that it is about, not with the start of the log.
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
