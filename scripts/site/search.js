// Finds pages in the index: a list of { title, kind, url, headings, abstract, text }.

const words = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
// What the forms of a word have in common: retry and retries, cookie and cookies, pin, pinned and pinning.
const stem = (word) => word.replace(/y$/, "ie").replace(/(?<=[^s])s$/, "")
  .replace(/^(.{3,}?)([bdgmnprt])\2(?:ed|ing)$/, "$1$2").replace(/^(.{4,}?)(?:ed|ing)$/, "$1").replace(/^(.{4,})e$/, "$1");
const articles = ["article", "module", "tutorial"];

// Words of other libraries and of users, and ours.
const synonyms = {
  abort: ["cancel"], backoff: ["retry"], bearer: ["token"], body: ["collect"], callback: ["observer"], cert: ["certificate"],
  charset: ["encoding"], compression: ["coding", "gzip"], connectivity: ["offline"], curl: ["command"], devtools: ["inspector"],
  eventsource: ["events"], fixture: ["recording"], form: ["multipart"], har: ["archive"], header: ["fields"],
  headers: ["fields"], hsts: ["security"], http2: ["sockets"], image: ["images"], interceptor: ["interceptors"],
  keychain: ["credentials"], logger: ["logging"], login: ["authentication"], logout: ["signing out"], middleware: ["interceptors"],
  mocking: ["mocks"], mtls: ["client certificate"], oauth2: ["oauth"], pagination: ["pages"], paging: ["pages"],
  pause: ["resumption", "resuming"], pin: ["pinned"], pinning: ["pinned"], reachability: ["offline"],
  resume: ["resumable", "resumption", "resuming"], retries: ["retry"], signout: ["signing out"], sse: ["events"], ssl: ["tls"],
  stub: ["mocks"], throttle: ["limit"], trust: ["tls"], websockets: ["websocket"],
};

// What a module is worth: that which `import Martlet` has, modules beside it, and those that translate another API, which repeat
// its names: a word such as `retry` is meant there only if nothing else has it.
const translations = ["martletcombine", "martletcombinefoundation", "sapfoundation", "sapodata", "sapfoundationtesting", "martlettasks",
  "martlettaskstesting"];

// The types that every user of Martlet meets.
const main = ["httpsession", "httprequest", "requestoptions", "sessionconfiguration"];

function weight(url) {
  const [, module, type] = url.split("/");
  if (url.startsWith("tutorials/") || module === "martlet") return main.includes(type) ? 1.3 : 1;
  return translations.includes(module) ? .4 : .7;
}

// Makes what is compared in lower case, once.
export function prepare(pages) {
  return pages.map((page) => ({
    page,
    weight: weight(page.url),
    module: page.url.split("/")[1],
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
  if (isArticle && entry.headings.some((heading) => heading.includes(root))) return 90;
  if (entry.title.startsWith(word)) return 40;
  if (entry.title.includes(word)) return 25;
  if (entry.abstract.includes(word)) return isArticle ? 30 : 8;
  return entry.text.includes(word) ? 10 : 0;  // only articles and programs have text
}

// What a word, or another word for the same, is worth on a page.
function best(entry, word) {
  const others = (Object.hasOwn(synonyms, word) ? synonyms[word] : []).map((other) => {
    const scores = words(other).map((part) => score(entry, part));
    return scores.includes(0) ? 0 : .9 * Math.min(...scores);
  });
  return Math.max(score(entry, word), ...others);
}

// Whether two words differ by one letter that is missing, added, another one, or exchanged with the next.
export function differByOne(a, b) {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [left, right] = [a.slice(start), b.slice(start)];
  return left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1)
    || (left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2));
}

// The words of titles and headings, with the number of pages that have them.
function vocabulary(entries) {
  const counts = new Map();
  for (const { page } of entries) {
    const own = new Set([page.title.replace(/([a-z0-9])([A-Z])/g, "$1 $2"), ...page.headings].flatMap(words));
    for (const word of own) counts.set(word, (counts.get(word) ?? 0) + (articles.includes(page.kind) ? 10 : 1));
  }
  for (const word of Object.keys(synonyms)) counts.set(word, counts.get(word) ?? 1);
  return counts;
}

// The word that is meant by one that no page has: the most frequent one that differs by one letter; itself if there is none.
function corrected(entries, word) {
  if (word.length < 4 || entries.some((entry) => best(entry, word))) return word;
  const near = [...vocabulary(entries)].filter(([known]) => known.length > 3 && differByOne(word, known));
  return near.sort((a, b) => b[1] - a[1])[0]?.[0] ?? word;
}

// The pages that have every word of the query, best first, and the words that were searched: one with a typing error is
// corrected. Of pages that are worth the same, short titles come before long ones.
export function search(entries, query) {
  const wanted = words(query).map((word) => corrected(entries, word));
  if (wanted.length === 0) return { pages: [], wanted };
  const phrase = query.trim().toLowerCase();
  const found = [];
  for (const entry of entries) {
    const scores = wanted.map((word) => best(entry, word));
    if (scores.includes(0)) continue;
    // A module that the query names is meant.
    const isNamed = wanted.some((word) => word.length > 2 && entry.module.includes(word) && word !== "martlet");
    let total = scores.reduce((sum, value) => sum + value, 0) * (isNamed ? 1.2 : entry.weight);
    if (entry.title === phrase) total += 100 * entry.weight;
    if (articles.includes(entry.page.kind)) total += 5;
    found.push({ page: entry.page, total });
  }
  found.sort((a, b) => b.total - a.total || a.page.title.length - b.page.title.length);
  return { pages: found.map((result) => result.page), wanted };
}
