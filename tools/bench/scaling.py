#!/usr/bin/env python3
"""What a plan's iteration takes on more cores: a roofline per task, and the serial part by Amdahl's law.

Computed from plan.json, not measured. A task with `flops` and `bytes_moved` takes on n cores

    max(flops / (n F), bytes / min(n b, B)) + fork

with F the arithmetic of a core, b the memory bandwidth that one core can use, and B that of the machine. n is the
number of cores that the task's work items keep busy: i items on n cores take as many turns as i / n rounded up. `fork`
is the time in which one thread starts and ends a parallel region. If the plan has no copies, one thread loads the batch
between tasks. Otherwise one thread per direction runs loads, offloads and prefetches while tasks run, and an iteration
takes at least as long as either thread. Caches are left out: each operand comes from memory.

  plimsoll model resnet50 -o net.onnx && plimsoll plan net.onnx --batch 32 --costs modelled -o plan.json

usage: scaling.py PLAN.json [--cores 1,2,4,8,16,32,64] [--flops 120e9] [--core-bandwidth 12e9] [--bandwidth 300e9]
                  [--fork 1e-6] [--fork-per-core 1e-7] [--items OPERATOR[.KIND]=N]
"""
import argparse
import collections
import json


class Machine:
    def __init__(self, given):
        self.flops, self.core_bandwidth, self.bandwidth = given.flops, given.core_bandwidth, given.bandwidth
        self.fork, self.fork_per_core = given.fork, given.fork_per_core
        self.items = dict((name, int(count)) for name, count in (item.split("=") for item in given.items))

    def busy(self, task, cores):
        """The cores that a task keeps busy on average."""
        items = self.items.get(f"{task['op']}.{task['kind']}", self.items.get(task["op"]))
        return cores if items is None else items / -(-items // cores)

    def task(self, task, cores):
        """(seconds, what takes them)"""
        busy = self.busy(task, cores)
        arithmetic = task["flops"] / (busy * self.flops)
        memory = task["bytes_moved"] / min(busy * self.core_bandwidth, self.bandwidth)
        return (arithmetic, "arithmetic") if arithmetic > memory else (memory, "memory")

    def fork_seconds(self, cores):
        return 0 if cores == 1 else self.fork + self.fork_per_core * cores

    def copy(self, size):
        """A copy by one thread reads and writes its bytes."""
        return 2 * size / self.core_bandwidth


class Iteration:
    """Seconds of one iteration on some number of cores, by what takes them."""

    def __init__(self, plan, machine, cores):
        self.parts, self.operators = collections.Counter(), collections.Counter()
        copies = collections.Counter()
        apart = any(step["kind"] in ("offload", "prefetch") for step in plan["steps"])
        for step in plan["steps"]:
            if step["kind"] == "compute":
                task = plan["tasks"][step["task"]]
                seconds, what = machine.task(task, cores)
                self.parts[what] += seconds
                self.parts["fork"] += machine.fork_seconds(cores)
                self.operators[task["op"], task["kind"]] += seconds + machine.fork_seconds(cores)
            elif step["kind"] in ("load", "offload", "prefetch"):
                seconds = machine.copy(plan["tensors"][step["tensor"]]["bytes"])
                if apart:
                    copies[step["stream"]] += seconds
                else:
                    self.parts["load"] += seconds
        for what in self.parts:
            self.parts[what] *= plan["rounds"]
        self.copies = plan["rounds"] * max(copies.values(), default=0)
        self.seconds = max(sum(self.parts.values()), self.copies)


def serial_share(speedup, cores):
    """The serial part with which Amdahl's law gives this speed-up (Karp and Flatt, 1990)."""
    return (cores / speedup - 1) / (cores - 1)


def report(plan, machine, counts):
    one = Iteration(plan, machine, 1)
    print("| cores | seconds | speed-up | serial part | arithmetic | memory | fork | load | copies |")
    print("|---|---|---|---|---|---|---|---|---|")
    for cores in counts:
        now = Iteration(plan, machine, cores)
        speedup = one.seconds / now.seconds
        serial = "" if cores == 1 else f"{100 * serial_share(speedup, cores):.2f} %"
        shares = " | ".join(f"{100 * seconds / now.seconds:.1f} %" for seconds in
                            [now.parts[what] for what in ("arithmetic", "memory", "fork", "load")] + [now.copies])
        print(f"| {cores} | {now.seconds:.3f} | {speedup:.1f} | {serial} | {shares} |")
    print(f"\nOperators on {counts[-1]} cores:\n\n| operator | share | speed-up |\n|---|---|---|")
    last = Iteration(plan, machine, counts[-1])
    for key, seconds in last.operators.most_common(8):
        share = 100 * plan["rounds"] * seconds / last.seconds
        print(f"| {key[0]}, {key[1]} | {share:.1f} % | {one.operators[key] / seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("--cores", default="1,2,4,8,16,32,64")
    parser.add_argument("--flops", type=float, default=120e9, help="of a core, in one second")
    parser.add_argument("--core-bandwidth", type=float, default=12e9, help="bytes per second of one core")
    parser.add_argument("--bandwidth", type=float, default=300e9, help="bytes per second of all cores")
    parser.add_argument("--fork", type=float, default=1e-6, help="seconds to start and end a parallel region")
    parser.add_argument("--fork-per-core", type=float, default=1e-7, help="and for each core")
    parser.add_argument("--items", action="append", default=[], metavar="OPERATOR[.KIND]=N",
                        help="work items of its tasks")
    given = parser.parse_args()
    with open(given.plan, encoding="utf-8") as file:
        plan = json.load(file)
    report(plan, Machine(given), [int(cores) for cores in given.cores.split(",")])


if __name__ == "__main__":
    main()
