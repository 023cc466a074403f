// Finds pages in the index: a list of { title, kind, url, headings, abstract, text }.

const words = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
// What the singular and the plural of a word have in common: retry and retries, cookie and cookies.
const stem = (word) => word.replace(/y$/, "ie").replace(/(?<=[^s])s$/, "");
const articles = ["article", "module", "tutorial"];

// Makes what is compared in lower case, once.
export function prepare(pages) {
  return pages.map((page) => ({
    page,
    title: page.title.toLowerCase(),
    name: page.title.toLowerCase().replace(/\(.*/, "").split(".").at(page.kind === "program" ? 0 : -1),
    titleStems: words(page.title.replace(/([a-z0-9])([A-Z])/g, "$1 $2")).map(stem),
    headings: page.headings.map((heading) => words(heading).map(stem)),
    abstract: page.abstract.toLowerCase(),
    text: page.text.toLowerCase(),
  }));
}

// What a word is worth on a page; 0 if the page does not have it.
function score(entry, word) {
  const root = stem(word);
  const isArticle = articles.includes(entry.page.kind);
  if (entry.title === word || entry.name === word) return 100;
  if (entry.titleStems.includes(root)) return isArticle ? 110 : 60;
  if (isArticle && entry.headings.some((heading) => heading.includes(root))) return 70;
  if (entry.title.startsWith(word)) return 40;
  if (entry.title.includes(word)) return 25;
  if (entry.abstract.includes(word)) return isArticle ? 30 : 8;
  return entry.text.includes(word) ? 10 : 0;  // only articles and programs have text
}

// The pages that have every word of the query, best first. Of pages that are worth the same, articles and what `import Martlet`
// has come first, and short titles before long ones.
export function search(entries, query) {
  const wanted = words(query);
  if (wanted.length === 0) return [];
  const phrase = query.trim().toLowerCase();
  const found = [];
  for (const entry of entries) {
    const scores = wanted.map((word) => score(entry, word));
    if (scores.includes(0)) continue;
    let total = scores.reduce((sum, value) => sum + value, 0);
    if (entry.title === phrase) total += 100;
    if (articles.includes(entry.page.kind) || entry.page.url.startsWith("documentation/martlet/")) total += 5;
    found.push({ page: entry.page, total });
  }
  found.sort((a, b) => b.total - a.total || a.page.title.length - b.page.title.length);
  return found.map((result) => result.page);
}
