#!/usr/bin/env python3
"""The algorithms of matrix products on the host, measured by the profiler in one run: in f32 and in bf16, as they are,
with a packed factor and on f32 copies (docs/decisions/products.md).

A shape is ROWS x INNER x COLUMNS of a [ROWS, INNER] · b [INNER, COLUMNS]. With the suffix t, a is transposed, as in
the gradient of a weight; with u, b is, as in the gradient of an input; with l, it is LinearCrossEntropy with gradients,
with b transposed. Times are milliseconds, the workspace is in parentheses, in MiB. The last column compares the first
algorithm, which runs where nothing is measured, with the fastest. With several profilers, of builds to compare, they
take turns for --rounds rounds, and times are the least of the rounds.

usage: products.py --profiler build/bin/plimsoll-profile-host [--threads 2] [--elements f32,bf16] [SHAPE...]
"""
import argparse
import json
import os
import subprocess

SHAPES = ["1024x768x3072", "768x1024x3072t", "1024x3072x768u", "64x768x3072", "512x1024x6144", "1024x1024x4096",
          "1024x768x2304", "1024x768x50257l"]


def task(shape, element):
    form = shape[-1] if shape[-1].isalpha() else ""
    rows, inner, columns = map(int, shape.rstrip("tul").split("x"))

    def operand(access, *dims, type=element):
        return {"access": access, "type": type, "dims": dims, "layout": "plain"}

    absent = {"access": "absent"}
    a = operand("read", *((inner, rows) if form == "t" else (rows, inner)))
    b = operand("read", *((columns, inner) if form in ("u", "l") else (inner, columns)))
    if form == "l":
        return {"signature": f"{shape} {element}", "kernel": "LinearCrossEntropy",
                "attributes": {"scale": 1, "ignore_index": -1, "smoothing": 0, "sum": False, "counts": False,
                               "transposed": True},
                "operands": [a, b, operand("read", rows, type="i64"), operand("write", type="f32"), absent,
                             operand("write", rows, inner), operand("write", columns, inner, type="f32"),
                             absent, absent, absent]}
    return {"signature": f"{shape} {element}", "kernel": "MatMul",
            "attributes": {"transpose_a": form == "t", "transpose_b": form == "u", "alpha": 1, "beta": 1},
            "operands": [a, b, absent, operand("write", rows, columns)]}


def measure(profiler, asked):
    """Of each task by its signature: of each algorithm by its name, in the order in which they are offered: seconds and
    bytes of workspace. And a line on the machine."""
    profile = json.loads(subprocess.check_output([profiler, "-", "-o", "-"], input=asked, text=True))
    found = {}
    for one in profile["tasks"]:
        # The profiler lists the fastest first; "order" is the place among those that are offered.
        offered = sorted(one["algorithms"], key=lambda each: each.get("order", 0))
        found[one["signature"]] = {each["name"]: (each["seconds"], each["workspace_bytes"]) for each in offered}
    return found, f"{profile['device']}, {profile['threads']} threads, oneDNN {profile['libraries']['onednn']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiler", required=True, action="append")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--elements", default="f32,bf16")
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    args = parser.parse_args()
    tasks = [task(shape, element) for shape in args.shapes for element in args.elements.split(",")]
    asked = json.dumps({"schema": 1, "threads": args.threads, "tasks": tasks})
    best = {}
    for _ in range(args.rounds):
        for profiler in args.profiler:
            found, machine = measure(profiler, asked)
            for signature, offered in found.items():
                kept = best.setdefault((signature, profiler), offered)
                for name, cost in offered.items():
                    kept[name] = min(kept[name], cost)
    print(f"{machine}\n")
    print("| rows × inner × columns | | algorithms, ms (MiB) | first / fastest |\n|---|---|---|---|")
    for asked_task in tasks:
        shape, element = asked_task["signature"].split()
        for profiler in args.profiler:
            offered = best[asked_task["signature"], profiler]
            times = ", ".join(f"`{name}` {1e3 * seconds:.2f} ({bytes / 2**20:.1f})"
                              for name, (seconds, bytes) in offered.items())
            all_seconds = [seconds for seconds, _ in offered.values()]
            print(f"| {shape.replace('x', ' × ')} | {element} | {times} | {all_seconds[0] / min(all_seconds):.2f}× |")


if __name__ == "__main__":
    main()
