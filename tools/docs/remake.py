"""Runs the commands that the pages of docs/ show, and puts their output there.

usage: remake.py [--check] [--plimsoll PROGRAM] [PAGE.md...]        (default: README.md and every page of docs/)

Without --check the pages are changed in place. With --check nothing is written; the difference is shown, and the exit
code is 1 if there is one. `ctest -R docs` checks.

A page says by comments, which are not shown, what is made. One comment for the whole page names the files that its
commands find in their directory. They are of docs/examples/, so the output changes only when a report does:

    <!-- remake with plan.json=resnet50.json trainer/plan.json=densenet.json -->

A comment right above a fenced block makes that block:

    <!-- remake -->                              runs the block's own `$ ` lines and puts the output below each
    <!-- remake | section memory -->             the same, with filters
    <!-- remake $ plimsoll inspect plan.json | section "the peak" | rows 6 -->
                                                 puts the output of a command that the block does not show

Blocks without a comment are left alone. Commands run in one shell, in an empty directory that all blocks of a page
share, so a block may use what an earlier one made. stdout and stderr are shown as a terminal shows them. The filters:

    section TEXT    from the first line that begins with TEXT to the next empty line
    paragraphs N    the first N paragraphs, and a line "…" if there are more
    first N         the first N lines, and a line "…" if there are more
    rows N [M]      N lines below the heading (of two lines, "the peak…" and the names of columns), the last M, and "…"
                    between them with the indentation of the rows
    mask TEXT       lines that contain TEXT are not compared, as they hold a time of this run; they stay as they are
"""
import difflib, glob, os, re, shlex, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs/examples")
FILES = re.compile(r"^<!-- remake with (?P<files>.*) -->$")
BLOCK = re.compile(r"^<!-- remake(?: *\$ (?P<command>[^|]*))?(?P<filters>( *\|[^|]*)*) *-->$")


class Mistake(Exception):
    """Something that the author of a page has to correct."""


def section(lines, start):
    for first, line in enumerate(lines):
        if line.startswith(start):
            rest = lines[first:]
            return rest[:rest.index("")] if "" in rest else rest
    raise Mistake(f"no line of the output begins with '{start}'")


def first(lines, count):
    count = int(count)
    return lines if len(lines) <= count else lines[:count] + ["…"]


def paragraphs(lines, count):
    ends = [at for at, line in enumerate(lines) if not line]
    return lines if len(ends) < int(count) else lines[:ends[int(count) - 1]] + ["…"]


def rows(lines, above, below="0"):
    above, below = 2 + int(above), int(below)
    if len(lines) <= above + below:
        return lines
    indentation = re.match(" *", lines[above]).group()
    return lines[:above] + [indentation + "…"] + lines[len(lines) - below:]


FILTERS = {"section": section, "paragraphs": paragraphs, "first": first, "rows": rows}


class Directory:
    """Where the commands of a page run."""

    def __init__(self, plimsoll):
        self.path = tempfile.mkdtemp(prefix="remake-")
        # What a user's settings or a cache could change is left out.
        self.environment = {"HOME": self.path, "LANG": "C.UTF-8", "NO_COLOR": "1",
                            "PATH": os.path.dirname(plimsoll) + ":" + os.environ["PATH"]}

    def add(self, name, example):
        source = os.path.join(EXAMPLES, example)
        if not os.path.exists(source):
            raise Mistake(f"docs/examples/{example} does not exist")
        target = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        text = done.stdout.decode()
        if done.returncode >= 126 or "terminate called" in text:
            raise Mistake(f"`{command}` ended with {done.returncode}: {text.strip()[-300:]}")
        return [line.rstrip() for line in text.rstrip("\n").split("\n")] if text.strip() else []


def filtered(lines, filters):
    for name, *arguments in filters:
        if name != "mask":
            lines = FILTERS[name](lines, *arguments)
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def kept_where_masked(new, old, filters):
    """`new` with the old text of lines that hold a time of one run, where old and new stand at the same place."""
    masks = [arguments[0] for name, *arguments in filters if name == "mask"]
    if len(new) != len(old):
        return new
    return [b if any(mask in a and mask in b for mask in masks) else a for a, b in zip(new, old)]


def commands_of(block):
    """The block as (shown lines of a command, its output lines); a command goes on after a backslash."""
    parts = []
    continues = False
    for line in block:
        if continues or line.startswith("$ "):
            if not continues:
                parts.append(([], []))
            parts[-1][0].append(line)
            continues = line.endswith("\\")
        elif parts:
            parts[-1][1].append(line)
        else:
            raise Mistake("the block does not begin with a `$ ` line, and the comment names no command")
    return parts


def remade(block, marker, directory):
    filters = [shlex.split(part) for part in marker["filters"].split("|")[1:]]
    for name, *_ in filters:
        if name not in FILTERS and name != "mask":
            raise Mistake(f"there is no filter '{name}'")
    if marker["command"]:
        lines = filtered(directory.run(marker["command"]), filters)
        return kept_where_masked(lines, block, filters)
    made = []
    for shown, old in commands_of(block):
        lines = filtered(directory.run("\n".join(shown).removeprefix("$ ")), filters)
        made += shown + kept_where_masked(lines, old, filters)
    return made


def page_remade(path, plimsoll):
    lines = open(path).read().split("\n")
    if not any(line.startswith("<!-- remake") for line in lines):
        return lines, lines
    directory = Directory(plimsoll)
    made = []
    at = 0
    try:
        while at < len(lines):
            line = lines[at]
            at += 1
            made.append(line)
            if not line.startswith("<!-- remake"):
                continue
            files, marker = FILES.match(line), BLOCK.match(line)
            try:
                if files:
                    for pair in files["files"].split():
                        directory.add(*pair.split("=", 1))
                    continue
                if not marker:
                    raise Mistake("this comment is not understood; see tools/docs/remake.py")
                if not lines[at].startswith("```"):
                    raise Mistake("no fenced block follows the comment")
                end = lines.index("```", at + 1)
                made += [lines[at], *remade(lines[at + 1:end], marker, directory), "```"]
                at = end + 1
            except Mistake as mistake:
                sys.exit(f"{os.path.relpath(path, ROOT)}:{at}: {mistake}")
    finally:
        shutil.rmtree(directory.path)
    return lines, made


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    arguments = [argument for argument in arguments if argument != "--check"]
    plimsoll = os.path.join(ROOT, "build/bin/plimsoll")
    if "--plimsoll" in arguments:
        at = arguments.index("--plimsoll")
        plimsoll = arguments[at + 1]
        del arguments[at:at + 2]
    if any(argument.startswith("-") for argument in arguments):
        sys.exit(__doc__)
    plimsoll = os.path.abspath(plimsoll)
    if not os.access(plimsoll, os.X_OK):
        sys.exit(f"remake: there is no {plimsoll}; build it, or name another with --plimsoll")
    pages = arguments or [os.path.join(ROOT, "README.md"),
                          *sorted(glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))]
    differs = False
    for page in pages:
        old, new = page_remade(page, plimsoll)
        if old == new:
            continue
        differs = True
        name = os.path.relpath(page, ROOT)
        if check:
            print("\n".join(difflib.unified_diff(old, new, name, name + ", as the commands print it", lineterm="")))
        else:
            with open(page, "w") as file:
                file.write("\n".join(new))
            print(f"changed {name}")
    if check and differs:
        sys.exit("remake: the pages above show other output than the commands print; tools/docs/remake.py changes them")


main()
