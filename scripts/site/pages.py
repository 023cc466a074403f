"""Completes the site that docc has made: its first page, the page that lists the modules, a title and a link to the search page on
every page, and the index of the search page.

    scripts/site/pages.py SITE MODULE TEMPLATE

TEMPLATE is the page of docc with the link. All pages have the same HTML, and load their content.
"""
import html
import json
import pathlib
import shutil
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


# Code has room for its longest lines in a window of 1,280 pixels; in a narrower one, lines are wrapped.
STYLE = b"""<style>
  .code-listing pre, .code-listing code { font-size: 12.5px !important; white-space: pre-wrap !important; overflow-wrap: anywhere; }
</style></head>"""


def page_html(path):
    """The HTML of a page: docc's, with the page's title, which docc's own script sets only later."""
    place = data / path.parent.relative_to(site).with_suffix(".json")
    name = read(place)["metadata"]["title"] if place.is_file() else umbrella
    name = name if name == umbrella else f"{name} | {umbrella}"
    return replaced(replaced(template, b"<title>Documentation</title>", f"<title>{html.escape(name)}</title>".encode()), b"</head>", STYLE)


def replaced(bytes, old, new):
    if old not in bytes:
        sys.exit(f"the pages of docc do not contain {old.decode()}")
    return bytes.replace(old, new, 1)


def name_the_site():
    """docc's script ends each title with "Documentation"."""
    scripts = [path for path in (site / "js").glob("index.*.js") if b'"title"],"Documentation")' in path.read_bytes()]
    if len(scripts) != 1:
        sys.exit("the script of docc does not set titles as expected")
    old = b'"title"],"Documentation")'
    scripts[0].write_bytes(replaced(scripts[0].read_bytes(), old, f'"title"],{json.dumps(umbrella)})'.encode()))


def make_first_page():
    """The page at the root: what Martlet is, with a call, its story and a picture."""
    root = pathlib.Path(__file__).resolve().parents[2]
    call = (root / "README.md").read_text().split("```swift\n")[1].split("```")[0].strip()  # compiled by scripts/examples
    story = (root / "scripts" / "site" / "story.txt").read_text().strip()
    page = (root / "scripts" / "site" / "landing.html").read_text()
    page = page.replace("CALL", html.escape(call, quote=False))
    lines = [f'<span class="notice">{line}</span>' if " again " in line else line for line in html.escape(story, quote=False).split("\n")]
    (site / "index.html").write_text(page.replace("STORY", "\n".join(lines)))
    shutil.copy(root / ".github" / "inspector.png", site / "inspector.png")


complete_landing_page()
name_the_site()
make_first_page()
for path in [*(site / "documentation").rglob("index.html"), *(site / "tutorials").rglob("index.html")]:
    path.write_bytes(page_html(path))
pages = sorted([*(data / "documentation").rglob("*.json"), *(data / "tutorials").rglob("*.json")])
index = [found for found in map(entry, pages) if found]
(site / "search").mkdir(exist_ok=True)
(site / "search" / "index.json").write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))
