#!/usr/bin/env python3
"""Fails where a page reads badly: sentences of more than 20 words on average, one of more than 45, or a word that the
table in CONTRIBUTING.md has a better one for. Code, tables and headings are no sentences; words count in tables, too.
Usage: prose.py [FILE…]   all pages of the repository; --worst N FILE… shows the N longest sentences"""
import pathlib
import re
import subprocess
import sys

AVERAGE_MAX, WORDS_MAX = 20, 45


def without_code(text):
    """Comments, blocks and spans of code gone, line numbers kept."""
    blank = lambda found: re.sub(r"[^\n]", "", found[0])
    text = re.sub(r"<!--.*?-->|^ *```.*?^ *```", blank, text, flags=re.S | re.M)
    text = re.sub(r"(?<=\n\n)(?: {4}.*\n|\n)+", blank, text)
    return re.sub(r"`[^`]*`", lambda found: "CODE" + blank(found), text)


def sentences(text):
    text = re.sub(r"^(#|\|| *\|).*$", "\n", text, flags=re.M)
    for part in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s", text, flags=re.M):
        part = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(part.split()))
        for sentence in re.split(r"(?<=[.!?:])\)?\s+(?=[A-Z*(])", part):
            count = len(re.findall(r"[\w'’.,/-]*\w", sentence))
            if count > 2:
                yield count, sentence


def better_words():
    rows = re.findall(r"^\| ([^`]+) \| (`.+`) \|$", pathlib.Path("CONTRIBUTING.md").read_text(), flags=re.M)
    return [(word.replace(r"\|", "|"), good) for good, bad in rows for word in re.findall(r"`([^`]+)`", bad)]


def faults(name, better):
    text = without_code(pathlib.Path(name).read_text())
    found = list(sentences(text))
    if len(found) > 2 and (average := sum(count for count, _ in found) / len(found)) > AVERAGE_MAX:
        yield f"{name}: {average:.1f} words a sentence, at most {AVERAGE_MAX}"
    yield from (f"{name}: {count} words: {text[:70]}…" for count, text in found if count > WORDS_MAX)
    for number, line in enumerate(text.split("\n"), 1):
        for word, good in better:
            if found := re.search(rf"\b({word})\b", line, flags=re.I):
                yield f"{name}:{number}: '{found[0]}': write {good}"


def main(words):
    if words[:1] == ["--worst"]:
        for name in words[2:]:
            print(*sorted(sentences(without_code(pathlib.Path(name).read_text())))[-int(words[1]):], sep="\n")
        return 0
    names = words or subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    wrong = [fault for name in names for fault in faults(name, better_words())]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return bool(wrong)


sys.exit(main(sys.argv[1:]))
