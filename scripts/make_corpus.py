#!/usr/bin/env python3
"""Makes the demonstration corpus: English prose from the documentation packages of the distribution.

The packages are fetched with `apt-get download` into a temporary folder and unpacked there; nothing
is installed. Their HTML, text, POD and manual pages are cut down to paragraphs that read as English
sentences: navigation, code, tables, licences, other languages and repeated paragraphs go. The result
has the shape of C4, so that whatever works on it works on C4:

    OUT/corpus-00000.json.gz ...    one {"text", "timestamp", "url"} a line
    OUT/manifest.json               packages with versions, sizes; written last

The same packages give the same bytes. A finished OUT is left alone unless --force is given. Without
apt, or with --installed, the documentation found on this machine serves instead.

    scripts/make_corpus.py --out data/corpus
    dashlm tokenize data/corpus --train-tokenizer 4096 --out data/demo
"""

import argparse
import gzip
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = 1  # of the cleaning below; another one makes a finished corpus out of date

# Of each line the first package that exists is taken; names with versions differ by distribution.
PACKAGES = """
debian-reference-en
developers-reference
debian-policy
debian-faq
harden-doc
maint-guide
apt-doc
aptitude-doc-en
jargon-text
git-doc
postgresql-doc-15 postgresql-doc-14 postgresql-doc-16 postgresql-doc-17
python3.11-doc python3.10-doc python3.12-doc python3.13-doc
perl-doc
sqlite3-doc
cmake-doc
zsh-doc
bash-doc
apache2-doc
exim4-doc-html
postfix-doc
manpages
manpages-dev
r-doc-html
python-django-doc
python-sqlalchemy-doc
lilypond-doc-html
"""

MIN_BYTES = 5_000_000
FALLBACK_ROOTS = ["/usr/share/doc", "/usr/share/man", "/usr/share/help/C", "/usr/share/perl",
                  "/usr/share/vim"]


# ---------------------------------------------------------------------------------------------
# From a file to candidate paragraphs.

HTML_DROP = re.compile(
    r"<!--.*?-->|<(script|style|pre|table|nav|header|footer|head|svg|math|form|aside|code-block|"
    r"screen|listing)\b.*?</\1\s*>", re.S | re.I)
HTML_BLOCK = re.compile(
    r"</?(?:p|div|li|dd|dt|dl|ul|ol|h[1-6]|td|tr|th|blockquote|section|article|body|html|hr|"
    r"title|page|item|info|note|steps|list|terms|desc|credit|media|figure|synopsis)\b[^>]*>", re.I)
HTML_TAG = re.compile(r"<[^>]*>")
SPACE = re.compile(r"\s+")


def html_paragraphs(text):
    text = HTML_DROP.sub(" ", text)
    for block in HTML_BLOCK.split(text):
        if len(block) > 40:
            yield html.unescape(HTML_TAG.sub("", block))


def text_paragraphs(text):
    text = re.sub(r".\x08", "", text)  # overstriking
    yield from re.split(r"\n\s*\n", text)


POD_CODE = re.compile(r"[A-Z]<<+\s+(.*?)\s+>>+|[A-DF-KM-Z]<([^<>]*)>", re.S)
POD_LINK = re.compile(r"L<(?:([^|<>]*)\|)?([^<>]*)>", re.S)
POD_ENTITY = {"lt": "<", "gt": ">", "verbar": "|", "sol": "/", "eacute": "\u00e9"}


def pod_paragraphs(text):
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if paragraph[:1].isspace() or paragraph.startswith("="):  # code, directives
            continue
        for _ in range(3):  # from the innermost outwards
            paragraph = POD_CODE.sub(lambda m: m.group(1) or m.group(2) or "", paragraph)
            paragraph = POD_LINK.sub(lambda m: m.group(1) or m.group(2), paragraph)
        yield re.sub(r"E<(\w+)>", lambda m: POD_ENTITY.get(m.group(1), ""), paragraph)


