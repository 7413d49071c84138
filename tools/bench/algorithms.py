#!/usr/bin/env python3
"""The gain from choosing each convolution's algorithm by its profile and by the workspace that the budget permits.

One network, several budgets. A trainer with --costs profiled, which uses Winograd or direct per convolution, is
compared with one that uses the library's first choice everywhere (--costs modelled). They take turns, so that other
load on the machine affects both. Budgets are shares of the range from the minimum (0%) to the unlimited arena (100%).

usage: algorithms.py --plimsoll build/bin/plimsoll [--network resnet18:input=96] [--batch 16] [--budgets 100%,50%,10%]
"""
import argparse
import os
import statistics
import time

from prediction import algorithms, budget_between, build, common_options, load_of, measure, run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common_options(parser)
    parser.add_argument("--network", default="resnet18:input=96")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--budgets", default="100%,75%,50%,25%,10%,1%")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    began = time.time()
    model = f"{args.work}/algorithms.onnx"
    run([args.plimsoll, "model", args.network, "-o", model])
    rows = []
    for budget in args.budgets.split(","):
        size = budget_between(args, model, args.batch, budget)
        plans = {
            c: build(args, model, args.batch, size, c, f"{args.work}/algorithms-{c}") for c in ("profiled", "modelled")
        }
        times = {costs: [] for costs in plans}
        for _ in range(args.runs):
            for costs in plans:
                times[costs].append(measure(args, f"{args.work}/algorithms-{costs}"))
        chosen, first = (statistics.median(times[costs]) for costs in ("profiled", "modelled"))
        rows.append(
            f"| {budget} | {size / 2**20:.0f} | {plans['profiled']['rounds']} | {chosen:.1f} | "
            f"{algorithms(plans['profiled'])} | {plans['modelled']['rounds']} | {first:.1f} | {first / chosen:.2f}× |")
        print(rows[-1], flush=True)
    table = (
        "| budget | MiB | rounds | chosen, ms | algorithms | rounds | first choice, ms | gain "
        "|\n|---|---|---|---|---|---|---|---|\n"
        + "\n".join(rows) + f"\n\n{args.network}, batch {args.batch}. Load: {load_of(began)}.\n")
    if args.markdown:
        with open(args.markdown, "w") as out:
            out.write(table)


if __name__ == "__main__":
    main()
