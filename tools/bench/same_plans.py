#!/usr/bin/env python3
"""Checks that a change of the compiler changes no plan: compares the sha256 of every plan.json over a corpus of cells.

A cell is a network of the zoo and options of `plimsoll plan`: a device model as --costs, a policy, a budget, a number
of ranks. No cell measures anything, so plans depend only on the compiler. Those of `--costs host` and `--target cuda`
also depend on the processor and on the installed cuDNN, so a record is valid for the machine that made it. Two fields
differ between equal plans and are left out: the generator's version and the planning time. If a cell has no plan, the
exit code is used instead of the hash.

  two compilers    same_plans.py --plimsoll build/bin/plimsoll --against OTHER/bin/plimsoll
  before, after    same_plans.py --plimsoll build/bin/plimsoll --record FILE, and later --check FILE

--quick uses 60 cells of small networks and takes about a minute. Without it, all networks of the zoo in the usual size,
under every policy, take hours. Exit code: 0 if all cells are the same; 1 if some differ (they are printed, and with
--work both plans are kept); 2 for a usage error. The profiler in the compiler's folder computes the workspaces of
--target cuda: copy it together with the compiler.

usage: same_plans.py --plimsoll build/bin/plimsoll (--against OTHER | --record FILE | --check FILE | --list)
                     [--quick] [--only REGEX] [--jobs 2] [--work DIR]
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import typing

SMALL = ["lenet", "resnet20:width=8", "unet:input=32,width=8,depth=2",
         "mobilenet_v2:input=32,stem=cifar,percent=25",
         "densenet121:input=32,stem=cifar,growth=8", "lstm:steps=4,hidden=32",
         "gpt:layers=2,width=64,heads=4,context=32,vocab=256",
         "vit:layers=1,width=64,heads=4,mlp=128,input=32,patch=8"]
RULES = ["superneurons", "modnn", "dymem", "vdnn", "chen"]
# Options of the network passes other than their defaults: (network, options).
TRAINED_OTHERWISE = [("resnet20:width=8", "--freeze *conv1* --optimizer adam"),
                     ("resnet20:width=8", "--frozen-statistics * --clip-norm 1"),
                     ("lenet", "--loss mse --optimizer sgd"),
                     ("resnet20:width=8", "--layout nChw16c --sub-batch 4")]
ON_GPU = ["lenet", "resnet20:width=8", "resnet20:width=8 --layout nhwc"]


class Cell(typing.NamedTuple):
    spec: str
    options: str

    def __str__(self):
        return f"{self.spec} {self.options}"


def cell(spec, device, policy, budget, more="", ranks=1):
    options = f"--costs {device} --policy {policy} --budget {budget}"
    options += f" --ranks {ranks}" if ranks > 1 else ""
    return Cell(spec, f"{options} {more}".strip())


def quick_corpus(policies):
    recipes = [name for name in policies if name not in ("auto", "liveness")]
    cells = []
    for index, spec in enumerate(SMALL):
        cells.append(cell(spec, "p100", "auto", "60%"))
        cells.append(cell(spec, "h200", "auto", "30%", "--effort 0 --batch-norm split"))
        cells.append(cell(spec, "host", "auto", "50%", "--effort 0", ranks=2))
        cells.append(cell(spec, "k40m", "liveness", "100%"))
        for recipe in (recipes[2 * index % len(recipes)], recipes[(2 * index + 1) % len(recipes)]):
            cells.append(cell(spec, "titanx", recipe, "80%"))
    cells += [Cell("alexnet", f"--rules {rules} --policy liveness") for rules in RULES]
    return cells + special_cells("--effort 0")


def full_corpus(networks, policies):
    cells = []
    for spec in networks:
        for policy in policies:
            for device in ("p100", "h200", "host"):
                cells += [cell(spec, device, policy, budget) for budget in ("100%", "60%", "30%")]
            cells.append(cell(spec, "h200", policy, "60%", ranks=2))
            cells.append(cell(spec, "p100", policy, "40%", "--batch-norm split"))
        cells += [Cell(spec, f"--rules {rules} --policy {policy}")
                  for rules in RULES for policy in policies if policy != "auto"]
    return cells + quick_corpus(policies) + special_cells("--effort 1")


def special_cells(effort):
    cells = [cell(spec, "host", "auto", "70%", f"{effort} {options}") for spec, options in TRAINED_OTHERWISE]
    for named in ON_GPU:
        spec, _, options = named.partition(" ")
        cells.append(cell(spec, "h200", "auto", "60%", f"--target cuda {effort} {options}".strip()))
    return cells


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def policies_of(plimsoll):
    """The policies, in the order of `plimsoll plan --help`."""
    table = re.split(r"\n  --policy[ =]", run([plimsoll, "plan", "--help"]))[1].split("\n  -")[0]
    return re.findall(r"^ {8,}([a-z][^ \n]*)  ", table, re.MULTILINE)


def networks_of(plimsoll):
    return [line.split()[0] for line in run([plimsoll, "model", "--list"]).splitlines() if line[:1].strip()]


def model_file(plimsoll, work, spec):
    path = os.path.join(work, re.sub(r"[^a-z0-9_]", "-", spec) + ".onnx")
    if not os.path.exists(path):
        run([plimsoll, "model", spec + ("," if ":" in spec else ":") + "init=zeros", "-o", path])
    return path


def without_what_differs(text):
    for pattern in (r'"generator": "[^"]*"', r'"planning_seconds": [-+.0-9e]+'):
        text, count = re.subn(pattern, "", text)
        if count != 1:
            sys.exit(f"a plan has {count} fields like {pattern} when it should have one: the format has changed")
    return text


def plan(plimsoll, work, one):
    """The plan without the fields that may differ, or "exit N"."""
    command = [plimsoll, "plan", model_file(plimsoll, work, one.spec), "--batch", "8", "--jobs", "1", "-q", "-o", "-",
               *one.options.split()]
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(work, "cache"))
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return without_what_differs(done.stdout) if done.returncode == 0 else f"exit {done.returncode}"


def hash_of(answer):
    return answer if answer.startswith("exit ") else hashlib.sha256(answer.encode()).hexdigest()


def keep(work, number, answers):
    paths = []
    for whose, answer in answers:
        paths.append(os.path.join(work, f"differs-{number}-{whose}.json"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(answer)
    return " ".join(paths)


def compare(args, cells, work):
    """The hashes by cell, and the number of cells that differ."""
    recorded = None
    if args.check:
        with open(args.check, encoding="utf-8") as file:
            recorded = json.load(file)

    def ask(one):
        ours = plan(args.plimsoll, work, one)
        if args.against:
            theirs = plan(args.against, work, one)
            return ours, theirs, hash_of(theirs)
        return ours, None, recorded.get(str(one), "no record") if recorded is not None else hash_of(ours)

    hashes, differ = {}, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for number, (one, (ours, theirs, expected)) in enumerate(zip(cells, pool.map(ask, cells))):
            hashes[str(one)] = hash_of(ours)
            if hashes[str(one)] == expected:
                continue
            differ += 1
            print(f"DIFFERS {one}: {hashes[str(one)][:12]} when it should be {expected[:12]}", flush=True)
            if args.work:
                kept = keep(work, number, [("ours", ours)] + ([("theirs", theirs)] if theirs is not None else []))
                print(f"        {kept}", flush=True)
    return hashes, differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True, help="the compiler")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--against", metavar="OTHER", help="another build of the compiler")
    way.add_argument("--record", metavar="FILE", help="write the hashes")
    way.add_argument("--check", metavar="FILE", help="compare with recorded hashes")
    way.add_argument("--list", action="store_true", help="print the cells and plan nothing")
    parser.add_argument("--quick", action="store_true", help="60 cells of small networks")
    parser.add_argument("--only", metavar="REGEX", default="", help="cells whose line (--list) matches")
    parser.add_argument("--jobs", type=int, default=1, help="number of concurrent cells")
    parser.add_argument("--work", metavar="DIR", help="folder for models and differing plans; by default none are kept")
    args = parser.parse_args()
    policies = policies_of(args.plimsoll)
    corpus = quick_corpus(policies) if args.quick else full_corpus(networks_of(args.plimsoll), policies)
    cells = [one for one in dict.fromkeys(corpus) if re.search(args.only, str(one))]
    if not cells:
        parser.error(f"no cell matches --only {args.only}")
    if args.list:
        print("\n".join(map(str, cells)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or temporary
        os.makedirs(work, exist_ok=True)
        for spec in dict.fromkeys(one.spec for one in cells):
            model_file(args.plimsoll, work, spec)  # here, because concurrent cells share it
        hashes, differ = compare(args, cells, work)
    if args.record:
        with open(args.record, "w", encoding="utf-8") as file:
            json.dump(hashes, file, indent=1)
            file.write("\n")
    without = sum(each.startswith("exit ") for each in hashes.values())
    outcome = "recorded" if args.record else f"{differ} differ"
    print(f"{len(hashes)} cells, {without} of them without a plan; {outcome}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