MAN_ESCAPE = re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\s[-+]?\d+|\\[&:|^/,%]|\\m\[\w*\]")
MAN_CHARS = {"\\-": "-", "\\e": "\\", "\\(em": "\u2014", "\\(en": "\u2013", "\\ ": " ", "\\~": " ",
             "\\(aq": "'", "\\(cq": "'", "\\(oq": "'", "\\(lq": '"', "\\(rq": '"', "\\(dq": '"',
             "\\(bu": "", "\\(ti": "~", "\\(ha": "^", "\\'": "'", "\\`": "`", "\\(co": "(c)"}


def man_line(line):
    line = MAN_ESCAPE.sub("", re.sub(r"\\\[(\w\w)\]", r"\\(\1", line))
    for escape, char in MAN_CHARS.items():
        line = line.replace(escape, char)
    return line


def man_paragraphs(text):
    words, code = [], False
    for line in text.split("\n"):
        macro = re.match(r"[.']\s*([A-Za-z]+|\\\")\s*(.*)", line)
        name = macro.group(1) if macro else None
        if name in ("nf", "EX", "TS"):
            code = True
        elif name in ("fi", "EE", "TE"):
            code = False
        elif code:
            continue
        elif macro and name in ("B", "I", "BR", "IR", "BI", "RB", "IB", "RI", "SM"):
            arguments = re.findall(r'"([^"]*)"|(\S+)', macro.group(2))
            separator = " " if name in ("B", "I", "SM") else ""
            words.append(man_line(separator.join(a or b for a, b in arguments)))
        elif macro or not line.strip():
            if not macro or name in ("PP", "P", "LP", "TP", "IP", "HP", "SH", "SS", "sp", "RS", "RE",
                                     "TQ", "TH"):
                yield " ".join(words)
                words = []
        else:
            words.append(man_line(line))
    yield " ".join(words)


LANGUAGE = (r"(?:ar|bg|bn|ca|cs|da|de|el|eo|es|et|eu|fa|fi|fr|gl|he|hi|hr|hu|id|it|ja|jp|ka|ko|lt|"
            r"lv|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sr|sv|ta|te|th|tr|uk|vi|zh)(?:[-_][A-Za-z]{2,4})?")
OTHER_LANGUAGE = re.compile(rf"/{LANGUAGE}/|[._-]{LANGUAGE}(?:[._-](?:utf-?8|iso[-\w]*|euc[-\w]*))?"
                            r"(?:\.html?|\.txt|\.gz|\.xml|$)", re.I)
UNWANTED = re.compile(r"changelog|/copyright|news|licen[sc]e|genindex|/_sources/|/_modules/|authors|"
                      r"credits|thanks|release-?notes|whatsnew|/changes|contributors|bookindex", re.I)


def reader_of(path):
    """The function that splits such a file into paragraphs, or None for others."""
    name = re.sub(r"\.gz$", "", path)
    if UNWANTED.search(path) or OTHER_LANGUAGE.search(path):
        return None
    if "/help/" in path and "/help/C/" not in path:
        return None
    if re.search(r"\.(x?html?|html\.en|page)$", name):
        return html_paragraphs
    if re.search(r"\.pod$", name):
        return pod_paragraphs
    if re.search(r"/man/man\d/[^/]+\.\d(?!perl)\w*$", name):
        return man_paragraphs
    if re.search(r"\.(txt|rst|text)$|/README[^/.]*$", name):
        return text_paragraphs
    return None


def read_text(path, limit=8_000_000):
    try:
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as file:
            raw = file.read(limit)
    except (OSError, EOFError):
        return ""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


# ---------------------------------------------------------------------------------------------
# Which paragraphs read as English prose.

COMMON_WORD = re.compile(r"\b(?:" + "|".join((
    "the of to and a in is that for it as with are be on this by can you an or if not from which "
    "have will at when has was use used your but one all more they there may these any other also "
    "such than its some how into only no then so we i he his were had their been do does what who "
    "would should must could each between").split()) + r")\b")
