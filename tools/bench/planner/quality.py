#!/usr/bin/env python3
"""The time that memory limits cost `--policy auto`, on networks of the zoo and device models; and the cost of planning.

Every cell is a `plimsoll plan` of its own. Results are stored in a file, so that an interrupted run can continue, and
--only, --devices and --budgets can recompute some of them. Planning time is processor time of the whole process with
one thread, including import of the model and the checker, so that it is valid on a machine with other load. Memory is
the peak resident size of the process.

usage: quality.py --plimsoll build/bin/plimsoll --kept DIR/quality.json [--only resnet50,unet] [--devices p100,h200]
                  [--budgets 66,50] [--precision bf16] [--fresh] [--times] [--threads 2] [--write]
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time

import tables

# Batches whose unlimited plans fit 16 GiB.
NETWORKS = {
    "resnet50": 64, "vgg16": 64, "unet": 16, "mobilenet_v2": 64, "googlenet": 64, "inception_v4": 32, "densenet121": 64
}
AIMS = {66: 2, 50: 4, 33: 9, 25: 15, 10: 35}
# Bottleneck blocks of ten nodes: 3 convolutions, 3 batch normalizations, 3 ReLUs, an addition. The blocks are narrow:
# with 64 channels 10,000 layers have 6 GB of weights, and the time would be that of reading them, not of planning.
TIMES = [("resnet50", "resnet50", 64, 1), ("1,000 layers", "resnet:n=25;25;25;25,input=64,width=16", 64, 2),
         ("1,000 layers, 152 M parameters", "resnet:n=25;25;25;25,input=64", 64, 2),
         ("10,000 layers", "resnet:n=250;250;250;250,input=64,width=16", 16, 60)]


def model_file(args, spec):
    path = os.path.join(os.path.dirname(os.path.abspath(args.kept)),
                        spec.replace(":", "-").replace(";", "_").replace(",", "-") + ".onnx")
    if not os.path.exists(path):
        subprocess.run(
            [args.plimsoll, "model",
             spec.replace(";", ",") + ("," if ":" in spec else ":") + "init=zeros", "-o", path], check=True,
            capture_output=True)
    return path


TIGHT = 33  # per cent; at this budget and below, rounds may be faster than the whole batch


def plan(args, spec, batch, device, percent):
    """The default plan, in which batch normalization sees the whole batch. The key "split" has the plan with
    --batch-norm split, which changes the training, if only that plan fits or if it is faster."""
    whole = plan_once(args, spec, batch, device, percent, "whole")
    if percent > TIGHT and "error" not in whole:
        return whole
    split = plan_once(args, spec, batch, device, percent, "split")
    if "error" in split:
        return whole
    better = "error" in whole or (split["rounds"] > whole["rounds"] and
                                  split["summary"]["iteration_seconds"] < whole["summary"]["iteration_seconds"])
    return dict(whole, split=split) if better else whole


def plan_once(args, spec, batch, device, percent, batch_norm):
    """The summary of a plan and the cost of making it; with {"error"} if there is no plan."""
    out = f"{args.kept}.tmp-{threading.get_ident()}"
    policy = "liveness" if percent == 100 else "auto"
    command = [
        args.plimsoll, "plan", model_file(args, spec), "--batch", str(batch), "--costs", device, "--policy", policy,
        "--budget", f"{percent}%", "--batch-norm", batch_norm, "--precision", args.precision,
        "--jobs", str(args.threads), "-q", "-o", out
    ]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = {
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2), "elapsed_seconds": round(time.monotonic() - began, 2),
        "threads": args.threads, "peak_bytes": usage.ru_maxrss * 1024
    }
    if process.returncode != 0:
        return dict(took, error=f"exit {process.returncode}: {said.strip().splitlines()[0] if said.strip() else ''}")
    with open(out, encoding="utf-8") as file:
        made = json.load(file)
    os.remove(out)
    return dict(took, sub_batch=made["sub_batch"], rounds=made["rounds"], summary=made["summary"])


def run_jobs(args, jobs, kept):
    def save():
        with open(args.kept, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1, sort_keys=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = {pool.submit(plan, args, *job[1:]): job[0] for job in jobs}
        for done in concurrent.futures.as_completed(waiting):
            kept[waiting[done]] = done.result()
            print(f"{waiting[done]}: {brief(done.result())}", file=sys.stderr, flush=True)
            save()


def brief(cell):
    return cell.get(
        "error") or f"{1e3 * cell['summary']['iteration_seconds']:.1f} ms, {cell['cpu_seconds']} s of planning"


def cell_text(cell, whole, aim):
    """The text of a cell, and whether it misses its aim. "+3.1 % (≥ 2.0); +2.5 % (≥ 1.9), 2 × 32" means: the time over
    the unlimited plan's, and in brackets the lower bound if the plan has one. After the semicolon are the figures with
    --batch-norm split, which do not count towards the aim."""
    if cell is None:
        return "", False
    split = f"; {cell_text(cell['split'], whole, aim)[0]}" if "split" in cell else ""
    if "error" in cell:
        return ("**does not fit**" if "exit 6" in cell["error"] else cell["error"]) + split, True
    over = lambda seconds: 100 * (seconds / whole["summary"]["iteration_seconds"] - 1)
    overhead = over(cell["summary"]["iteration_seconds"])
    text = f"{overhead:+.1f} %"
    missed = overhead > aim + 1e-9
    if missed:
        text = f"**{text}**"
    if cell["summary"].get("bound_seconds", 0) > 0:
        text += f" (≥ {max(0.0, over(cell['summary']['bound_seconds'])):.1f})"
    if cell["rounds"] > 1:
        text += f", {cell['rounds']} × {cell['sub_batch']}"
    return text + split, missed


def in_precision(args, device):
    return device if args.precision == "fp32" else f"{device} in {args.precision}"


def overhead_table(device, kept, chosen):
    """`device`: as in_precision() names it."""
    lines = [
        f"| {device} | batch | unlimited | " + " | ".join(f"{p} %, aim ≤ {aim} %" for p, aim in AIMS.items()) +
        " | planning |", "|---|---|---|" + "---|" * (len(AIMS) + 1)
    ]
    missed = cells = 0
    for name, batch in NETWORKS.items():
        whole = kept.get(f"{name} {batch} {device} 100")
        if name not in chosen or whole is None or "error" in whole:
            continue
        texts, seconds = [], []
        for percent, aim in AIMS.items():
            cell = kept.get(f"{name} {batch} {device} {percent}")
            text, over = cell_text(cell, whole, aim)
            texts.append(text)
            if cell:
                seconds.append(cell["cpu_seconds"])
                cells += 1
                missed += over
        lines.append(f"| {name} | {batch} | {whole['summary']['unconstrained_bytes'] / 2**30:.2f} GiB, "
                     f"{1e3 * whole['summary']['iteration_seconds']:.0f} ms | " + " | ".join(texts) +
                     f" | {f'{min(seconds):.1f} – {max(seconds):.1f} s' if seconds else ''} |")
    return lines + ["", f"{cells} cells, {missed} over the aim.", ""]


def times_table(kept):
    lines = [
        "| network | batch | device | budget | planning | processor time | aim | peak memory | overhead |",
        "|---|---|---|---|---|---|---|---|---|"
    ]
    for name, spec, batch, aim in TIMES:
        cell, whole = kept.get(f"time {spec} {batch} p100 50"), kept.get(f"time {spec} {batch} p100 100")
        if cell is None:
            continue
        overhead = cell_text(cell, whole, 1e9)[0] if whole and "error" not in whole else ""
        lines.append(
            f"| {name} | {batch} | p100 | 50 % | {cell['elapsed_seconds']:.1f} s, {cell['threads']} threads | "
            f"{cell['cpu_seconds']:.1f} s | {aim} s | {cell['peak_bytes'] / 2**20:.0f} MiB | {overhead} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--kept", required=True, help="file for the results; models are stored in the same folder")
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--devices", default="p100,h200")
    parser.add_argument("--budgets", default=",".join(map(str, AIMS)))
    parser.add_argument("--precision", default="fp32", help="fp32 or bf16")
    parser.add_argument("--fresh", action="store_true", help="recompute stored results")
    parser.add_argument("--times", action="store_true",
                        help="measure planning time of networks of growing depth instead")
    parser.add_argument("--jobs", type=int, default=1, help="number of concurrent plans")
    parser.add_argument("--threads", type=int,
                        help="threads of each plan; default: 1, and with --times the number of processors")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/benchmarks/planner.md")
    args = parser.parse_args()
    args.threads = args.threads or (len(os.sched_getaffinity(0)) if args.times else 1)
    kept = {}
    if os.path.exists(args.kept):
        with open(args.kept, encoding="utf-8") as file:
            kept = json.load(file)

    jobs = []
    chosen = [name for name in NETWORKS if name in args.only.split(",")]
    if args.times:
        jobs = [(f"time {spec} {batch} p100 {percent}", spec, batch, "p100", percent) for _, spec, batch, _ in TIMES
                for percent in (100, 50)]
    else:
        for percent in [100] + [int(word) for word in args.budgets.split(",")]:
            for device in args.devices.split(","):
                jobs += [(f"{name} {NETWORKS[name]} {in_precision(args, device)} {percent}", name, NETWORKS[name],
                          device, percent) for name in chosen]
    for job in jobs:
        model_file(args, job[1])
    run_jobs(args, [job for job in jobs if args.fresh or job[0] not in kept], kept)

    if args.times:
        written = [("times", times_table(kept))]
    else:
        devices = [in_precision(args, device) for device in args.devices.split(",")]
        written = [(f"overhead on {device}", overhead_table(device, kept, NETWORKS)) for device in devices]
    for name, lines in written:
        print("\n".join(lines) + "\n")
        if args.write:
            tables.put(name, lines)


if __name__ == "__main__":
    main()
