#!/usr/bin/env python3
"""Compares the bytes that the forward pass leaves for the backward pass: in PyTorch, and in an unlimited plan.

Neither offloads or recomputes anything then, so the bytes depend only on what each operator's backward reads. A network
for which the plan keeps more than PyTorch shows an operator that saves too much.

  PyTorch   torch.autograd.graph.saved_tensors_hooks during one forward pass in training mode. Each storage counts once,
            for the innermost module that saves it first. Parameters and buffers do not count.
  plan      plimsoll plan --costs host: the tensors that forward tasks write, and the inputs, if backward tasks read
            them. Each counts for the operator that writes it. Weights and statistics do not count.

The loss is not part of either number. The models are those of coverage.py and torchvision_models.py, exported by
plimsoll.export. Channels in blocks are padded, and these bytes count.

With --details, the bytes per module class and per operator follow. With --tensors, each tensor of the plan follows,
largest first: the operators that write it, read it in the forward pass, and read it in the backward pass. `=` marks a
task of the backward pass that belongs to the node that writes the tensor.

usage: saved_bytes.py [--plimsoll build/bin/plimsoll] [--work DIR] [--models convnext,hf_bert | --kinds timm]
                      [--batch 4] [--tokens 64] [--keep-dropout] [--details] [--tensors] [--json FILE] [-- PLAN OPTIONS]
"""
import argparse
import collections
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
# Else transformers.py of this folder would hide the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
sys.path += [HERE, os.path.join(HERE, "..", "..", "python")]
import coverage
import coverage_transformers

KINDS = (*coverage.KINDS, "torchvision")
LIBRARIES = {"timm": "timm", "transformers": "transformers", "torchvision": "torchvision", "others": "torch"}


def names_of(kind):
    if kind != "torchvision":
        return list(coverage.KINDS[kind].MODELS)
    import torchvision_models
    return ["tv_" + name for name in torchvision_models.CLASSIFICATION + torchvision_models.SEGMENTATION]


def make(name, batch):
    """The model, and its example inputs by name."""
    if not name.startswith("tv_"):
        return coverage.make(name, batch)
    import torch
    import torchvision_models
    side = torchvision_models.SIZES.get(name[3:], 64)
    torch.manual_seed(0)
    return torchvision_models.make(name[3:]), {"x": torch.randn(batch, 3, side, side)}


def saved_by_pytorch(model, values):
    """Bytes by module class."""
    import torch
    stack, sizes, kept = [], collections.Counter(), []
    # The storages of this list live until the function ends, so no address occurs twice.
    counted = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers()]}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in counted:
            counted.add(storage.data_ptr())
            kept.append(storage)
            sizes[type(stack[-1]).__name__ if stack else "model"] += storage.nbytes()
        return tensor

    hooks = [torch.nn.modules.module.register_module_forward_pre_hook(lambda module, _: stack.append(module)),
             torch.nn.modules.module.register_module_forward_hook(lambda *_: stack.pop() and None, always_call=True)]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(*values)
    for hook in hooks:
        hook.remove()
    return sizes if output is not None else None


def saved_by_plan(plan):
    """A list of (tensor, writer, tasks that read it forward, tasks that read it backward)."""
    writer, forward, backward = {}, collections.defaultdict(list), collections.defaultdict(list)
    for task in plan["tasks"]:
        for tensor in task["writes"]:
            writer.setdefault(tensor, task)
        by_kind = {"forward": forward, "loss": None, "update": None}.get(task["kind"], backward)
        if by_kind is not None:
            for tensor in {*task["reads"], *task["updates"]}:
                by_kind[tensor].append(task)
    return [(tensor, writer.get(tensor["id"]), forward[tensor["id"]], backward[tensor["id"]])
            for tensor in plan["tensors"] if tensor["kind"] in ("activation", "stash", "input") and
            backward[tensor["id"]] and writer.get(tensor["id"], {"kind": "forward"})["kind"] == "forward"]


def operator(task):
    return task["op"] if task else "input"


def export(name, path, options):
    import plimsoll
    import one_step
    model, inputs = make(name, options.batch)
    model.train()
    if not options.keep_dropout:
        one_step.without_dropout(model)
    refused = None
    for exporter in ("dynamo", "torchscript"):
        if os.path.exists(path):
            break
        try:
            plimsoll.export(model, tuple(inputs.values()), path, exporter=exporter, input_names=list(inputs),
                            output_names=["output"], allow_unused=True, allow_state=True)
        except Exception as error:  # any exception of an exporter is a result
            refused = f"not exported: {type(error).__name__}: {str(error)[:200]}"
    if not os.path.exists(path):
        raise RuntimeError(refused)
    return model, tuple(inputs.values())