WORD = re.compile(r"[A-Za-z][A-Za-z'\u2019-]*")
CAPITALS = re.compile(r"[A-Z]")
OTHER_SCRIPTS = re.compile("[^\u0000-\u024f\u2018\u2019\u201c\u201d\u2013\u2014\u2026]")
SYMBOLS = re.compile(r"[{}<>|=_\\@#$%^*~\[\]+/&`]")
BOILERPLATE = re.compile(
    r"copyright|\(c\) \d|all rights reserved|licen[sc]ed? |warrant(?:y|ies)|permission is (?:hereby )?"
    r"granted|free software foundation|table of contents|previous topic|next topic|this page|"
    r"last updated|generated (?:by|on)|javascript|click here|see also|isbn|mailto:|bug ?report|"
    r"all versions of|trademark")


def is_prose(text):
    if not 80 <= len(text) <= 6000 or text[-1] not in ".!?:)\"\u201d'":
        return False
    if not (text[0].isupper() or text[0] in "\"\u201c'("):
        return False
    words = WORD.findall(text)
    if len(words) < 12:
        return False
    dense = len(text) - text.count(" ")
    lower = text.lower()
    common = len(COMMON_WORD.findall(lower))
    return (len("".join(words)) >= 0.85 * dense and common >= 0.28 * len(words) and
            len(SYMBOLS.findall(text)) <= 0.015 * len(text) and
            len(OTHER_SCRIPTS.findall(text)) <= 0.005 * len(text) and
            len(CAPITALS.findall(text)) <= 0.12 * dense and not BOILERPLATE.search(lower))


CHARACTERS = str.maketrans({"\u00a0": " ", "\u2011": "-", "\u00ad": None, "\ufeff": None,
                            "\u200b": None, "\u2010": "-", "\u00b6": None})
FINGERPRINT = re.compile(r"[^a-z]+")


class Cleaner:
    """Turns files into documents; remembers the paragraphs it has let through."""

    def __init__(self):
        self.seen = set()

    def document(self, path, reader):
        kept = []
        for paragraph in reader(read_text(path)):
            text = SPACE.sub(" ", paragraph.translate(CHARACTERS)).strip()
            if not is_prose(text):
                continue
            letters = FINGERPRINT.sub("", text.lower())  # the same but for numbers and dots is seen
            digest = hashlib.blake2b(letters.encode(), digest_size=8).digest()
            if digest not in self.seen:
                self.seen.add(digest)
                kept.append(text)
        text = "\n".join(kept)
        return text if len(text) >= 400 else None

    def documents(self, root, label):
        files = []
        for folder, folders, names in os.walk(root):
            folders.sort()
            files += [os.path.join(folder, name) for name in names]
        for path in sorted(files):
            relative = "/" + os.path.relpath(path, root)
            reader = reader_of(relative if label else path)
            if reader is None or os.path.islink(path) or not os.path.isfile(path):
                continue
            text = self.document(path, reader)
            if text:
                yield {"text": text, "timestamp": "2020-01-01T00:00:00Z",
                       "url": f"{label}{relative}" if label else f"file://{path}"}


# ---------------------------------------------------------------------------------------------
# Where the files come from.

def available(names):
    """(name, version, bytes) of the packages that apt knows of."""
    if not shutil.which("apt-cache"):
        return []
    result = subprocess.run(["apt-cache", "show", "--no-all-versions", *names],
                            capture_output=True, text=True, timeout=120, check=False)
    found = []
    for entry in result.stdout.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Size): (.*)$", entry, re.M))
        if len(fields) == 3:
            found.append((fields["Package"], fields["Version"], int(fields["Size"])))
    return found


def choose(lines, max_bytes):
    known = {name: (name, version, size)
             for name, version, size in available(" ".join(lines).split())}
    chosen, total = [], 0
    for line in lines:
        name = next((name for name in line.split() if name in known), None)
        if name is None:
            warn(f"no package {line.replace(' ', ' or ')}; going on without")
        elif total + known[name][2] > max_bytes:
            warn(f"{name} would exceed the download limit; going on without")
        else:
            total += known[name][2]
            chosen.append(known[name])
    return chosen


def tally(documents):
    return {"documents": len(documents),
            "text_bytes": sum(len(d["text"].encode("utf-8")) for d in documents)}


