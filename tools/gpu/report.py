#!/usr/bin/env python3
"""Writes results/part-*.json of gpu_check.sh as one JSON file and one page: what was right, how fast it was, how
exactly it was predicted, and what failed or was left out.

usage: report.py RESULTS OUT-DIRECTORY
"""
import glob
import json
import os
import re
import sys

MIB = 2**20
# PyTorch's ways, in the order of the table's columns.
WAYS = {"eager": "eager", "compile": "torch.compile", "checkpoint": "checkpoint",
        "activation_memory_budget": "memory budget 0.5", "save_on_cpu": "save_on_cpu"}
SETTINGS = ("machine", "runtime", "trainers", "aims", "device properties")
PRIVATE = ("toolchain", "kernel", "output")  # names of a machine's folders


def table(head, rows):
    if not rows:
        return []
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows), ""]


def scientific(value):
    return "" if value is None else f"{value:.1e}"


def device(machine):
    """What the figures depend on, as a sentence."""
    gpu = machine.get("gpu", "").split(",")
    nvcc = re.search(r"release ([\d.]+)", machine.get("nvcc", ""))
    cudnn = int(machine.get("cudnn of torch") or 0)
    told = [
        gpu[0] or "an unknown device", f"driver {gpu[1].strip()}" if len(gpu) > 1 else "",
        f"CUDA {nvcc[1]}" if nvcc else "", f"cuDNN {cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}",
        f"PyTorch {machine.get('torch')}", f"{machine.get('cores')} cores"
    ]
    return ", ".join(filter(None, told)), machine.get("date", "")


def operators(steps):
    lines = []
    result = steps.get("operators", {})
    if "table" in result:
        head = result["table"][0].split()
        rows = [line.split(None, len(head)) for line in result["table"][1:]]
        exact = [row for row in rows if all(float(cell) == 0 for cell in row[3:5])]
        rest = sorted((row for row in rows if row not in exact), key=lambda row: -max(map(float, row[3:5])))
        lines += [
            "`plimsoll-replay-cuda` runs every sample of every operator with every algorithm, and compares with the "
            "host: "
            f"{result['cases']} cases, {sum(int(row[2]) for row in rows)} algorithms. The table has the largest "
            "distance in each "
            "arithmetic, relative to the norm of the result, which may be 1e-5 in fp32, 5e-3 in TF32 and bf16, and "
            "1e-3 in fp16."
            f" {len(exact)} kernels give the host's bits; the rest is below 1e-6 unless listed.", ""
        ]
        lines += table(
            head, [row[:len(head)] for row in rest if max(map(float, row[3:5])) > 1e-6 or row[0] in result["failures"]])
        for kernel, failures in result["failures"].items():
            lines += [f"**Failed: {kernel}**, {len(failures)} of them, the first: {failures[0]}", ""]
    ways = steps.get("resnet18 as a graph", {})
    if "graph_as_steps" in ways:
        same = all(ways[key] for key in ("graph_as_steps", "traced_as_steps"))
        lines += ["A trainer's weights after six iterations step by step, as a CUDA graph and with `--trace` "
                  + ("have the same bits." if same else "**differ**."), ""]
    return lines


def against_pytorch(*parts):
    compared, same, other = [], [], []
    for steps in parts:
        for name, one in steps.items():
            if "first_loss_apart" in one:
                compared.append([
                    name,
                    scientific(one["first_loss_apart"]),
                    scientific(one["first_torch_spread"]),
                    scientific(one["loss_apart"]),
                    scientific(one["torch_loss_spread"]),
                    scientific(one["weights_apart"]),
                    scientific(one["torch_spread"]), "yes" if one["passed"] else "**no**"
                ])
            elif "same_bits" in one:
                (same if one["same_bits"] else other).append(name)
    lines = []
    if compared:
        lines += [
            "Three iterations from the same weights with the same samples. \"Apart\" is Plimsoll from PyTorch; "
            "\"PyTorch's own\" is PyTorch "
            "in channels_last from PyTorch in contiguous format, for the first loss in TF32 and bf16 also from its "
            "fp32. A network amplifies "
            "rounding, so that only the first loss can be compared closely.", ""
        ]
        lines += table([
            "network", "first loss apart", "PyTorch's own", "losses apart", "PyTorch's own",
            "change of the weights apart", "PyTorch's own", "passed"
        ], compared)
    if same:
        lines += [f"The same bits as in the unlimited arena: {', '.join(same)}.", ""]
    if other:
        lines += [f"Other algorithms or rounds than in the unlimited arena, and so other bits: {', '.join(other)}.", ""]
    return lines


def measured(results):
    seen = {}
    for part in (3, 4, 5):
        for name, one in results.get(part, {}).items():
            if one.get("seconds") and "arena_bytes" in one:
                seen.setdefault(name, one)
    return seen


def waiting(one):
    """Seconds of an iteration without the wait for samples, if every second one was the first of its epoch and had to
    wait: the trainer's median over all is then that of the slower half."""
    told = re.search(r"iteration measured ([\d.]+) ms \(median\)", "\n".join(one.get("output", [])))
    slower = float(told[1]) / 1e3 if told else 0
    return 2 * one["seconds"] - slower if slower > 1.03 * one["seconds"] else None


