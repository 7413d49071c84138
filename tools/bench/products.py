#!/usr/bin/env python3
"""The algorithms of matrix products on the host, measured by the profiler in one run: in f32 and in bf16, as they are,
with a packed factor and on f32 copies (docs/decisions/products.md).

A shape is ROWS x INNER x COLUMNS of a [ROWS, INNER] · b [INNER, COLUMNS]; with the suffix t, a is transposed, as in the
gradient of a weight. Times are milliseconds. The last column compares the first algorithm, which runs where nothing is
measured, with the fastest.

usage: products.py --profiler build/bin/plimsoll-profile-host [--threads 2] [SHAPE...]
"""
import argparse
import json
import os
import subprocess

SHAPES = ["1024x768x3072", "768x1024x3072t", "64x768x3072", "512x1024x6144", "1024x1024x4096", "1024x768x2304"]


def task(shape, element):
    rows, inner, columns = map(int, shape.rstrip("t").split("x"))
    transposed = shape.endswith("t")

    def operand(access, *dims):
        return {"access": access, "type": element, "dims": dims, "layout": "plain"}

    a = operand("read", *((inner, rows) if transposed else (rows, inner)))
    return {"signature": f"{shape} {element}", "kernel": "MatMul",
            "attributes": {"transpose_a": transposed, "transpose_b": False, "alpha": 1, "beta": 1},
            "operands": [a, operand("read", inner, columns), {"access": "absent"}, operand("write", rows, columns)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiler", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    args = parser.parse_args()
    tasks = [task(shape, element) for shape in args.shapes for element in ("f32", "bf16")]
    asked = json.dumps({"schema": 1, "threads": args.threads, "tasks": tasks})
    profile = json.loads(subprocess.check_output([args.profiler, "-", "-o", "-"], input=asked, text=True))
    print(f"{profile['device']}, {args.threads} threads, oneDNN {profile['libraries']['onednn']}\n")
    print("| rows × inner × columns | | algorithms, ms | first / fastest |\n|---|---|---|---|")
    measured = {one["signature"]: one["algorithms"] for one in profile["tasks"]}
    for asked_task in tasks:
        shape, element = asked_task["signature"].split()
        # The profiler lists the fastest first; "order" is the place among those that are offered.
        offered = sorted(measured[asked_task["signature"]], key=lambda one: one.get("order", 0))
        times = ", ".join(f"`{one['name']}` {1e3 * one['seconds']:.2f}" for one in offered)
        seconds = [one["seconds"] for one in offered]
        print(f"| {shape.replace('x', ' × ')} | {element} | {times} | {seconds[0] / min(seconds):.2f}× |")


if __name__ == "__main__":
    main()
