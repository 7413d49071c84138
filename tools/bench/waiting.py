#!/usr/bin/env python3
"""How threads should wait for each other: the median iteration of a trainer, by the time that a thread spins before it
sleeps.

An iteration has thousands of kernels. They are parallel regions, and at the end of each the threads wait for the
slowest. A thread that spins notices the end soonest, but occupies a processor, which may be needed by the thread that
it waits for. Each network is trained alone, together with one busy process, and together with a second trainer of the
same network. The settings take turns. A row gives milliseconds, and in brackets the ratio to the fastest setting of
that row. docs/decisions/waiting.md has the conclusions.

usage: waiting.py --plimsoll build/bin/plimsoll [--settings passive,1000,10000,300000] [--cmake-option
-DPLIMSOLL_RUNTIME=build]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

NETWORKS = {
    "densenet121, 1x32x32, batch 64": ("densenet121:input=32,channels=1,classes=10", 64),
    "resnet18, 3x64x64, batch 16": ("resnet18:input=64", 16),
    "lenet, batch 64": ("lenet", 64),
}
BUSY = "while True: pass"


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")


def environment(setting):
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    if setting == "default":
        return kept
    return kept | ({"OMP_WAIT_POLICY": "passive"} if setting == "passive" else {"GOMP_SPINCOUNT": setting})


def start(directory, setting, metrics, seconds):
    return subprocess.Popen([
        "timeout", "-s", "INT",
        str(seconds), f"{directory}/build/train", "--data", "synthetic", "--steps", "1000000", "--quiet", "--metrics",
        metrics
    ], env=environment(setting), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def seconds_of(metrics):
    return [row["seconds"] for row in map(json.loads, open(metrics)) if "iteration" in row][2:]


def measure(directory, setting, beside, seconds):
    own, other = f"{directory}/own.jsonl", f"{directory}/other.jsonl"
    busy = subprocess.Popen([sys.executable, "-c", BUSY]) if beside == "a busy process" else None
    second = start(directory, setting, other, seconds) if beside == "a second trainer" else None
    first = start(directory, setting, own, seconds)
    first.wait()
    if second:
        second.wait()
    if busy:
        busy.kill()
        busy.wait()
    return seconds_of(own)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--settings", default="default,passive,1000,10000,100000,300000")
    parser.add_argument("--seconds", type=float, default=6, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--work", default="build/bench/waiting")
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_RUNTIME=build")
    args = parser.parse_args()
    settings = args.settings.split(",")
    print(
        f"{args.threads} threads on {len(os.sched_getaffinity(0))} processors; spins before a thread sleeps; median "
        "iteration in ms"
    )
    print(f"| {'network':31} | {'other load':16} | " + " | ".join(f"{setting:>14}" for setting in settings) + " |")
    print("|---|---|" + "--:|" * len(settings), flush=True)
    for number, (name, (spec, batch)) in enumerate(NETWORKS.items()):
        directory = f"{args.work}/{number}"
        os.makedirs(directory, exist_ok=True)
        run([args.plimsoll, "model", spec, "-o", f"{directory}/model.onnx"])
        run([
            args.plimsoll, "compile", f"{directory}/model.onnx", "--batch", batch, "--threads", args.threads, "--costs",
            "modelled", "-q", "-o", f"{directory}/trainer"
        ])
        run(["cmake", "-S", f"{directory}/trainer", "-B", f"{directory}/trainer/build", *args.cmake_option])
        run(["cmake", "--build", f"{directory}/trainer/build", "-j", len(os.sched_getaffinity(0))])
        for beside in ("nothing", "a busy process", "a second trainer"):
            times = {setting: [] for setting in settings}
            for _ in range(args.rounds):
                for setting in settings:
                    times[setting] += measure(f"{directory}/trainer", setting, beside, args.seconds)
            medians = {setting: statistics.median(of) if of else float("nan") for setting, of in times.items()}
            best = min(medians.values())
            print(
                f"| {name:31} | {beside:16} | " +
                " | ".join(f"{1e3 * medians[s]:8.2f} ({medians[s] / best:4.2f})" for s in settings) + " |", flush=True)


if __name__ == "__main__":
    main()
