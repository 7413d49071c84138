#!/usr/bin/env python3
"""Compares recomputation alone with exact answers: a MILP (milp.py) on graphs of up to 64 tasks, a DP (chain_dp.py) on
chains.

Exact answers do not depend on our code, so exact.json stores them; --solve computes the missing ones. MILPs need HiGHS:
highspy or scipy from PyPI, or Debian's python3-scipy. Without HiGHS, answers missing from exact.json are left out, and
the output says so.

usage: exact.py --driver build/bin/recompute_only [--solve] [--time-limit 60] [--only NAME,NAME] [--shapes] [--write]
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import chain_dp
import instances
import milp
import tables

PERCENTS = [75, 50, 35, 25]
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exact.json")


def plan(args, net):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(net.text())
        file.flush()
        done = subprocess.run([args.driver, file.name, str(args.effort), *map(str, PERCENTS)], capture_output=True,
                              text=True)
    if done.returncode != 0:
        sys.exit(f"{net.name}: exit {done.returncode}: {done.stderr}")
    ours = json.loads(done.stdout)
    if ours["order"] != [row[0] for row in net.tasks()]:
        sys.exit(f"{net.name}: ours ran the tasks in another order, so the two cannot be compared")
    return ours


def key_of(net, percent):
    return f"{net.name}@{percent} {hashlib.sha256(net.text().encode()).hexdigest()[:12]}"


def load_kept():
    if not os.path.exists(KEPT):
        return {}
    with open(KEPT, encoding="utf-8") as file:
        return json.load(file)


def save_kept(kept):
    with open(KEPT, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(kept.items())) + "\n}\n")


def solve_missing(args, nets, chains, answers):
    kept = load_kept()
    jobs = []
    for net in chains:
        missing = [p for p in PERCENTS if "dp " + key_of(net, p) not in kept]
        if not missing:
            continue
        units = [answers[net.name]["bytes"] * p // 100 // instances.UNIT for p in PERCENTS]
        best = chain_dp.solve(net, max(units))
        for percent, unit in zip(PERCENTS, units):
            seconds = float(best[unit])
            kept["dp " + key_of(net, percent)] = {"seconds": seconds if seconds < chain_dp.INFINITE / 2 else None}
        save_kept(kept)
    if milp.solver() is None:
        print("no HiGHS here (highspy or scipy): no MILP is solved")
        return
    for percent in PERCENTS:
        for net in nets:
            key = "milp " + key_of(net, percent)
            if key not in kept or (args.again and kept[key]["status"] == "stopped"):
                jobs.append((len(net.tasks()), key, net, answers[net.name]["bytes"] * percent // 100 // instances.UNIT))
    jobs.sort(key=lambda job: job[:2])
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        waiting = {pool.submit(milp.solve, net, units, args.time_limit): key for _, key, net, units in jobs}
        for done in concurrent.futures.as_completed(waiting):
            key = waiting[done]
            kept[key] = dict(done.result(), solver=milp.solver(), time_limit=args.time_limit)
            print(f"{key}: {kept[key]}", flush=True)
            save_kept(kept)


def compare(nets, answers, method):
    """The rows of the table, the rows over an aim, and the number of unknown answers."""
    kept, lines, over, unknown = load_kept(), [], [], 0
    for net in nets:
        answer = answers[net.name]
        for budget in answer["budgets"]:
            ours = budget["seconds"]
            exact = kept.get(f"{method} {key_of(net, budget['percent'])}")
            if exact is None:
                unknown += 1
                continue
            best, bound = exact["seconds"], exact.get("bound")
            proved = method == "dp" or exact["status"] != "stopped"
            shown = f"{best:g}" if best is not None else "does not fit" if proved else "—"
            if not proved and bound is not None:
                shown += f" (≥ {bound:.5g})"
            lower = budget["bound"]
            if best is not None and lower is not None and lower > best * (1 + 1e-9):
                sys.exit(
                    f"{net.name} at {budget['percent']} %: the planner's bound of {lower} is above {best}, which is "
                    "possible"
                )
            gap, verdict = None, "—"
            if best is None and proved:
                verdict = "agree" if ours is None else "**ours fits**"
            elif ours is None:
                verdict, gap = "**ours does not fit**" if best is not None else "—", 1.0 if best is not None else None
            elif best is not None:
                gap = ours / best - 1
                verdict = f"{100 * gap:+.2f} %".replace("-0.00", "+0.00")
                if not proved and bound:
                    verdict += f" (≤ {100 * (ours / bound - 1):.1f} %)"
            if gap is not None and gap > (0.01 if method == "milp" else 1e-9):
                verdict = f"**{verdict.replace('**', '')}**"
                over.append((net.name, budget, best, gap))
            lines.append(
                f"| {net.name} | {len(net.tasks())} | {budget['percent']:g} % | {shown} | "
                f"{'—' if ours is None else f'{ours:g}'} | {verdict} | "
                f"{'—' if ours is None or lower is None else f'{lower:.5g}'} |"
            )
    return lines, over, unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--solve", action="store_true", help="compute the exact answers that exact.json lacks")
    parser.add_argument("--again", action="store_true", help="with --solve: also those stopped by the time limit")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds per MILP")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="names of instances, separated by commas")
    parser.add_argument("--shapes", action="store_true", help="print the plans over an aim")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/benchmarks/planner.md")
    args = parser.parse_args()
    chosen = lambda nets: [net for net in nets if not args.only or net.name in args.only.split(",")]
    nets = chosen(instances.small())
    chains = [net for net in nets if net.name.startswith("chain")] + chosen(instances.long_chains())
    answers = {net.name: plan(args, net) for net in nets + [net for net in chains if net not in nets]}
    if args.solve:
        solve_missing(args, nets, chains, answers)

    missed = 0
    for name, method, some in (("exact", "milp", nets), ("chains", "dp", chains)):
        lines, over, unknown = compare(some, answers, method)
        aim = "1 %" if method == "milp" else "0 %"
        header = [
            f"| instance | tasks | budget | {'MILP' if method == 'milp' else 'chain DP'} | ours | gap | our bound |",
            "|---|---|---|---|---|---|---|"
        ]
        note = [
            f"{len(lines)} cells, {len(over)} over the aim of {aim}" +
            (f"; {unknown} without an exact answer" if unknown else "") + "."
        ]
        print("\n".join([""] + header + lines + [""] + note))
        if args.write:
            tables.put(name, header + lines + [""] + note)
        missed += len(over)
        if args.shapes:
            for net, budget, best, gap in over:
                print(
                    f"\n{net} at {budget['percent']:g} %: exact {best}, ours {budget['seconds']}, budget "
                    f"{budget['budget'] // 256} units"
                )
                if budget["seconds"] is None:
                    print(f"  our least is {answers[net]['least_bytes'] // 256} units")
                else:
                    print(
                        f"  peak {budget['peak'] // 256} units, again: {' '.join(budget['again'])}\n  {budget['shape']}"
                    )
    seconds = [answer["planning_seconds"] for answer in answers.values()]
    print(f"\nplanning: {max(seconds):.2f} s at most, {sum(seconds) / len(seconds):.2f} s on average")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
