#!/usr/bin/env python3
"""Writes the table of a part of tools/bare.sh, read from standard input, in place of the part's last one.

usage: bare_page.py PAGE RELEASE PART WHAT

The page has two comments around each table: `<!-- bare: RELEASE PART -->` and `<!-- bare: end -->`. Tables of other
parts and releases stay as they are. WHAT says what was tried, for example `commit 0123456789ab`.
"""
import datetime, os, re, sys


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    page, release, part, what = sys.argv[1:]
    with open(page) as file:
        text = file.read()
    begin, end = f"<!-- bare: {release} {part} -->", "<!-- bare: end -->"
    # The load says how far the times can be trusted.
    load = os.getloadavg()[2]
    title = f"`{part}`, {datetime.date.today()}, {what}, {os.cpu_count()} cores with a load average of {load:.1f}:"
    block = "\n\n".join([begin, title, "```\n" + sys.stdin.read().strip("\n") + "\n```", end])
    text, blocks = re.subn(re.escape(begin) + ".*?" + re.escape(end), lambda match: block, text, flags=re.DOTALL)
    if blocks != 1:
        sys.exit(f"bare: {page} has {blocks} places for the part {part} of {release}")
    with open(page, "w") as file:
        file.write(text)


main()
