#!/usr/bin/env python3
"""Tests the properties of every plan of `auto`, over the networks of the zoo. Each plan is a `plimsoll plan` of its
own, independent of the others.

  budget   every budget from summary.minimum_bytes on has a plan within it; one byte less exits 6 and names that minimum
  time     never rises with the budget
  rivals   no other policy that fits is faster
  whole    under --batch-norm whole, the default, a network with batch normalization has one round

A case is a network, a device, a batch, a setting of --batch-norm (`split` only with batch normalization) and the
options of --with. Its budgets are drawn between the minimum and the unlimited arena, in pairs that are close together,
where a lucky plan would break the rules. Each pass draws other budgets, until all passes or the seconds are over. With
--draw it also draws that many of the cases.

usage: laws.py --plimsoll build/bin/plimsoll --work DIR [--only lenet;resnet18:input=64] [--devices p100,h200]
               [--batch 8,13] [--effort 1] [--with "--optimizer adam;--ranks 2;--host-budget HALF"] [--draw 20]
               [--pairs 3] [--rivals 1] [--passes 1] [--seconds 3600] [--seed 1] [--jobs 1] [--write]
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys
import time
import typing

import tables

NEAR = 1 + 1e-9  # times may be sums of the same figures in another order


class Case(typing.NamedTuple):
    spec: str
    device: str
    batch: int
    setting: str
    options: str = ""  # HALF stands for half of the host pool of the minimum plan without this option

    def __str__(self):
        return f"{self.spec} {self.device} batch {self.batch} {self.setting}" + (f" {self.options}"
                                                                                 if self.options else "")


class Laws:
    def __init__(self, args):
        self.args = args
        self.deadline = time.monotonic() + args.seconds
        self.policies = [name for name in policies(args.plimsoll) if name != "auto"]
        self.counts = dict.fromkeys(("plans", "pairs", "rivals", "least"), 0)
        self.broken = []
        self.mixing = {}

    def model(self, spec):
        path = os.path.join(self.args.work, re.sub(r"[^a-z0-9_]", "-", spec) + ".onnx")
        if not os.path.exists(path):
            run([self.args.plimsoll, "model", spec + ("," if ":" in spec else ":") + "init=zeros", "-o", path])
        return path

    def plan(self, case, policy, budget):
        """The plan, or the message if the exit code is 6. Any other result is a violation."""
        self.counts["plans"] += 1
        command = [
            self.args.plimsoll, "plan",
            self.model(case.spec), "--batch",
            str(case.batch), "--costs", case.device, "--batch-norm", case.setting, "--policy", policy, "--budget",
            str(budget), "--effort",
            str(self.args.effort), "-q", "-o", "-", *case.options.split()
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            plan = json.loads(done.stdout)
            if not budget.endswith("%") and plan["summary"]["arena_bytes"] > int(budget):
                self.complain(case, f"{policy} within {budget} takes {plan['summary']['arena_bytes']}")
            return plan, ""
        if done.returncode != 6:
            self.complain(case,
                          f"{policy} within {budget} exits {done.returncode}: {done.stderr.strip().splitlines()[:1]}")
        return None, done.stderr

    def complain(self, case, what):
        self.broken.append(f"{case}: {what}")
        print(f"BROKEN {self.broken[-1]}", flush=True)

    def hold(self, case, seed):
        if "HALF" in case.options:
            without = case._replace(options=re.sub(r"--host-budget \S+", "", case.options))
            free, _ = self.plan(without, "auto", "100%")
            tight, _ = self.plan(without, "auto", str(free["summary"]["minimum_bytes"]))
            case = case._replace(options=case.options.replace("HALF", str(tight["summary"]["host_pool_bytes"] // 2)))
        free, said = self.plan(case, "auto", "100%")
        if free is None:
            self.complain(case, f"no unlimited plan: {said.strip()}")
            return
        least, most = free["summary"]["minimum_bytes"], free["summary"]["unconstrained_bytes"]
        self.hold_least(case, least)
        # A geometric distribution, with half of the budgets slightly above the minimum, where time rises steeply.
        draw = random.Random(f"{seed} {case}")
        budgets = {least, most, max(most + 1, int(most * 1.1))}
        for i in range(self.args.pairs):
            top = most if i % 2 == 0 else least + (most - least) // 8
            low = min(int(least * math.exp(draw.random() * math.log(max(top, least + 1) / least))), most)
            budgets |= {low, low + 256 * 2 ** draw.randrange(0, 12)}
        budgets = sorted(budgets)
        rivals = set(draw.sample(budgets, min(self.args.rivals, len(budgets))))
        before = None
        for budget in budgets:
            if time.monotonic() > self.deadline:
                return
            plan, said = self.plan(case, "auto", str(budget))
            if plan is None:
                self.complain(
                    case, f"no plan within {budget}, though the minimum is {least}: {said.strip().splitlines()[:1]}")
                continue
            seconds = plan["summary"]["iteration_seconds"]
            if case.setting == "whole" and mixes_samples(
                    self, case.spec) and "--sub-batch" not in case.options and plan["rounds"] > 1:
                self.complain(case, f"{plan['rounds']} rounds within {budget}")
            if plan["summary"]["minimum_bytes"] != least:
                self.complain(
                    case,
                    f"the minimum is {plan['summary']['minimum_bytes']} within {budget}, and {least} when unlimited")
            if before is not None:
                self.counts["pairs"] += 1
                if seconds > before[1] * NEAR:
                    self.complain(case, f"{seconds} s within {budget}, {before[1]} s within {before[0]}")
            before = (budget, seconds)
            if budget in rivals:
                self.hold_against_rivals(case, budget, seconds)

    def hold_least(self, case, least):
        self.counts["least"] += 1
        plan, said = self.plan(case, "auto", str(least - 1))
        if plan is not None:
            self.complain(case, f"{least - 1} has a plan, though the minimum is {least}")
        elif f"the minimum is {least} bytes" not in said:
            self.complain(case, f"within {least - 1}, the message does not state the minimum {least}: {said.strip()}")

    def hold_against_rivals(self, case, budget, seconds):
        for policy in self.policies:
            if time.monotonic() > self.deadline:
                return
            plan, _ = self.plan(case, policy, str(budget))
            self.counts["rivals"] += 1
            if plan is not None and seconds > plan["summary"]["iteration_seconds"] * NEAR:
                self.complain(
                    case,
                    f"within {budget}, auto takes {seconds} s and {policy} {plan['summary']['iteration_seconds']} s")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def policies(plimsoll):
    return re.findall(r"^ {8,}([a-z][^ \n]*)  ",
                      re.split(r"\n  --policy[ =]", run([plimsoll, "plan", "--help"]))[1].split("\n  -")[0],
                      re.MULTILINE)


def networks(plimsoll):
    return [line.split()[0] for line in run([plimsoll, "model", "--list"]).splitlines() if line[:1].strip()]


def mixes_samples(laws, spec):
    if spec not in laws.mixing:
        laws.mixing[spec] = "BatchNormalization" in run([laws.args.plimsoll, "inspect", laws.model(spec)])
    return laws.mixing[spec]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--work", required=True, help="folder for the models")
    parser.add_argument("--only", default="", help="networks, separated by ;, default: all of the zoo")
    parser.add_argument("--devices", default="p100,h200")
    parser.add_argument("--batch", default="8", help="one or several, separated by commas")
    parser.add_argument("--with", dest="options", default="",
                        help="options of plimsoll plan, separated by ;, one case for each")
    parser.add_argument("--draw", type=int, default=0, help="number of cases to draw in each pass, default: all")
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=3, help="pairs of budgets per case and pass")
    parser.add_argument("--rivals", type=int, default=1,
                        help="budgets at which all policies are compared, per case and pass")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the result to docs/benchmarks/planner.md")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    laws = Laws(args)
    specs = args.only.split(";") if args.only else networks(args.plimsoll)
    cases = [
        Case(spec, device, int(batch), setting, options.strip()) for spec in specs for device in args.devices.split(",")
        for batch in args.batch.split(",") for options in args.options.split(";")
        for setting in (["whole", "split"] if mixes_samples(laws, spec) else ["whole"])
    ]
    done = set()

    def hold(job):
        seed, case = job
        if time.monotonic() > laws.deadline:
            return
        laws.hold(case, seed)
        done.add(case)
        print(f"{seed} {case}: {laws.counts}, {len(laws.broken)} violations", file=sys.stderr, flush=True)

    jobs = []
    for seed in range(args.seed, args.seed + args.passes):
        jobs += [(seed, case)
                 for case in (random.Random(seed).sample(cases, min(args.draw, len(cases))) if args.draw else cases)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(hold, jobs))
    options = ", ".join(each.strip() or "nothing" for each in args.options.split(";"))
    text = (
        f"{len({case.spec for case in done})} networks on {args.devices.replace(',', ' and ')}, {len(done)} of "
        f"{len(cases)} cases at batch {args.batch.replace(',', ', ')} and "
        f"effort {args.effort}{f', with {options}' if args.options else ''}: "
        f"{laws.counts['plans']} plans, {laws.counts['pairs']} pairs of budgets, {laws.counts['rivals']} plans of "
        "other policies, "
        f"{laws.counts['least']} budgets of one byte less than the minimum; {len(laws.broken)} violations.")
    print(text)
    if args.write:
        tables.put("laws", [text] + [f"- {each}" for each in laws.broken])
    sys.exit(1 if laws.broken or not done else 0)


if __name__ == "__main__":
    main()
