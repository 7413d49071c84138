#!/usr/bin/env python3
"""Time and peak memory of a training step, ours and PyTorch's, measured in one run on the same cores.

For each network and precision a trainer is compiled and built from the model as PyTorch exports it. Then the trainer
and each of PyTorch's modes (eager, torch.compile, both also in channels_last for images; bf16 is autocast) take turns
for --rounds rounds of --steps steps each, every turn in a process of its own, all from the same samples in memory or in
a file. A row gives the median step of each, the peak resident memory of its process, libraries included, and our ratios
to the fastest of PyTorch's modes and to the one with the least memory.

Rows are kept in docs/benchmarks/cpu.json (--kept), so that a run may measure some of them; --page writes the page from
all rows.
Needs torch, torchvision and transformers from PyPI.

usage: step_time.py --plimsoll build/bin/plimsoll [--networks resnet18,bert] [--precisions fp32,bf16] [--page FILE]
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import textwrap
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Otherwise transformers.py of this folder would hide the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE] + [HERE]
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))

MODES = {True: ("eager", "nhwc", "compile", "compile+nhwc"), False: ("eager", "compile")}  # of images or not


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def write_model(name, directory):
    """The model as ONNX, and its samples as files; PyTorch's memory is given back when the process ends."""
    child = os.fork()
    if child == 0:
        import numpy
        import plimsoll
        import step_networks
        network, model = step_networks.make(name)
        inputs, labels = network.inputs(network.batch), network.labels(network.batch)
        plimsoll.export(model, tuple(inputs.values()), f"{directory}/net.onnx", input_names=list(inputs),
                        output_names=["output"])
        for key, value in {**inputs, "labels": labels}.items():
            numpy.save(f"{directory}/{key}.npy", value.numpy())
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{name} is not exported")


def build_trainer(args, name, network, precision):
    directory = f"{args.work}/{name.replace(':', '_')}"  # make takes no colon in a path
    os.makedirs(directory, exist_ok=True)
    if not os.path.exists(f"{directory}/labels.npy"):
        write_model(name, directory)
    trainer = f"{directory}/{precision}"
    shutil.rmtree(trainer, ignore_errors=True)
    # On the host, what is offloaded is still in the process: only recomputation makes that smaller.
    limits = [] if args.budget is None else ["--budget", args.budget, "--host-budget", "0"]
    state = [] if args.optimizer_state == "fp32" else ["--optimizer-state", args.optimizer_state]
    run([args.plimsoll, "compile", f"{directory}/net.onnx", "--batch", network.batch, "--precision", precision, *limits,
         *state, "--threads", args.threads, "--assume", "trainable", "-o", trainer, "-q", *network.flags,
         *args.compile_option])
    run(["cmake", "-S", trainer, "-B", f"{trainer}/build", *args.cmake_option])
    run(["cmake", "--build", f"{trainer}/build", "-j", os.cpu_count()])
    return trainer


# Runs a command and prints its peak resident memory in KiB. A process of its own does this, because a child that is
# forked begins with the memory of its parent, and PyTorch's libraries would count as the trainer's.
PEAK = """import resource, subprocess, sys
code = subprocess.call(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.STDOUT)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)"""


def our_step(args, trainer, network):
    metrics, folder = f"{trainer}/metrics.jsonl", os.path.dirname(trainer)
    if os.path.exists(metrics):
        os.remove(metrics)
    inputs = [f"{folder}/{key}.npy" for key in network.inputs(1)]
    peak = run([sys.executable, "-S", "-c", PEAK, f"{trainer}/output.txt", f"{trainer}/build/train", "--data",
                f"npy:{','.join([*inputs, f'{folder}/labels.npy'])}", "--steps", args.steps + 2, "--quiet", "--metrics",
                metrics])
    rows = [json.loads(line) for line in open(metrics)]
    return {"times": [row["seconds"] for row in rows if "iteration" in row][2:], "rss": int(peak.stdout) * 1024}


def torch_step(args, name, precision, mode):
    # torch.compile starts processes of its own; with one thread it compiles in this one.
    out = run(["env", "TORCHINDUCTOR_COMPILE_THREADS=1", sys.executable, f"{HERE}/torch_step.py", name, precision, mode,
               args.steps, args.threads])
    return json.loads(out.stdout.splitlines()[-1])


def measure(args, name, precision):
    import step_networks
    network = step_networks.find(name)
    trainer = build_trainer(args, name, network, precision)
    sides = ["ours"] + [mode for mode in MODES[network.images] if not args.modes or mode in args.modes.split(",")]
    results = {side: [] for side in sides}
    for _ in range(args.rounds):
        for side in sides:
            results[side].append(our_step(args, trainer, network) if side == "ours" else
                                 torch_step(args, name, precision, side))
    limited = "" if args.budget is None else f", in {args.budget} by recomputation"
    reduced = "" if args.optimizer_state == "fp32" else f", our AdamW's state in {args.optimizer_state}"
    return {
        "title": network.title + limited + reduced, "batch": network.batch, "precision": precision,
        "ms": {side: 1e3 * statistics.median(t for turn in turns for t in turn["times"])
               for side, turns in results.items()},
        "mib": {side: max(turn["rss"] for turn in turns) / 2**20 for side, turns in results.items()},
        "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")}


