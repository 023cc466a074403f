// Finds pages in the index: a list of { title, kind, url, headings, abstract, text }.

const words = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);

// Makes what is compared in lower case, once.
export function prepare(pages) {
  return pages.map((page) => ({
    page,
    title: page.title.toLowerCase(),
    titleWords: words(page.title.replace(/([a-z0-9])([A-Z])/g, "$1 $2")),
    headings: page.headings.map((heading) => heading.toLowerCase()),
    abstract: page.abstract.toLowerCase(),
    text: page.text.toLowerCase(),
  }));
}

// What a word is worth on a page; 0 if the page does not have it.
function score(entry, word) {
  if (entry.title === word) return 100;
  if (entry.titleWords.includes(word)) return 60;
  if (entry.title.startsWith(word)) return 40;
  if (entry.title.includes(word)) return 25;
  if (entry.headings.some((heading) => heading.includes(word))) return 15;
  if (entry.abstract.includes(word)) return 8;
  return entry.text.includes(word) ? 10 : 0;  // only articles have text
}

// A page is found if it has every word of the query. Articles come before symbols that are worth the same, and short
// titles before long ones.
export function search(entries, query, limit = 50) {
  const wanted = words(query);
  if (wanted.length === 0) return [];
  const phrase = query.trim().toLowerCase();
  const found = [];
  for (const entry of entries) {
    const scores = wanted.map((word) => score(entry, word));
    if (scores.includes(0)) continue;
    let total = scores.reduce((sum, value) => sum + value, 0);
    if (entry.title === phrase) total += 100;
    if (entry.page.kind !== "symbol") total += 5;
    found.push({ page: entry.page, total });
  }
  found.sort((a, b) => b.total - a.total || a.page.title.length - b.page.title.length);
  return found.slice(0, limit).map((result) => result.page);
}
