"use strict";
// Narrows the list of operations while somebody types; "/" goes to the search field.
const search = document.getElementById("search");
const none = document.getElementById("none");
const sections = [...document.querySelectorAll("nav section")];

search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of sections) {
    let here = 0;
    for (const item of section.querySelectorAll("li")) {
      const text = item.dataset.find.toLowerCase();
      const match = words.every((w) => text.includes(w));
      item.hidden = !match;
      here += match ? 1 : 0;
    }
    section.hidden = here === 0;
    found += here;
  }
  none.hidden = found > 0;
});

document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== search) {
    e.preventDefault();
    search.focus();
  } else if (e.key === "Escape" && document.activeElement === search) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  }
});
