"""The results of plimsoll-replay-cuda --results as a table. Needs no packages."""
import json

BOUNDS = {"fp32": 1e-5, "tf32": 5e-3, "bf16": 5e-3, "fp16": 1e-3}  # as in runtime/profile/replay.cpp


def replay_table(paths):
    """Collects the lines of these files: a row for each kernel. `failures` has up to 40 for each."""
    kernels, kernel_of, not_built = {}, {}, 0
    for path in paths:
        for line in open(path, errors="replace"):
            try:
                told = json.loads(line)
            except ValueError:
                continue  # the process ended while it wrote this line
            if "kernel" in told:
                kernel_of[told["case"]] = told["kernel"]
            row = kernels.setdefault(kernel_of.get(told["case"], "?"),
                                     {"cases": set(), "algorithms": set(), **dict.fromkeys(BOUNDS, 0.0), "bad": []})
            row["cases"].add(told["case"])
            not_built += "not_built" in told
            if "error" in told:
                row["bad"].append(f"{told['case']}: {told['error']}")
            elif "far" in told:
                row["algorithms"].add((told["case"], told["algorithm"]))
                precision = told["precision"]
                far = told["far"] if isinstance(told["far"], (int, float)) else float("inf")
                row[precision] = max(row[precision], far)
                if far > BOUNDS[precision]:
                    row["bad"].append(f"{told['case']}, {told['algorithm']}, operand {told['operand']}: {far:.1e}")
    lines = [f"{'kernel':26} {'cases':>5} {'algorithms':>10} {'fp32':>9} {'tf32':>9} {'bf16':>9} {'fp16':>9}"]
    for kernel, row in sorted(kernels.items()):
        bad = f"  FAILED {len(row['bad'])}: {row['bad'][0][:160]}" if row["bad"] else ""
        lines.append(f"{kernel:26} {len(row['cases']):5} {len(row['algorithms']):10} "
                     f"{row['fp32']:9.1e} {row['tf32']:9.1e} {row['bf16']:9.1e} "
                     f"{row['fp16']:9.1e}{bad}")
    failures = {kernel: row["bad"][:40] for kernel, row in kernels.items() if row["bad"]}
    cases = sum(len(row["cases"]) for row in kernels.values())
    return {
        "table": lines, "failures": failures, "cases": cases, "not_built": not_built, "passed": cases > 0
        and not failures
    }


def forget_unended(path):
    """Removes an unfinished case that was not ended by its kernel, so that the next process tries it again."""
    told = []
    for line in open(path, errors="replace"):
        try:
            told.append(json.loads(line))
        except ValueError:
            continue
    done = {one["case"] for one in told if "ended" in one}
    with open(path, "w") as out:
        out.writelines(json.dumps(one) + "\n" for one in told if one["case"] in done)
