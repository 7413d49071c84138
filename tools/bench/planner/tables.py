"""Replaces tables in docs/benchmarks/planner.md. Each table is between two comments with its name."""
import os

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/benchmarks/planner.md")


def put(name, lines):
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n".join(lines) + "\n" + end + tail)
