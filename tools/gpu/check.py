#!/usr/bin/env python3
"""The half of gpu_check.sh that runs on the machine with the GPU. It builds what prepare.py left, runs it, and stores
the measurements in results/part-N.json, step by step, so that an interrupted part can continue. Failures are reported
and skipped.

usage: check.py --dir DIR [--part N] [--dry-run] [--minutes 9] [--out DIR] [--work DIR]

  --part N    that part; otherwise all of them, the most informative first: whether kernels compute the right results,
              then one network through every part, then the others, then sanitizers, and at last the steps that failed
              before. Everything within the minutes
  --dry-run   no GPU: everything is built, and PyTorch's networks run on the CPU with a small batch; nothing is measured
  --work DIR  where everything is built and run; by default a folder in the system's folder for temporary files. The
              results are copied back to --dir at the end
  --out DIR   after each step all results so far are also written there, as results.tar.gz: the machine may be released
"""
import argparse
import json
import os
import subprocess
import sys
import time
import traceback

BEGAN = time.time()
BAD, LATE, LOST = 3, 10, 75
# The process that does the work: "first", or "another" after a step has ended the previous one.
INSIDE = "PLIMSOLL_GPU_CHECK"


def table(results):
    width = max([len(name) for name in results] + [4])
    lines = []
    for name, result in results.items():
        if "table" in result:
            lines += result["table"]
            continue
        told = []
        if "error" in result:
            told.append("ERROR " + result["error"].strip().splitlines()[-1][:90])
        if "skipped" in result:
            told.append("skipped: " + result["skipped"])
        if "passed" in result:
            told.append("ok" if result["passed"] else "FAILED")
        if "not_as_planned" in result:
            told.append(result["not_as_planned"][0].splitlines()[0][:120])
        for key in ("first_loss_apart", "loss_apart", "torch_loss_spread", "weights_apart", "torch_spread"):
            if key in result:
                told.append(f"{key} {result[key]:.1e}")
        if "seconds" in result:
            told.append(f"{1e3 * result['seconds']:.2f} ms")
        if result.get("predicted_seconds"):
            told.append(
                f"predicted {1e3 * result['predicted_seconds']:.2f} ms "
                f"({100 * (result['seconds'] / result['predicted_seconds'] - 1):+.0f} %)"
            )
        for key in ("arena_bytes", "peak_bytes"):
            if key in result:
                told.append(f"{result[key] / 2**20:.0f} MiB")
        for key in ("same_bits", "arena_as_planned", "workspaces_other", "cases", "built"):
            if key in result:
                told.append(f"{key} {result[key]}")
        lines.append(f"{name:{width}}  " + ", ".join(told or ["ok"]))
    return lines


def stages(index):
    """(part, its networks, with long steps?, with failed steps?, only its profiles?), the most valuable results first:
    whether results are right, and then the profiles, because throughput should be planned with them (part 4 leaves out
    trainers with modelled costs until the failed steps' turn)."""
    measured = [t["name"] for t in index if t["part"] in (2, 3, 4)]
    first = {"resnet50"} if "resnet50" in measured else set(measured[:1])
    profiles = [(3, first, True, False, True), (3, None, True, False, True)]
    right = [(1, None, False), (2, first, False)]
    rest = [(4, first, False), (3, first, False), (2, None, False), (4, None, False), (5, None, True), (4, first, True),
            (3, None, False), (4, None, True), (1, None, True), (2, None, True), (3, None, True)]
    return ([(*stage, False, False) for stage in right] + profiles + [(*stage, False, False) for stage in rest]
            + [(part, None, True, True, False) for part in range(1, 6)])


def supervised(minutes):
    """Runs the steps in child processes. A device that hangs or faults ends the process; the next one continues after
    the step."""
    ends, code = BEGAN + 60 * minutes, 0
    for which in ("first", "another", "another", "another"):
        code = subprocess.call([sys.executable, *sys.argv, "--minutes",
                                str((ends - time.time()) / 60)], env={**os.environ, INSIDE: which})
        if code in (0, 2, BAD, LATE) or time.time() > ends:
            break
        print(f"that process has ended (exit {code})", flush=True)
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--part", type=int, choices=range(1, 6))
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--out")
    parser.add_argument("--work")
    args = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import workplace
    prepared, args.dir = args.dir, os.path.abspath(args.work or workplace.default_workplace(args.dir))
    if INSIDE not in os.environ:
        workplace.brought_in(prepared, args.dir)
        print(f"builds are in {args.dir}", flush=True)
        try:
            code = supervised(args.minutes)
        finally:
            workplace.brought_back(args.dir, prepared)
        sys.exit(1 if code == BAD else code)
    ends, another = BEGAN + 60 * args.minutes, os.environ[INSIDE] == "another"
    import parts
    import torch
    from session import Check

    if not args.dry_run and not torch.cuda.is_available():
        print("error: PyTorch sees no GPU here; --dry-run does everything that needs no GPU", file=sys.stderr)
        sys.exit(BAD)
    with open(f"{args.dir}/index.json") as given:
        index = json.load(given)
    prepared = {t["part"] for t in index}
    if any(name.endswith(".tasks.json") for name in os.listdir(f"{args.dir}/networks")):
        prepared.add(3)  # profiles need no trainer
    if args.part and args.part not in prepared:
        print(f"error: part {args.part} was not prepared, only {sorted(prepared)}", file=sys.stderr)
        sys.exit(BAD)
    results, late = {}, False
    for part, only, thorough, again, profiles in [(args.part, None, True, True, False)] if args.part else stages(index):
        if part not in prepared or (again and another and not args.part):
            continue
        print(f"part {part}{', profiles' if profiles else ''}{' of ' + ', '.join(sorted(only)) if only else ''}"
              f"{', dry run' if args.dry_run else ' on ' + torch.cuda.get_device_name()}", flush=True)
        check = Check(args, part, ends, only, thorough, again and not another, last=again)
        try:
            getattr(parts, "profiles" if profiles else f"part{part}")(check)
        except Exception as error:  # noqa: BLE001  the failure of one part must not stop the others
            traceback.print_exc()
            check.results[f"part {part}"] = {"error": repr(error)}
        results[part] = check.results
        if check.lost:
            sys.exit(LOST)
        late = late or check.late
        if late:
            break
    for part, of_part in sorted(results.items()):
        print(f"\npart {part}\n" + "\n".join(table(of_part)))
    better = parts.planned_better(args, index) if not args.dry_run else []
    if better:
        print(
            f"\n{len(better)} trainers of part 4 are planned with modelled costs, and the measured profiles are here "
            "by now: unpack "
            "results.tar.gz in the prepared folder, and run: gpu_check.sh prepare --part 4")
    bad = [
        name for of_part in results.values() for name, r in of_part.items() if "error" in r or r.get("passed") is False
    ]
    if late:
        print(f"\ntime is up: run {f'part {args.part}' if args.part else 'it'} again to go on")
        sys.exit(LATE)
    sys.exit(BAD if bad else 0)


if __name__ == "__main__":
    main()