def predictions(results):
    rows, waited = [], False
    for name, one in measured(results).items():
        if not one.get("predicted_seconds"):
            continue
        costs = "measured" if "-profiled" in name else "device model"
        without = waiting(one)
        waited = waited or without is not None
        rows.append([
            name.replace("-profiled",
                         ""), f"{one['arena_bytes'] / MIB:,.0f}", costs, f"{1e3 * one['predicted_seconds']:.1f}",
            f"{1e3 * one['seconds']:.1f}", f"{100 * (one['seconds'] / one['predicted_seconds'] - 1):+.1f} %",
            "" if without is None else f"{1e3 * without:.1f} ({100 * (without / one['predicted_seconds'] - 1):+.1f} %)",
            "yes" if one.get("arena_as_planned") else "**no**"
        ])
    lines = [
        "Times of the tasks are either measured on this device (`--costs profile.json`) or those of the device model "
        "(`--costs h200`)." if rows else ""
    ]
    if waited:
        lines.append(
            "These runs had epochs of two batches. A trainer does not fetch the first batch of an epoch while the "
            "previous "
            "iteration runs, so every second iteration waited for its samples. \"Measured\" is the mean of both kinds. "
            "The column "
            "\"without the wait\" is computed from it and the trainer's own median, which is that of the slower kind.")
    return [
        *lines, "", *table([
            "trainer (network, batch, arithmetic, budget)", "arena, MiB", "costs", "predicted, ms", "measured, ms",
            "difference", "without the wait, ms", "device memory as planned"
        ], rows)
    ] if rows else []


def throughput(steps):
    """A row for each network and arithmetic; of PyTorch's two memory formats the faster one."""
    kinds = {}
    for name, one in steps.items():
        told = re.match(r"(\S+) (fp32|tf32|bf16|fp16) torch (\w+)( channels_last)?$", name)
        if told and one.get("seconds"):
            best = kinds.setdefault((told[1], told[2]), {})
            if told[3] not in best or one["seconds"] < best[told[3]]["seconds"]:
                best[told[3]] = one
    rows = []
    for (name, precision), ways in kinds.items():
        ours = {
            tag: one for tag, one in measured({4: steps}).items()
            if re.match(rf"{re.escape(name)}-b\d+-{precision}-", tag)
        }
        if not ours:
            continue
        fastest = min(ours.values(), key=lambda one: one["seconds"])
        rows.append([
            f"{name} {precision}", "Plimsoll, traced" if fastest.get("traced") else "Plimsoll",
            f"{1e3 * fastest['seconds']:.1f}",
            f"{fastest['arena_bytes'] / MIB:,.0f}", ""
        ])
        for how, title in WAYS.items():
            if how not in ways:
                continue
            other = ways[how]
            fitting = [
                one for one in ours.values() if how in ("eager", "compile") or one["arena_bytes"] <= other["peak_bytes"]
            ]
            against = min(fitting, key=lambda one: one["seconds"], default=None)
            ratio = "none fits" if against is None else f"{other['seconds'] / against['seconds']:.2f}"
            if against is not None and against is not fastest:
                ratio += f" (Plimsoll: {1e3 * against['seconds']:.1f} ms in {against['arena_bytes'] / MIB:,.0f} MiB)"
            rows.append(
                ["", f"PyTorch, {title}", f"{1e3 * other['seconds']:.1f}", f"{other['peak_bytes'] / MIB:,.0f}", ratio])
    lines = table(["network", "", "iteration, ms", "memory, MiB", "time over that of Plimsoll"], rows)
    if any(one.get("traced") for one in steps.values()):
        lines += ["A traced run has an event before and after each task and takes slightly longer.", ""]
    return lines


def left_out(results):
    rows = []
    for part, steps in results.items():
        for name, one in steps.items():
            if name in SETTINGS and "error" not in one:
                continue
            if "error" in one:
                rows.append([part, name, "error: " + one["error"].strip().splitlines()[-1][:160]])
            elif "skipped" in one:
                rows.append([part, name, "skipped: " + one["skipped"]])
            elif one.get("passed") is False:
                rows.append([part, name, "**failed** " + " ".join(one.get("not_as_planned", []))[:160]])
    return table(["part", "step", ""], rows) or ["Nothing that ran failed.", ""]


def page(results):
    machine = next((steps["machine"] for steps in results.values() if "gpu" in steps.get("machine", {})), {})
    about, date = device(machine)
    lines = [
        "# On a GPU", "",
        f"{date + ': ' if date else ''}{about}. Written by `tools/gpu_check.sh report`; gpu.json has all figures.", ""
    ]
    sections = [("Operators", operators(results.get(1, {}))),
                ("Training compared with PyTorch", against_pytorch(results.get(1, {}), results.get(2, {}))),
                ("Speed compared with PyTorch", throughput(results.get(4, {}))),
                ("Predicted and measured", predictions(results))]
    for steps in results.values():
        for name, one in steps.items():
            if "table" in one and name not in ("operators", "aims"):
                sections.append((name, ["```", *one["table"], "```", ""]))
            elif "skipped" not in one and ("exits" in one or name.startswith("compute-sanitizer")):
                sections.append((name, ["No error." if one.get("passed") else "**Errors**: see gpu.json.", ""]))
    sections.append(("Failed, or left out", left_out(results)))
    for title, text in sections:
        if text:
            lines += [f"## {title}", "", *text]
    return "\n".join(lines).rstrip() + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = {}
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "part-[1-5].json"))):
        results[int(path[-6])] = json.load(open(path))
    if not results:
        sys.exit(f"error: '{sys.argv[1]}' has no results of a GPU; dry runs do not count")
    with open(os.path.join(sys.argv[2], "gpu.json"), "w") as out:
        json.dump(
            {
                part: {
                    name: {key: value for key, value in one.items() if key not in PRIVATE}
                    for name, one in steps.items()
                } for part, steps in results.items()
            }, out, indent=1, sort_keys=True)
        out.write("\n")
    text = page(results)
    with open(os.path.join(sys.argv[2], "gpu.md"), "w") as out:
        out.write(text)
    print(text, end="")


if __name__ == "__main__":
    main()
