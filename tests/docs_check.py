#!/usr/bin/env python3
"""Checks what pages and comments say about the project against the project.

- every path of the project that a page or a comment names exists;
- every name in `code` and every option (--name) on a page occurs in the sources;
- every config key that a page or a comment names, such as `train.lr`, is listed in docs/config.md,
  and docs/config.md is what `dashlm config --markdown` prints (with --dashlm);
- links between pages lead to a page and a heading that exist;
- no line of prose in a page is longer than MAX_COLUMNS. Tables, code and single long words may be.

Usage: docs_check.py [ROOT] [--dashlm PROGRAM] [--write]. Prints FILE:LINE: what is wrong; exit code
1 if anything is. With --write it writes docs/config.md instead of comparing it.
"""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys

MAX_COLUMNS = 100
TOP_FOLDERS = r"(?:src|tests|docs|scripts|configs|experiments|bench|cmake|examples|\.ci)"
GENERATED = {"docs/results.md", "docs/config.md"}  # their lines are as long as they come
CODE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".sbatch", ".cmake", ".txt", ".json"}
CONFIG_MARKS = ("<!-- config -->\n", "<!-- /config -->\n")
SECTIONS = r"(?:model|data|train|eval|checkpoint|optimizer)"

# Names of other programs, files that scripts make, and words that are examples.
EXCEPTIONS = {"--pid", "--ipc", "ORTE_ERROR_LOG", "mkl_serv_intel_cpu_true",
              "gpu_check/gpu_check.sh", "report.md", "CamelCase", "snake_case", "chunk_0001"}

