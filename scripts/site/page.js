// The search page: a field, and a list that follows what is typed. `/` goes to the field, the arrows through the list, and
// Enter opens the first page.

import { prepare, search } from "./search.js";

const limit = 50;  // rows
let pause;
const field = document.getElementById("query");
const list = document.getElementById("results");
const count = document.getElementById("count");
const entries = prepare(await (await fetch("index.json")).json());

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function row(page) {
  const link = element("a", page.title);
  link.href = "../" + page.url;
  const item = document.createElement("li");
  item.append(link, element("small", page.kind), element("p", page.abstract));
  return item;
}

function summary(pages, wanted) {
  if (field.value.trim() === "") return `${entries.length} pages can be found by their words.`;
  if (pages.length === 0) return "No page has all these words. Try fewer of them, or a part of one.";
  const typed = field.value.toLowerCase();
  const changed = wanted.filter((word) => !typed.includes(word));
  return (changed.length > 0 ? `Searched for “${wanted.join(" ")}”: ` : "") + amount(pages);
}

function amount(pages) {
  return pages.length === 1 ? "1 page" : `${pages.length} pages${pages.length > limit ? `, the best ${limit} of them:` : ""}`;
}

function show() {
  const { pages, wanted } = search(entries, field.value);
  list.replaceChildren(...pages.slice(0, limit).map(row));
  count.textContent = summary(pages, wanted);
  clearTimeout(pause);
  pause = setTimeout(keepQuery, 200);
}

// Puts the query into the address, so that a link or a reload finds the same. Browsers limit how often: not for each key.
function keepQuery() {
  const address = new URL(location);
  address.searchParams.set("q", field.value);
  history.replaceState(null, "", address);
}

document.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const index = links.indexOf(document.activeElement);
  if (event.key === "/" && document.activeElement !== field) {
    field.focus();
  } else if (event.key === "ArrowDown" && links.length > 0) {
    links[Math.min(index + 1, links.length - 1)].focus();
  } else if (event.key === "ArrowUp" && index >= 0) {
    (index === 0 ? field : links[index - 1]).focus();
  } else if (event.key === "Enter" && document.activeElement === field && links.length > 0) {
    links[0].click();
  } else {
    return;
  }
  event.preventDefault();
});

field.addEventListener("input", show);
field.value = new URL(location).searchParams.get("q") ?? "";
show();
