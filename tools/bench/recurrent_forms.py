#!/usr/bin/env python3
"""The two forms of an LSTM or GRU beside each other: time of an iteration, arena and minimum, unrolled and fused.

Each network is compiled in both forms, with modelled costs and an unlimited budget. The trainers run in turn, and the
least time of each counts. By default it is the processor time of one thread, which other programs disturb little.

usage: recurrent_forms.py --plimsoll build/bin/plimsoll [--runtime build] [--work DIR] [--rounds 4] [--only NAME]
                          [--op LSTM|GRU] [--reset-first]
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES = 10
GATES = {"LSTM": 4, "GRU": 3}
# steps, features, size of the state, batch
NETWORKS = {"small": (50, 32, 64, 16), "medium": (50, 128, 128, 32), "large": (50, 512, 512, 32)}


def save(path, op, reset_first, steps, features, size):
    rows, more = GATES[op] * size, {"linear_before_reset": int(not reset_first)} if op == "GRU" else {}
    chance = np.random.RandomState(3)
    draw = lambda *dims: (chance.uniform(-1, 1, dims) / np.sqrt(size)).astype(np.float32)
    weights = {"w": draw(1, rows, features), "r": draw(1, rows, size), "b": draw(1, 2 * rows),
               "head": draw(size, CLASSES), "rows": np.array([-1, size], np.int64)}
    nodes = [helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0, 2]),
             helper.make_node(op, ["turned", "w", "r", "b"], ["", "h"], name="steps", hidden_size=size, **more),
             helper.make_node("Reshape", ["h", "rows"], ["last"]), helper.make_node("MatMul", ["last", "head"], ["y"])]
    value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))
    graph = helper.make_graph(nodes, "g", [value("x", "N", steps, features)], [value("y", "N", CLASSES)],
                              [numpy_helper.from_array(data, name) for name, data in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)


def run(command, **more):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)


def compiled(arguments, model, form, batch, directory):
    run([arguments.plimsoll, "compile", model, "-o", directory, "-q", "--batch", str(batch), "--costs", "modelled",
         "--threads", "1", "--optimizer", "adam", "--recurrence", form, "--budget", "100%", "--effort", "0"])
    run(["cmake", "-S", directory, "-B", f"{directory}/build", f"-DPLIMSOLL_RUNTIME={arguments.runtime}"])
    run(["cmake", "--build", f"{directory}/build"])
    with open(f"{directory}/plan.json") as file:
        return json.load(file)["summary"]


def processor_seconds(trainer, data, iterations):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run([trainer, "--data", data, "--no-shuffle", "--quiet", "--epochs", str(iterations)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--runtime", default="build")
    parser.add_argument("--work", default=None)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", choices=sorted(NETWORKS))
    parser.add_argument("--op", choices=sorted(GATES), default="LSTM")
    parser.add_argument("--reset-first", action="store_true", help="of a GRU: before the product, as ONNX's default")
    arguments = parser.parse_args()
    arguments.runtime = os.path.abspath(arguments.runtime)
    work = arguments.work or tempfile.mkdtemp()
    print("| network | form | processor time, ms | arena, MiB | minimum, MiB |\n|---|---|---|---|---|")
    for name, (steps, features, size, batch) in NETWORKS.items():
        if arguments.only not in (None, name):
            continue
        model = f"{work}/{name}.onnx"
        save(model, arguments.op, arguments.reset_first, steps, features, size)
        chance = np.random.RandomState(1)
        np.save(f"{work}/{name}.x.npy", chance.randn(batch, steps, features).astype(np.float32))
        np.save(f"{work}/{name}.y.npy", chance.randint(0, CLASSES, batch).astype(np.int32))
        data = f"npy:{work}/{name}.x.npy,{work}/{name}.y.npy"
        forms = {form: compiled(arguments, model, form, batch, f"{work}/{name}.{form}") for form in
                 ("unrolled", "fused")}
        iterations = 21
        least = {}
        for _ in range(arguments.rounds):
            for form in forms:
                trainer = f"{work}/{name}.{form}/build/train"
                seconds = processor_seconds(trainer, data, iterations) - processor_seconds(trainer, data, 1)
                least[form] = min(least.get(form, seconds), seconds)
        for form, summary in forms.items():
            print(f"| {name}: {steps} steps, {features} inputs, {size} states, batch {batch} | {form} "
                  f"| {1e3 * least[form] / (iterations - 1):.2f} | {summary['arena_bytes'] / 2**20:.2f} "
                  f"| {summary['minimum_bytes'] / 2**20:.2f} |", flush=True)


if __name__ == "__main__":
    main()
