// Searches the index that scripts/site makes. The first search loads it. "?q=WORDS" behind a page's address searches at once.
"use strict";
const root = document.currentScript.dataset.root;
const form = document.querySelector("header form");
const input = form.querySelector("input");
const found = document.getElementById("found");
const mostPages = 12, mostHeadings = 4;
let index = null;

function exsIndex(made) {
  index = made;
  index.sorted = Object.keys(index.words).sort();
  show();
}

function load() {
  if (document.getElementById("search-index")) return;
  const script = document.createElement("script");
  script.id = "search-index";
  script.src = root + "search-index.js";
  document.head.append(script);
}

// Pages that have a word which begins so -> how much they are about it.
function pagesWith(start) {
  const scores = new Map();
  let low = 0, high = index.sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (index.sorted[middle] < start) low = middle + 1; else high = middle;
  }
  for (; low < index.sorted.length && index.sorted[low].startsWith(start); ++low) {
    const list = index.words[index.sorted[low]], weight = index.sorted[low] === start ? 2 : 1;
    for (let i = 0; i < list.length; i += 2) scores.set(list[i], (scores.get(list[i]) || 0) + weight * Math.log2(1 + list[i + 1]));
  }
  return scores;
}

function search(text) {
  const asked = text.toLowerCase().trim(), words = asked.match(/[a-z0-9_]+/g) || [];
  if (words.length === 0) return [];
  const each = words.map(pagesWith);
  const results = [];
  for (const [number, first] of each[0]) {
    if (!each.every((pages) => pages.has(number))) continue;
    const [, title, about] = index.pages[number].map((part) => part.toLowerCase());
    let score = each.slice(1).reduce((sum, pages) => sum + pages.get(number), first);
    if (title === asked || title.replace(/\(\d\)$/, "") === asked) score += 200;
    for (const word of words) score += (title.includes(word) ? 20 : 0) + (about.includes(word) ? 8 : 0);
    results.push({number, score, headings: []});
  }
  const byNumber = new Map(results.map((result) => [result.number, result]));
  for (const [number, id, heading] of index.headings) {
    const result = byNumber.get(number), lower = heading.toLowerCase();
    if (!result || !words.every((word) => lower.includes(word))) continue;
    if (result.headings.length === 0) result.score += 12;
    result.headings.push([id, heading]);
  }
  return results.sort((a, b) => b.score - a.score || a.number - b.number);
}

function link(address, text) {
  const made = document.createElement("a");
  made.href = root + address;
  made.textContent = text;
  return made;
}

function show() {
  if (index === null) return;
  const results = search(input.value);
  found.replaceChildren(...results.slice(0, mostPages).map(({number, headings}) => {
    const [address, title, about, section] = index.pages[number];
    const row = document.createElement("li"), below = document.createElement("small");
    below.append(about || section, document.createElement("br"));
    below.append(...headings.slice(0, mostHeadings).map(([id, heading]) => link(address + "#" + id, heading)));
    row.append(link(address, title), below);
    return row;
  }));
  if (results.length === 0 && input.value.trim() !== "") {
    const row = document.createElement("li");
    row.textContent = "No page has these words.";
    found.append(row);
  }
}

function end() {
  input.value = "";
  input.blur();
  show();
}

// The side names many pages: this one is in sight there.
const side = document.getElementById("side"), here = side.querySelector("[aria-current]");
if (here && here.offsetTop > side.clientHeight - 50) side.scrollTop = here.offsetTop - side.clientHeight / 2;

form.hidden = false;
input.addEventListener("focus", load);
input.addEventListener("input", show);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const first = found.querySelector("a");
  if (first) location.href = first.href;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape") {
    end();
  }
});
document.addEventListener("click", (event) => { if (!form.contains(event.target)) end(); });
const asked = new URLSearchParams(location.search).get("q");
if (asked !== null) {
  input.value = asked;
  load();
}