def measure(name, options):
    path = os.path.join(options.work, name + ".onnx")
    known = os.path.join(options.work, name + ".pytorch.json")
    if not (os.path.exists(path) and os.path.exists(known)):
        model, values = export(name, path, options)
        with open(known, "w") as file:
            json.dump(saved_by_pytorch(model, values), file)
    with open(known) as file:
        pytorch = json.load(file)
    plan = os.path.join(options.work, f"{name}.plan.json")
    flags = coverage.KINDS[coverage.KIND_OF[name]].FLAGS.get(name, []) if name in coverage.KIND_OF else []
    done = subprocess.run([options.plimsoll, "plan", path, "--batch", str(options.batch), "--costs", "host", "--assume",
                           "trainable", "-q", "-o", plan, *flags, *options.more], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[:200]}")
    with open(plan) as file:
        kept = saved_by_plan(json.load(file))
    by_operator = collections.Counter()
    for tensor, writer, _, _ in kept:
        by_operator[operator(writer)] += tensor["bytes"]
    tensors = sorted(([tensor["bytes"], tensor["name"], operator(writer), sorted({operator(t) for t in forward}),
                       sorted({("=" if writer and t["layer"] == writer["layer"] else "") + operator(t)
                               for t in backward})] for tensor, writer, forward, backward in kept), reverse=True)
    return {"pytorch": pytorch, "plan": dict(by_operator), "tensors": tensors}


def measure_apart(name, options, answer):
    """Runs in a separate process, and writes its result as JSON."""
    warnings.simplefilter("ignore")
    with open(os.path.join(options.work, name + ".log"), "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            found = measure(name, options)
        except Exception as error:
            found = {"error": f"{str(error)[:300]}"}
    with open(answer, "w") as file:
        json.dump(found, file)
    os._exit(0)


def found_of(name, options):
    answer = os.path.join(options.work, name + ".answer.json")
    if os.path.exists(answer):
        os.remove(answer)
    process = multiprocessing.get_context("fork").Process(target=measure_apart, args=(name, options, answer))
    process.start()
    process.join(options.time_limit)
    if process.is_alive():
        process.kill()
        process.join()
    if not os.path.exists(answer):
        return {"error": f"ended after {options.time_limit} s, or with a signal"}
    with open(answer) as file:
        return json.load(file)


def mib(count):
    return f"{count / 2**20:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default="build/bin/plimsoll")
    parser.add_argument("--work", default="build/saved")
    parser.add_argument("--models",
                        help="names, separated by commas; those of torchvision begin with tv_; default: all")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of models, if --models is not given")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64, help="tokens of a sequence")
    parser.add_argument("--keep-dropout", action="store_true", help="without it, dropout is 0 on both sides")
    parser.add_argument("--time-limit", type=int, default=300, help="seconds per model")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--tensors", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("more", nargs="*", metavar="PLAN OPTIONS", help="after --: options of plimsoll plan")
    options = parser.parse_args()
    coverage_transformers.LENGTH = options.tokens
    os.makedirs(options.work, exist_ok=True)
    known = {kind: names_of(kind) for kind in KINDS}
    names = options.models.split(",") if options.models else [n for k in options.kinds.split(",") for n in known[k]]
    if unknown := set(names).difference(*known.values()):
        parser.error("no models: " + ", ".join(sorted(unknown)))
    import torch
    torch.set_num_threads(1)
    for library in {LIBRARIES[coverage.KIND_OF.get(name, "torchvision")] for name in names}:
        importlib.import_module(library)  # before the processes fork
    results = {}
    print(f"{'network':28} {'PyTorch':>10} {'plan':>10} {'ratio':>6}   MiB", flush=True)
    for name in names:
        found = results[name] = found_of(name, options)
        if "error" in found:
            print(f"{name:28} {found['error']}", flush=True)
            continue
        theirs, ours = sum(found["pytorch"].values()), sum(found["plan"].values())
        print(f"{name:28} {mib(theirs):>10} {mib(ours):>10} {ours / max(theirs, 1):6.2f}", flush=True)
        for title, sizes in (("PyTorch", found["pytorch"]), ("plan", found["plan"])) if options.details else ():
            print(f"  {title}: " + ", ".join(f"{what} {mib(count)}" for what, count in
                                             sorted(sizes.items(), key=lambda item: -item[1])))
        for count, tensor, writer, forward, backward in found["tensors"] if options.tensors else ():
            print(f"  {mib(count):>9} {writer} -> {','.join(forward)} | {','.join(backward)}  {tensor}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