def package_documents(cleaner, packages, counts):
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        say(f"downloading {sum(p[2] for p in packages) / 1e6:.0f} MB in {len(packages)} packages")
        for name, version, _ in packages:
            command = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root",
                       f"{name}={version}"]
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                      timeout=300, check=False)
                reason = done.stderr.strip() if done.returncode else ""
            except subprocess.TimeoutExpired:
                reason = "it took longer than 300 s"
            archives = list(Path(folder).glob("*.deb"))
            if reason or not archives:
                warn(f"cannot download {name}: {reason}; going on without")
                continue
            tree = os.path.join(folder, "tree")
            subprocess.run(["dpkg-deb", "-x", str(archives[0]), tree], check=True)
            found = list(cleaner.documents(tree, f"package://{name}"))
            counts[name] = {"version": version, **tally(found)}
            say(f"{name} {version}: {counts[name]['text_bytes'] / 1e6:.2f} MB of prose")
            shutil.rmtree(tree)
            archives[0].unlink()
            yield from found


def installed_documents(cleaner, counts):
    for root in FALLBACK_ROOTS:
        if os.path.isdir(root):
            found = list(cleaner.documents(root, ""))
            counts[root] = tally(found)
            say(f"{root}: {counts[root]['text_bytes'] / 1e6:.2f} MB of prose")
            yield from found


# ---------------------------------------------------------------------------------------------

def write_shard(path, documents):
    temporary = path.with_name("." + path.name)
    with open(temporary, "wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            for document in documents:
                packed.write((json.dumps(document, ensure_ascii=False) + "\n").encode("utf-8"))
    os.replace(temporary, path)


def write_corpus(out, documents, counts, shards):
    # By hash rather than by package, so that any part of the corpus is like the whole.
    documents.sort(key=lambda d: hashlib.sha256(d["url"].encode()).digest())
    for old in out.glob("corpus-*.json.gz"):
        old.unlink()
    for i in range(shards):
        write_shard(out / f"corpus-{i:05d}.json.gz", documents[i::shards])
    manifest = {"version": VERSION, **tally(documents), "shards": shards, "sources": counts}
    temporary = out / ".manifest.json"
    temporary.write_text(json.dumps(manifest, indent=2) + "\n")
    os.replace(temporary, out / "manifest.json")
    return manifest


def finished(out):
    try:
        return json.loads((out / "manifest.json").read_text())["version"] == VERSION
    except (OSError, ValueError, KeyError, TypeError):
        return False


def say(message):
    print(message, file=sys.stderr, flush=True)


def warn(message):
    say(f"warning: {message}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory of the corpus")
    parser.add_argument("--shards", type=int, default=8, help="number of files (8)")
    parser.add_argument("--max-download-mb", type=float, default=100,
                        help="limit for all packages together (100)")
    parser.add_argument("--installed", action="store_true",
                        help="use the documentation on this machine, download nothing")
    parser.add_argument("--force", action="store_true", help="make a finished corpus again")
    arguments = parser.parse_args()

    if finished(arguments.out) and not arguments.force:
        say(f"{arguments.out} is finished already; --force makes it again")
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "manifest.json").unlink(missing_ok=True)

    cleaner, counts, documents = Cleaner(), {}, []
    if not arguments.installed and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        packages = choose(PACKAGES.strip().splitlines(), arguments.max_download_mb * 1e6)
        documents += package_documents(cleaner, packages, counts)
        if not packages:
            warn("apt knows none of the packages; perhaps `apt-get update` was never run")
    if not documents:
        documents += installed_documents(cleaner, counts)

    total = sum(source["text_bytes"] for source in counts.values())
    if total < MIN_BYTES:
        say(f"error: found only {total / 1e6:.1f} MB of prose, but {MIN_BYTES / 1e6:.0f} MB are "
            "needed; run `apt-get update` and check the network, or use any .txt or .jsonl files "
            "of your own with `dashlm tokenize`")
        return 1
    manifest = write_corpus(arguments.out, documents, counts, arguments.shards)
    say(f"{arguments.out}: {manifest['documents']} documents, {total / 1e6:.1f} MB of prose")
    return 0


if __name__ == "__main__":
    sys.exit(main())
