#!/usr/bin/env python3
"""Predicted and measured iteration time, for several networks and budgets.

Each network is profiled and compiled with --costs profiled for each budget, built, and trained on synthetic samples.
The trainer prints the median and the predicted time of its iterations. Compilation measures the tasks, so a prediction
is for this machine at this moment. Figures from a machine with other load mean little, so the load is printed with
them. Everything is repeated in several turns, with tasks measured anew. Each trainer is compared with the prediction of
its own turn, and the result is the median over the turns.

Budgets are shares of the range from the minimum (0%) to the unlimited arena (100%). If the batch may run in rounds,
most budgets are met in rounds. --whole requires one round, so that tensors are offloaded to the host pool (in memory)
and prefetched concurrently with kernels: such a prediction includes overlap.

usage: prediction.py --plimsoll build/bin/plimsoll [--networks resnet18,vgg16] [--budgets 100%,50%,10%]
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

NETWORKS = {
    "resnet18": ("resnet18:input=96,width=32", 16),
    "vgg16": ("vgg16:input=64,width=32,hidden=256", 16),
    "mobilenet_v2": ("mobilenet_v2:input=96", 16),
    "googlenet": ("googlenet:input=96", 16),
}


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def algorithms(plan):
    counts = {}
    for step in plan["steps"]:
        if step["kind"] == "compute" and step["algorithm"] != "default":
            counts[step["algorithm"]] = counts.get(step["algorithm"], 0) + 1
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def copies(plan):
    return sum(step["kind"] in ("offload", "prefetch") for step in plan["steps"])


def budget_between(args, model, batch, share):
    """Bytes: "0%" is the minimum, "100%" the unlimited arena."""
    said = run([
        args.plimsoll, "plan", model, "--batch", batch, "--budget", "100%", "--batch-norm", "split", "--threads",
        args.threads, "--costs", "profiled", "-q", *args.compile_option
    ]).stdout
    summary = json.loads(said)["summary"]
    least, whole = summary["minimum_bytes"], summary["unconstrained_bytes"]
    return least + int((whole - least) * float(share.rstrip("%")) / 100)


def build(args, model, batch, budget, costs, directory):
    """Compiles and builds a trainer. Returns its plan."""
    run([
        args.plimsoll, "compile", model, "--batch", batch, "--budget", budget, "--batch-norm", "split", "--threads",
        args.threads, "--costs", costs, "-o", directory, "-q", "--force", *args.compile_option
    ])
    run(["cmake", "-S", directory, "-B", f"{directory}/build", *args.cmake_option])
    run(["cmake", "--build", f"{directory}/build", "-j", os.cpu_count()])
    with open(f"{directory}/plan.json") as file:
        return json.load(file)


def measure(args, directory):
    """The median iteration of one run, in milliseconds."""
    said = run([f"{directory}/build/train", "--data", "synthetic", "--steps", args.steps, *args.train_option]).stdout
    return float(re.search(r"iteration measured ([\d.]+) ms", said).group(1))


def common_options(parser):
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--steps", type=int, default=30, help="iterations per run")
    parser.add_argument("--runs", type=int, default=3,
                        help="runs of each trainer; the result is the median of their medians")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--compile-option", action="append", default=[])
    parser.add_argument("--train-option", action="append", default=[])
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_RUNTIME=build")
    parser.add_argument("--markdown", metavar="FILE", help="also write the table to this file")


def load_of(began):
    return (f"{os.getloadavg()[2]:.1f} runnable processes on {os.cpu_count()} cores, ours included, over "
            f"{time.time() - began:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common_options(parser)
    parser.add_argument("--networks", default=",".join(NETWORKS), help="some of " + ", ".join(NETWORKS))
    parser.add_argument("--budgets", default="100%,50%,10%")
    parser.add_argument("--whole", action="store_true", help="run the batch in one round")
    parser.add_argument("--turns", type=int, default=3, help="repetitions of everything")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    given = args.compile_option
    turns, began = {}, time.time()  # per network and budget: (rounds, copies, predicted, measured, error)
    for name, turn in [(name, turn) for turn in range(args.turns) for name in args.networks.split(",")]:
        spec, batch = NETWORKS[name]
        model = f"{args.work}/{name}.onnx"
        args.compile_option = [*given, "--sub-batch", batch] if args.whole else given
        run([args.plimsoll, "model", spec, "-o", model])
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            for budget in args.budgets.split(","):
                directory = f"{args.work}/prediction-{name}"
                plan = build(args, model, batch, budget_between(args, model, batch, budget), "profiled", directory)
                predicted = plan["summary"]["iteration_seconds"] * 1e3
                measured = statistics.median(measure(args, directory) for _ in range(args.runs))
                error = predicted / measured - 1
                turns.setdefault((spec, batch, budget), []).append(
                    (plan["rounds"], copies(plan), predicted, measured, error))
                print(
                    f"turn {turn + 1}: {spec:36} batch {batch} {budget:>5} in {plan['rounds']} rounds, "
                    f"{copies(plan):3} copies: predicted "
                    f"{predicted:8.2f} ms, measured {measured:8.2f} ms, {error:+6.1%}  ({algorithms(plan)})",
                    flush=True)
    rows = [(*key, *(statistics.median_low(column) for column in zip(*trials))) for key, trials in turns.items()]
    lines = [f"| {spec} | {batch} | {budget} | {rounds} | {moved} | {predicted:.1f} | {measured:.1f} | {error:+.1%} |"
             for spec, batch, budget, rounds, moved, predicted, measured, error in rows]
    summary = []
    for title, chosen in (("without copies", [r for r in rows if r[4] == 0]), ("with copies", [r for r in rows if r[4]
                                                                                              ])):
        errors = [abs(r[7]) for r in chosen]
        if errors:
            summary.append(
                f"{title}: mean error {statistics.mean(errors):.1%}, largest {max(errors):.1%}, {len(errors)} trials")
    load = load_of(began)
    print("\n".join([*summary, load]))
    if args.markdown:
        with open(args.markdown, "w") as out:
            out.write("| network | batch | budget | rounds | copies | predicted ms | measured ms | error |\n"
                      "|---|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n\n" + "; ".join(summary) + ".\n"
                      f"Load: {load}.\n")


if __name__ == "__main__":
    main()
