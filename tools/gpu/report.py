#!/usr/bin/env python3
"""Writes results/part-*.json of gpu_check.sh as one JSON file and one page of tables.

usage: report.py RESULTS OUT-DIRECTORY
"""
import glob
import json
import os
import sys

TITLES = {1: "Operators: cuda against the host", 2: "Three iterations against PyTorch", 3: "Predicted and measured",
          4: "Throughput", 5: "Beyond the card"}


def cell(result):
    told = []
    if "error" in result:
        told.append("error: " + result["error"].strip().splitlines()[-1][:100])
    if "passed" in result:
        told.append("ok" if result["passed"] else "**failed**")
    told += [line.splitlines()[0] for line in result.get("warnings", [])]
    for key, value in result.items():
        if key in ("took_seconds", "passed", "error", "output", "table", "losses", "torch_losses", "links", "real", "described"):
            continue
        if value is None or isinstance(value, (list, dict)):
            continue
        if key.endswith("seconds"):
            told.append(f"{key.replace('_', ' ')} {value:.6f}")
        elif key.endswith("bytes"):
            told.append(f"{key.replace('_', ' ')} {value / 2**20:.1f} MiB")
        elif isinstance(value, float):
            told.append(f"{key.replace('_', ' ')} {value:.3g}")
        else:
            told.append(f"{key.replace('_', ' ')} {value}")
    return ", ".join(told).replace("|", "\\|")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = {}
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "part-[1-5].json"))):
        results[int(path[-6])] = json.load(open(path))
    if not results:
        sys.exit(f"error: '{sys.argv[1]}' has no results of a GPU; dry runs do not count")
    with open(os.path.join(sys.argv[2], "gpu.json"), "w") as out:
        json.dump(results, out, indent=1, sort_keys=True)
        out.write("\n")
    lines = ["# On a GPU", "", "Written by `tools/gpu_check.sh report`; gpu.json has all figures."]
    for part, steps in results.items():
        lines += ["", f"## {part}. {TITLES[part]}", ""]
        lines += ["| | |", "|---|---|"] + [f"| {name} | {cell(result)} |" for name, result in steps.items()]
        for result in steps.values():
            if "table" in result:
                lines += ["", "```", *result["table"], "```"]
    with open(os.path.join(sys.argv[2], "gpu.md"), "w") as out:
        out.write("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
