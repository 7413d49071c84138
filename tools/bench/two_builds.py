#!/usr/bin/env python3
"""The effect of a change of the compiler or of the runtime on plans and steps: compares two builds in one run.

For each ONNX model both builds compile a trainer, with an unlimited budget or with a given one. Then the trainers take
turns for --rounds rounds of --steps steps, every turn in a separate process. A row gives the planned arena and the
median step of each, and the ratios after / before.

usage: two_builds.py --before BUILD --after BUILD [--batch 8] [--budget 100%] [--option=--loss=…] MODEL.onnx …
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build_trainer(args, build, model, directory):
    run([f"{build}/bin/plimsoll", "compile", model, "--batch", args.batch, "--assume", "trainable",
         "--budget", args.budget, "--costs", "modelled", "-o", directory, "-q", *args.option])
    run(["cmake", "-S", directory, "-B", f"{directory}/build", "-G", "Ninja",
         f"-DPLIMSOLL_RUNTIME={os.path.abspath(build)}"])
    run(["cmake", "--build", f"{directory}/build"])
    return json.load(open(f"{directory}/plan.json"))["summary"]["arena_bytes"]


def step_times(args, directory):
    metrics = f"{directory}/metrics.jsonl"
    if os.path.exists(metrics):
        os.remove(metrics)
    run([f"{directory}/build/train", "--data", "synthetic", "--steps", args.steps + 2, "--quiet", "--metrics", metrics])
    rows = [json.loads(line) for line in open(metrics)]
    return [row["seconds"] for row in rows if "iteration" in row][2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--budget", default="100%")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", default="build/two_builds")
    parser.add_argument("--option", action="append", default=[], help="option of plimsoll compile")
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    print(f"batch {args.batch}, budget {args.budget}; planned arena in MiB, median step in ms")
    print(f"{'model':20} {'before':>8} {'after':>8} {'memory':>7}   {'before':>8} {'after':>8} {'time':>7}", flush=True)
    for model in args.models:
        name = os.path.splitext(os.path.basename(model))[0]
        directories = {which: f"{args.work}/{name}-{which}" for which in ("before", "after")}
        os.makedirs(args.work, exist_ok=True)
        arena = {which: build_trainer(args, getattr(args, which), model, directories[which]) for which in directories}
        times = {which: [] for which in directories}
        for _ in range(args.rounds):
            for which, directory in directories.items():
                times[which] += step_times(args, directory)
        time = {which: statistics.median(steps) for which, steps in times.items()}
        row = f"{name:20}"
        for unit, figures in ((2**-20, arena), (1e3, time)):
            before, after = figures["before"], figures["after"]
            row += f" {before * unit:8.1f} {after * unit:8.1f} {after / before:6.2f}x  "
        print(row, flush=True)


if __name__ == "__main__":
    main()
