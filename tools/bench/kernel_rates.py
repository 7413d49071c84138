#!/usr/bin/env python3
"""Which kernels take longer than their memory traffic explains.

Reads profile.json files (docs/profile-format.md), which `plimsoll profile` writes. The traffic of a task is the bytes
of its operands, an updated one counted twice. A task that does nothing but pass over its operands takes about
traffic / rate seconds, at the rate of the fastest tenth of all tasks above 1 MiB. The excess is the rest. Products,
convolutions, attention and recurrent layers compute more than they move, so they are listed apart.

usage: kernel_rates.py [--most 40] [--tasks] PROFILE.json...
"""
import argparse
import collections
import json
import math
import re

BYTES = {"f32": 4, "i32": 4, "i64": 8, "u8": 1, "bf16": 2, "f16": 2, "q8": 1, "uq8": 1, "i16": 2}
COMPUTES = re.compile("Conv|MatMul|Gemm|Attention|Lstm|LSTM|Gru|GRU|Rnn|RNN|LinearCross|Recurrent")
OPERAND = re.compile(r" (read|write|update) (\w+)\[([\d,]*)\]")


def traffic(signature):
    total = 0
    for access, type, dims in OPERAND.findall(signature):
        count = math.prod(int(size) for size in dims.split(",") if size)
        total += count * BYTES[type] * (2 if access == "update" else 1)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=40, help="rows of a table")
    parser.add_argument("--tasks", action="store_true", help="a row for each task instead of each kernel")
    parser.add_argument("profiles", nargs="+")
    args = parser.parse_args()
    tasks = {}
    for path in args.profiles:
        for task in json.load(open(path))["tasks"]:
            if task.get("algorithms"):
                seconds = min(each["seconds"] for each in task["algorithms"])
                tasks[task["signature"]] = (traffic(task["signature"]), seconds, path)
    rates = sorted(moved / seconds for moved, seconds, _ in tasks.values() if moved > 2**20)
    if not rates:
        parser.error("no task moves more than 1 MiB: profile a larger batch")
    rate = rates[-max(1, len(rates) // 10)]
    rows = collections.defaultdict(lambda: [0, 0, 0.0, 0.0, ""])
    for signature, (moved, seconds, path) in tasks.items():
        row = rows[signature if args.tasks else signature.split("{")[0]]
        row[0] += 1
        row[1] += moved
        row[2] += seconds
        excess = max(0, seconds - moved / rate)
        if excess > row[3] or args.tasks:
            row[4] = path
        row[3] += excess
    print(f"{len(tasks)} tasks, {rate / 1e9:.1f} GB/s\n")
    for title, computes in (("Passes over memory", False), ("Products, convolutions and recurrent layers", True)):
        print(f"{title}\n\n| kernel | tasks | MiB | ms | GB/s | excess, ms |\n|---|--:|--:|--:|--:|--:|")
        chosen = [(name, row) for name, row in rows.items() if bool(COMPUTES.search(name.split("{")[0])) == computes]
        for name, (count, moved, seconds, excess, path) in sorted(chosen, key=lambda each: -each[1][3])[:args.most]:
            name = name.replace("|", "\\|") + (f" ({path})" if args.tasks else "")
            print(f"| {name} | {count} | {moved / 2**20:.1f} | {1e3 * seconds:.2f} | {moved / seconds / 1e9:.2f} | "
                  f"{1e3 * excess:.2f} |")
        print()


if __name__ == "__main__":
    main()
