"""Adds a page for each program in Snippets to the catalogues of docc, made from the file: its first comment, code and output.

    scripts/site/programs.py CATALOGUE

In the Markdown files of the catalogue, the name of a program, `Snippets/FirstRequest.swift`, becomes a link to its page.
"""
import pathlib
import re
import sys

catalogue = pathlib.Path(sys.argv[1])
overview = "CompletePrograms"
not_programs = {"ReadMe"}  # compiles the blocks of README.md
mention = re.compile(r"`Snippets/([A-Za-z]+)\.swift`")


def fail(text):
    sys.exit(f"programs: {text}")


def parts(file):
    """The first comment as a line, the code, and the lines that the program prints."""
    head, _, code = file.read_text().partition("\n\n")
    lines = head.split("\n")
    if not all(line.startswith("// ") for line in lines):
        fail(f"{file} has no comment at its beginning: write what the program does")
    code, _, printed = code.partition("\n// Prints:\n")
    output = "\n".join(line.removeprefix("//").removeprefix(" ") for line in printed.rstrip().split("\n"))
    return " ".join(line.removeprefix("// ") for line in lines), code.strip(), output


def how_to_run(name, code, output):
    modules = re.findall(r"^import (Martlet\w*|SAP\w*)$", code, re.MULTILINE)
    needs = " and ".join(f"`{module}`" for module in dict.fromkeys(modules))
    if output:
        text = f"In a checkout of Martlet:\n\n```\nswift run {name}\n```\n\nIt needs no network: its servers are its own."
    else:
        folders = sorted({link.parts[2] for link in pathlib.Path().glob(f"*/Tests/**/{name}.swift") if link.is_symlink()})
        if not folders:
            fail(f"Snippets/{name}.swift neither says what it prints nor is linked into a test target")
        text = f"The tests run it:\n\n```\nmake test ARGS=\"--filter {folders[0]}\"\n```"
    return f"{text}\n\nIn a package of your own, it needs {needs}: <doc:FirstRequest> says how to add a product."


def page(file, articles):
    description, code, output = parts(file)
    sections = [f"# {file.name}", description, "## Overview", f"```swift\n{code}\n```"]
    if output:
        sections += ["### What it prints", f"```\n{output}\n```"]
    sections += ["### How to run it", how_to_run(file.stem, code, output)]
    if articles:
        sections += ["## See Also", "### Articles", "\n".join(f"- <doc:{name}>" for name in articles)]
    return "\n\n".join(sections) + "\n"


programs = {file.stem: file for file in sorted(pathlib.Path("Snippets").glob("*.swift")) if file.stem not in not_programs}
mentions = {name: [] for name in programs}
for article in sorted(catalogue.rglob("*.md")):
    text = article.read_text()
    for name in dict.fromkeys(mention.findall(text)):
        if name not in programs:
            fail(f"{article.name} names Snippets/{name}.swift, which does not exist")
        mentions[name].append(article.stem)
    article.write_text(mention.sub(r"<doc:\1-program>", text))

(catalogue / "Programs").mkdir()
for name, file in programs.items():
    if overview not in mentions[name]:
        fail(f"{overview}.md does not name Snippets/{name}.swift: put it into one of its groups")
    (catalogue / "Programs" / f"{name}-program.md").write_text(
        page(file, [article for article in mentions[name] if article != overview]))