def ratios(row):
    """(PyTorch's fastest mode, its least memory in MiB, how many times as fast we are, our part of that memory)"""
    others = [side for side in row["ms"] if side != "ours"]
    fastest = min(others, key=lambda side: row["ms"][side])
    least = min(row["mib"][side] for side in others)
    return fastest, least, row["ms"][fastest] / row["ms"]["ours"], row["mib"]["ours"] / least


def line_of(row):
    fastest, least, speed, memory = ratios(row)
    return (f"| {row['title']} | {row['batch']} | {row['precision']} | {row['ms']['ours']:.0f} | "
            f"{row['ms'][fastest]:.0f} ({fastest}) | **{speed:.2f}×** | {row['mib']['ours']:.0f} | {least:.0f} | "
            f"{memory:.2f}× |")


HEAD = """| network | batch | precision | ours, ms | PyTorch, ms | speed | ours, MiB | PyTorch, MiB | memory |
|---|---|---|---|---|---|---|---|---|"""


def page(args, rows):
    import torch
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    flags = open("/proc/cpuinfo").read()
    has = "with" if "avx512_bf16" in flags else "without"
    modes = sorted({mode for row in rows.values() for mode in row["ms"] if mode != "ours"})
    every = [line_of(row) for row in rows.values()]
    details = [
        f"| {row['title']} | {row['precision']} | " + " | ".join(
            f"{row['ms'][mode]:.0f}, {row['mib'][mode]:.0f} MiB" if mode in row["ms"] else "" for mode in modes) +
        f" | {row['load']:.1f} | {row['date']} |" for row in rows.values()
    ]
    paragraph = textwrap.fill(
        f"`tools/bench/step_time.py`: {args.threads} threads of an {cpu or platform.machine()}, {has} AVX512-BF16; "
        f"PyTorch {torch.__version__.split('+')[0]}. The trainer and PyTorch take turns in one run. Convolutional "
        "networks train with momentum on images of 224×224, transformers with AdamW, all without dropout. Times are "
        "medians of steps; memory is the peak of the whole process, with its libraries. *PyTorch* is the fastest of "
        "its modes below (bf16: autocast), and the least memory of any of them. Our budget is unlimited, unless the "
        "row names one. PyTorch's AdamW always keeps its state in fp32, ours unless the row says otherwise "
        "(`--optimizer-state`).", 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join([
        "# A training step on a processor, compared with PyTorch", "", paragraph, "", HEAD, *every, "",
        "The modes of PyTorch, and the load average when the row was measured. Above the number of threads, other",
        "programs used the processors too; the measured process then had the highest priority.", "",
        "| network | precision | " + " | ".join(modes) + " | load | date |", "|---|---|" + "---|" * (len(modes) + 2),
        *details, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--networks", help="some of step_networks.py, or timm:NAME; default: all of step_networks.py")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--budget", help="of our arena, for rows of their own; default: unlimited")
    parser.add_argument("--optimizer-state", choices=("fp32", "bf16", "int8"), default="fp32",
                        help="of our optimizer, for rows of their own; PyTorch's is in fp32")
    parser.add_argument("--modes", default="", help="of PyTorch; default: all")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--work", default="build/step_time")
    parser.add_argument("--kept", default=f"{HERE}/../../docs/benchmarks/cpu.json", help="the measured rows")
    parser.add_argument("--compile-option", action="append", default=[])
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_RUNTIME=build")
    parser.add_argument("--page", metavar="FILE", help="write the page")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    import step_networks
    kept = args.kept
    rows = json.load(open(kept)) if os.path.exists(kept) else {}
    names = list(step_networks.NETWORKS) if args.networks is None else [n for n in args.networks.split(",") if n]
    for name in names:
        for precision in args.precisions.split(","):
            key = f"{name} {precision}" + ("" if args.budget is None else f" {args.budget}")
            key += "" if args.optimizer_state == "fp32" else f" {args.optimizer_state} state"
            rows[key] = measure(args, name, precision)
            print(line_of(rows[key]), flush=True)
            with open(kept + ".new", "w") as file:
                json.dump(rows, file, indent=1)
            os.replace(kept + ".new", kept)
    if args.page:
        starts = [f"{name} {precision}" for name in step_networks.NETWORKS for precision in ("fp32", "bf16")]
        order = [key for start in starts for key in sorted(rows) if key == start or key.startswith(start + " ")]
        with open(args.page, "w") as file:
            file.write(page(args, {key: rows[key] for key in order}))


if __name__ == "__main__":
    main()