# A path from the root; a file by the end of its path; and words that stand for any name.
PATH = re.compile(rf"(?<![\w./{{}}-])({TOP_FOLDERS}/[\w./*{{}},-]*[\w*}}])")
FILE = re.compile(r"(?<![\w.*{}=-])((?:[\w-]+/)*[\w-]+\.(?:h|cpp|cu|cuh|md|py|sh|cmake|sbatch))\b(?![\w(/-])")
PLACEHOLDER = re.compile(r"(?:^|.*/)(?:NAME|PATH|FILE|DIR|X+|[a-z])(?:\.\w+)?(?:/.*|$)")
KEY = re.compile(rf"(?<![\w./])({SECTIONS}(?:\.[a-z][a-z0-9_]*)+)(?![\w(/*])")
# `Type::function`, `snake_case` or `CamelCase`; an option.
NAME = re.compile(r"`(\w+(?:::\w+)+|[A-Za-z]\w*_\w+|[A-Z]\w*[a-z]\w*[A-Z]\w*)(?:\(\))?`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
SET = re.compile(r"--set ([a-z][\w.]*)=")
# Files that happen to be called like a section of the config.
NO_KEY = re.compile(r"\.(?:h|cpp|cu|cuh|md|py|sh|json|jsonl|txt|bin|png|safetensors)$")


def expanded(path):
    """src/{a,b}/c as [src/a/c, src/b/c]."""
    parts = re.split(r"\{([^}]*)\}", path)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Page:
    """A Markdown page: its lines with their numbers, and which of them are code."""

    def __init__(self, root, path):
        self.path = path
        self.lines = (root / path).read_text(encoding="utf-8").splitlines()
        self.code, self.anchors, inside = [], set(), False
        for line in self.lines:
            fence = line.lstrip().startswith("```")
            self.code.append(inside or fence)
            inside ^= fence
            heading = re.match(r"#+ (.*)", line)
            if heading and not inside:
                self.anchors.add(slug(heading.group(1)))


class Project:
    def __init__(self, root):
        self.root = root
        folders = [p for p in root.iterdir()
                   if p.is_dir() and re.fullmatch(TOP_FOLDERS, p.name)]
        self.files = {str(p.relative_to(root)) for f in folders for p in f.rglob("*")
                      if "__pycache__" not in p.parts}
        self.files |= {p.name for p in root.iterdir()} | {f.name for f in folders}
        self.endings = {"/" + name for name in self.files}
        self.pages = {str(p.relative_to(root)): Page(root, p.relative_to(root))
                      for p in itertools.chain(root.glob("*.md"), (root / "docs").glob("*.md"),
                                               (root / "examples").rglob("*.md"))}
        own = str(pathlib.Path(__file__).resolve())
        self.code = {name: (root / name).read_text(encoding="utf-8") for name in sorted(self.files)
                     if pathlib.Path(name).suffix in CODE_SUFFIXES and (root / name).is_file()
                     and not name.startswith("experiments/results/") and str(root / name) != own}
        self.words = EXCEPTIONS | {pathlib.PurePath(name).stem for name in self.files}
        self.options = {*EXCEPTIONS, "--dashlm", "--write"}  # with the options of this script
        self.foreign = set()  # headers of libraries
        for text in self.code.values():
            self.words.update(re.findall(r"\w+", text))
            self.options.update(OPTION.findall(text))
            self.foreign.update(pathlib.PurePath(header).name
                                for header in re.findall(r"#include <([^>]+)>", text))
        self.keys = config_keys(self.pages["docs/config.md"].lines
                                if "docs/config.md" in self.pages else [])

    def has_path(self, path):
        path = path.rstrip("/")
        if PLACEHOLDER.match(path):
            return True
        if "*" in path:
            return any(self.root.glob(path))
        return path in self.files

    def has_file(self, name):
        """A file named by the end of its path: blocks.h, dist/mpi/peers.h."""
        known = EXCEPTIONS | self.foreign
        if PLACEHOLDER.match(name) or name in known or pathlib.PurePath(name).name in known:
            return True
        return any(ending.endswith("/" + name) for ending in self.endings)


def config_keys(lines):
    """All keys of docs/config.md. A heading says where the keys of its table belong."""
    keys, prefix = set(), ""
    for line in lines:
        heading = re.match(r"#+ With \"(\w+)\"", line)
        if heading:
            prefix = {"optimizer": "optimizer.", "inverse_root": "optimizer.inverse_root."}[
                heading.group(1)]
        row = re.match(r"\| (?:`|\*\*)([\w.]+)(?:`|\*\*) \|", line)
        if row:
            keys.add(prefix + row.group(1))
    return keys


def comments(text, suffix):
    """(line, comment) of a source file. Lines of a docstring are comments too."""
    if suffix not in {".h", ".cpp", ".cu", ".cuh", ".json"}:
        quoted = False
        for number, line in enumerate(text.splitlines(), 1):
            quotes = line.count('"""')
            if quoted or quotes or "#" in line:
                yield number, line if quoted or quotes else line[line.index("#"):]
            quoted ^= quotes % 2 == 1
        return
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.search(r"(?<![:\"])//.*", line)
        if comment:
            yield number, comment.group()


def check_words(project, text):
    """Yields what is wrong with the paths and keys of one line."""
    for path in PATH.findall(text):
        for one in expanded(path):
            if not project.has_path(one):
                yield f'"{one}" does not exist'
    for name in FILE.findall(PATH.sub("", text)):
        if not project.has_file(name):
            yield f'there is no file "{name}"'
    for key in dict.fromkeys(KEY.findall(text) + SET.findall(text)):
        if project.keys and not NO_KEY.search(key) and key not in project.keys:
            yield f'"{key}" is no config key (docs/config.md lists them)'


def check_names(project, text):
    """Yields what is wrong with the names of code and the options of a page's line."""
    for name in NAME.findall(text):
        for part in name.split("::"):
            if part not in project.words:
                yield f'no source has the name "{part}"'
    for option in OPTION.findall(text):
        if option not in project.options:
            yield f'no source has the option "{option}"'


def check_link(project, page, target):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    name = str(page.path)
    if path:
        found = (project.root / page.path.parent / path).resolve()
        if not found.exists():
            return f"link to {path}, which does not exist"
        name = str(found.relative_to(project.root))
    if anchor and name in project.pages and anchor not in project.pages[name].anchors:
        return f'{name} has no heading for "#{anchor}"'
    return None


def too_long(line):
    words = line.strip().lstrip("-*>0123456789. ").split(" ")
    return len(line) > MAX_COLUMNS and len(words) > 1


def check_page(project, page):
    generated = str(page.path) in GENERATED
    for number, (line, code) in enumerate(zip(page.lines, page.code), 1):
        table = line.lstrip().startswith("|")
        if not code and not table and not generated and too_long(line):
            yield number, f"{len(line)} columns, more than {MAX_COLUMNS}"
        for message in itertools.chain(check_words(project, line), check_names(project, line)):
            yield number, message
        for target in [] if code else LINK.findall(line):
            message = check_link(project, page, target)
            if message:
                yield number, message


def config_page(root, program, write):
    """What is wrong with docs/config.md beside what the program prints, or None."""
    path = root / "docs" / "config.md"
    printed = subprocess.run([program, "config", "--markdown"], check=True, text=True,
                             capture_output=True).stdout
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(CONFIG_MARKS[0])
    _, end, after = rest.partition(CONFIG_MARKS[1])
    if not begin or not end:
        return "a mark is missing: " + " ".join(mark.strip() for mark in CONFIG_MARKS)
    wanted = before + begin + printed.rstrip() + "\n" + end + after
    if write:
        path.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        return f"is not what dashlm prints: tests/docs_check.py --dashlm {program} --write"
    return None


def faults(project):
    for name, page in sorted(project.pages.items()):
        for number, message in check_page(project, page):
            yield name, number, message
    for name, text in project.code.items():
        for number, comment in comments(text, pathlib.Path(name).suffix):
            for message in check_words(project, comment):
                yield name, number, message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    parser.add_argument("--dashlm", help="the program, to compare docs/config.md with")
    parser.add_argument("--write", action="store_true", help="write docs/config.md")
    options = parser.parse_args()
    root = options.root.resolve()
    found = []
    if options.dashlm:
        message = config_page(root, options.dashlm, options.write)
        found += [("docs/config.md", 1, message)] if message else []
    project = Project(root)
    found += faults(project)
    for name, number, message in found:
        print(f"{name}:{number}: {message}")
    print(f"{len(project.pages)} pages, {len(project.code)} sources, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
