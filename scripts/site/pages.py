"""Completes the site that docc has made: the page that lists the modules, a link to the search page on every page, and the
index of the search page.

    scripts/site/pages.py SITE MODULE TEMPLATE

TEMPLATE is the page of docc with the link. All pages have the same HTML, and load their content.
"""
import json
import pathlib
import sys

site, umbrella, template = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).read_bytes()
data = site / "data"
# The kinds of content that stand within a line.
INLINE = {"text", "codeVoice", "reference", "emphasis", "strong", "newTerm", "image", "superscript", "subscript", "strikethrough"}


def read(path):
    return json.loads(path.read_text())


def complete_landing_page():
    """Lets it begin like the umbrella's page: with the description, the overview and the articles."""
    path = data / "documentation.json"
    landing, module = read(path), read(data / "documentation" / f"{umbrella.lower()}.json")
    sections = {section["title"]: section for section in module["topicSections"]}
    first, last = sections["Start here"], sections["Coming from another library"]
    landing["abstract"] = module["abstract"]
    landing["primaryContentSections"] = module["primaryContentSections"]
    landing["topicSections"] = [first, *landing["topicSections"], last]
    for name, reference in module["references"].items():
        landing["references"].setdefault(name, reference)
    path.write_text(json.dumps(landing))


def text(value, references):
    """The text of a part of a page, with the titles of what it links to."""
    if isinstance(value, list):
        is_line = all(isinstance(part, dict) and part.get("type") in INLINE for part in value)
        return ("" if is_line else " ").join(text(part, references) for part in value)
    if not isinstance(value, dict):
        return ""
    if value.get("type") == "reference":
        return references.get(value["identifier"], {}).get("title", "")
    own = [value[key] for key in ("text", "code") if isinstance(value.get(key), str)]
    own += value["code"] if isinstance(value.get("code"), list) else []
    return " ".join(own + [text(part, references) for part in value.values() if isinstance(part, (list, dict))])


def headings(value):
    if isinstance(value, list):
        return [heading for part in value for heading in headings(part)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if value.get("type") == "heading" else []
    return own + [heading for part in value.values() for heading in headings(part)]


def kind(page):
    metadata = page["metadata"]
    if metadata.get("symbolKind") == "module" or metadata.get("role") == "collection":
        return "module"
    if page["kind"] == "symbol":
        return metadata.get("roleHeading", "symbol").lower()
    if page["kind"] in ("overview", "project"):
        return "tutorial"
    return "program" if metadata["title"].endswith(".swift") else "article"


def title(page):
    """The title; that of a member begins with its type's name."""
    own, paths = page["metadata"]["title"], page["hierarchy"].get("paths") or [[]]
    names = paths[0]
    parent = page["references"].get(names[-1], {}).get("title", "") if len(names) > 1 else ""
    is_member = page["kind"] == "symbol" and parent and not own.startswith(f"{parent}.")
    return f"{parent}.{own}" if is_member else own


def entry(path):
    """What the search page knows of a page. Of a symbol that is only its abstract: there are thousands."""
    page = read(path)
    references, content = page.get("references", {}), page.get("primaryContentSections", []) + page.get("sections", [])
    is_symbol = page["kind"] == "symbol" and kind(page) != "module"
    abstract = " ".join(text(page.get("abstract", []), references).split())
    if page["metadata"]["title"].endswith(" Implementations") or abstract.startswith("Inherited from "):
        return None  # docc's lists of inherited members, and these members
    return {
        "title": title(page),
        "kind": kind(page),
        "url": str(path.relative_to(data).with_suffix("")) + "/",
        "headings": [] if is_symbol else headings(content),
        "abstract": abstract,
        "text": "" if is_symbol else " ".join(text(content, references).split()),
    }


complete_landing_page()
for path in [*(site / "documentation").rglob("index.html"), *(site / "tutorials").rglob("index.html")]:
    path.write_bytes(template)
pages = sorted([*(data / "documentation").rglob("*.json"), *(data / "tutorials").rglob("*.json")])
index = [found for found in map(entry, pages) if found]
(site / "search").mkdir(exist_ok=True)
(site / "search" / "index.json").write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))
