"""Completes the site that docc has made: the page that lists the modules, and the index of the search page.

    scripts/site/pages.py SITE MODULE
"""
import json
import pathlib
import sys

site, umbrella = pathlib.Path(sys.argv[1]), sys.argv[2]
data = site / "data"


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
        return " ".join(text(part, references) for part in value)
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
    if page["kind"] == "symbol" and page["metadata"].get("symbolKind") != "module":
        return "symbol"
    if page["metadata"]["title"].endswith(".swift"):
        return "program"
    return page["metadata"].get("role", page["kind"]).replace("collection", "module")


def entry(path):
    page = read(path)
    references, content = page.get("references", {}), page.get("primaryContentSections", [])
    is_symbol = kind(page) == "symbol"
    return {
        "title": page["metadata"]["title"],
        "kind": kind(page),
        "url": str(path.relative_to(data).with_suffix("")) + "/",
        "headings": [] if is_symbol else headings(content),
        "abstract": " ".join(text(page.get("abstract", []), references).split()),
        "text": "" if is_symbol else " ".join(text(content, references).split()),
    }


complete_landing_page()
index = [entry(path) for path in sorted((data / "documentation").rglob("*.json"))]
(site / "search").mkdir(exist_ok=True)
(site / "search" / "index.json").write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))
