#!/usr/bin/env python3
"""Which models of timm, of Hugging Face's transformers and of other kinds can be planned as PyTorch's exporters write
them.

The models (coverage_timm.py, coverage_transformers.py, coverage_others.py) are small and have random weights. Each is
exported in training mode and planned:

  plimsoll plan MODEL.onnx --batch 4 --budget 100% --costs p100 --effort 0 --assume trainable

The exports:

  torchscript   README's line: torch.onnx.export(…, dynamo=False), with the batch of the example in the file
  dynamo        torch.onnx.export(…, dynamo=True, optimize=False, dynamic_shapes={…: {0: "batch"}})
  fixed         the same without dynamic_shapes: the file has the batch of the example

With --attention nothing is planned. Instead of `planned`, the table says how many of a model's attentions become one
operator in the form `fused`: 2 of 2. --tokens 64 gives sequences the length from which that is done. The page is then
docs/benchmarks/attention-models.md.

The table has one row for each model: planned, not exported, or the exit code of plimsoll. Below the table is the first
error of each refused model. --markdown writes the page docs/benchmarks/models.md. Exported files in --work are reused.

Needs torch, torchvision, timm, transformers, segmentation-models-pytorch, diffusers, monai, onnx and onnxscript from
PyPI. No weights are downloaded.

usage: coverage.py --plimsoll build/bin/plimsoll [--work DIR] [--exports fixed,dynamo,torchscript]
                   [--models vit,hf_llama | --kinds timm,others] [--example-batch 2] [--only-export] [--markdown FILE]
                   [--attention] [--tokens 64]
"""
import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import textwrap
import warnings

# Otherwise transformers.py of this folder would hide the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import coverage_others
import coverage_timm
import coverage_transformers

EXPORTS = ("fixed", "dynamo", "torchscript")
KINDS = {"timm": coverage_timm, "transformers": coverage_transformers, "others": coverage_others}
KIND_OF = {name: kind for kind, module in KINDS.items() for name in module.MODELS}


def make(name, batch):
    """The model, and its example inputs by name."""
    import torch
    torch.manual_seed(0)
    return KINDS[KIND_OF[name]].make(name, batch)


def export(name, how, batch, path):
    """Runs in a separate process."""
    warnings.simplefilter("ignore")
    import torch
    torch.set_num_threads(1)
    model, inputs = make(name, batch)
    values = tuple(inputs.values())
    if how == "torchscript":  # README's line
        torch.onnx.export(model.train(), values, path, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, dynamo=False)
    else:
        shapes = [{0: "batch"} for _ in inputs]
        if KIND_OF[name] == "transformers":
            shapes = [shapes]  # the shapes of *inputs
        options = {} if how == "fixed" else dict(dynamic_shapes=tuple(
            tuple(s) if isinstance(s, list) else s for s in shapes))
        torch.onnx.export(model.train(), values, path, dynamo=True, optimize=False, verbose=False,
                          input_names=list(inputs), output_names=["logits"], **options)


def export_quietly(name, how, batch, path, log):
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            export(name, how, batch, path)
        except BaseException as error:  # any exception of the exporter is a result
            print(f"{type(error).__name__}: {error}", file=file, flush=True)
            os._exit(1)
    os._exit(0)


def exported(name, how, options):
    """The file, or None if the exporter refuses the model."""
    folder = os.path.join(options.work, how)
    os.makedirs(folder, exist_ok=True)
    path, log = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".log")
    if os.path.exists(path):
        return path
    if os.path.exists(log):
        return None
    begun = path + ".part"
    process = multiprocessing.get_context("fork").Process(target=export_quietly,
                                                          args=(name, how, options.example_batch, begun, log))
    process.start()
    process.join(options.time_limit)
    if process.is_alive():
        process.kill()
        process.join()
        with open(log, "a") as file:
            print(f"ended after {options.time_limit} s", file=file)
    if process.exitcode != 0 or not os.path.exists(begun):
        return None
    # The model names its weights file by a path in the same directory, so only the model's file is renamed.
    os.rename(begun, path)
    return path


def planned(name, path, options):
    """The exit code, and the first lines of the error."""
    plan = os.path.join(options.work, f"plan{os.getpid()}.json")
    command = [options.plimsoll, "plan", path, "--batch", "4", "--assume", "trainable",
               "--budget", "100%", "--costs", "p100", "--effort", "0", "-q", "-o", plan,
               *KINDS[KIND_OF[name]].FLAGS.get(name, [])]
    done = subprocess.run(command, capture_output=True, text=True)
    others = ("warning", "note: loss:")
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith(others)]
    return done.returncode, [line[:300] for line in lines[:options.errors]]


def fused_attentions(name, path, options):
    """How many attentions of the file become one operator: "2 of 2"."""
    command = [options.plimsoll, "plan", path, "--batch", "4", "--assume", "trainable", "-q", "--attention", "fused",
               "--stop-after", "fuse", "-o", "-", *KINDS[KIND_OF[name]].FLAGS.get(name, [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit {done.returncode}"
    readers, products, fused, softmaxes = {}, set(), 0, []
    for op, reads, writes in re.findall(r"^node \S+ (\S+) .*? read (.*?) write (\S+)", done.stdout, re.M):
        fused += op == "ScaledDotProductAttention"
        if op == "Softmax":
            softmaxes.append(writes)
        if op == "MatMul":
            products.update(reads.split())
        if op in ("Dropout", "Reshape"):
            readers[reads.split()[0]] = writes

    def is_multiplied(value):
        return value in products or (value in readers and is_multiplied(readers[value]))

    left = sum(is_multiplied(value) for value in softmaxes)
    return f"{fused} of {fused + left}" if fused + left else "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default="build/bin/plimsoll")
    parser.add_argument("--work", default="coverage")
    parser.add_argument("--exports", default=",".join(EXPORTS))
    parser.add_argument("--models", help="families, separated by commas; default: all")
    parser.add_argument("--kinds", default=",".join(KINDS),
                        help="kinds of models, if --models is not given: " + ", ".join(KINDS))
    parser.add_argument("--example-batch", type=int, default=2)
    parser.add_argument("--time-limit", type=int, default=300, help="seconds per export")
    parser.add_argument("--errors", type=int, default=2, help="lines to show of each error")
    parser.add_argument("--only-export", action="store_true")
    parser.add_argument("--only-exported", action="store_true", help="plan the files in --work without exporting")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--attention", action="store_true", help="count the attentions that become one operator")
    parser.add_argument("--tokens", type=int, default=12, help="tokens of a sequence")
    options = parser.parse_args()
    coverage_transformers.LENGTH = options.tokens
    kinds = options.kinds.split(",")
    families = options.models.split(",") if options.models else [
        name for name, kind in KIND_OF.items() if kind in kinds
    ]
    exports = options.exports.split(",")
    for unknown in [name for name in families if name not in KIND_OF] + [how for how in exports if how not in EXPORTS]:
        parser.error(f"'{unknown}' is neither a family nor an export")
    if not options.only_exported:
        # Before the processes fork, which need all of them.
        import diffusers, segmentation_models_pytorch, timm, torch, transformers  # noqa
    table, errors = {}, []
    for how in exports:
        for name in families:
            path = os.path.join(options.work, how, name + ".onnx")
            if options.only_exported:
                path = path if os.path.exists(path) else None
            else:
                path = exported(name, how, options)
            if options.only_export:
                print(f"{how:12} {name:18} {'exported' if path else 'not exported'}", flush=True)
                continue
            if not path:
                table[name, how] = "not exported"
                continue
            if options.attention:
                table[name, how] = fused_attentions(name, path, options)
                print(f"{how:12} {name:18} {table[name, how]}", flush=True)
                continue
            code, lines = planned(name, path, options)
            table[name, how] = "planned" if code == 0 else f"exit {code}"
            if code != 0:
                errors.append((name, how, lines))
            print(f"{how:12} {name:18} {table[name, how]}", flush=True)
    if options.only_export:
        return
    tell(table, errors, families, exports, options)


def tell(table, errors, families, exports, options):
    """Prints a table for each kind, and how many of the exported models are planned."""
    parts = []
    for kind, module in KINDS.items():
        names = [name for name in families if KIND_OF[name] == kind]
        if not names:
            continue
        rows = [f"| model | {' | '.join(exports)} |", "|---" * (len(exports) + 1) + "|"]
        for name in names:
            rows.append(f"| {module.title(name)} | {' | '.join(table[name, how] for how in exports)} |")
        counts = []
        for how in exports:
            states = [table[name, how] for name in names]
            counts.append((how, states.count("planned"), len(states) - states.count("not exported")))
        either = [[table[name, how] for how in exports] for name in names]
        exported = [states for states in either if any(state != "not exported" for state in states)]
        counts.append(("by either exporter", sum("planned" in states for states in exported), len(exported)))
        summary = "; ".join(
            f"{how}: {planned} of {of} ({100 * planned / max(of, 1):.0f} %)" for how, planned, of in counts)
        summary = ("How many attentions of each model become one operator."
                   if options.attention else f"Planned, of the exported models: {summary}.")
        parts.append((f"{kind}, {len(names)} models", summary, rows))
    for heading, summary, rows in parts:
        print("\n".join(["", heading, summary, *rows]))
    for name, how, lines in errors:
        print(f"{name}, {how}: " + "\n    ".join(lines or ["no message"]))
    if options.markdown:
        write_page(parts, errors, options)


def filled(text):
    """A paragraph in lines of at most 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def write_page(parts, errors, options):
    import importlib.metadata as metadata
    packages = ("torch", "torchvision", "timm", "transformers", "segmentation-models-pytorch", "diffusers",
                "monai")
    versions = ", ".join(f"{package} {metadata.version(package).split('+')[0]}" for package in packages)
    with open(options.markdown, "w") as file:
        if options.attention:
            print("# Attention of models as PyTorch's exporters write it\n", file=file)
        else:
            print("# Models planned as PyTorch's exporters write them\n", file=file)
        print(
            filled(
                f"`tools/bench/coverage.py`, {versions}. The models are small and have random weights. They are "
                "exported for a batch of "
                f"{options.example_batch}. The header of the script gives the commands and the options of the exports."
            ), file=file)
        if options.attention:
            text = (f"Sequences of tokens have a length of {options.tokens}. The rest are attentions of few scores, as "
                    "in LeViT and CaiT, and forms that are not recognized "
                    "([../decisions/attention.md](../decisions/attention.md)).")
            print("\n" + filled(text), file=file)
        for heading, summary, rows in parts:
            print("\n".join([f"\n## {heading}\n", summary + "\n", *rows]), file=file)
        if options.attention:
            return
        print("\n## The first error of each refused model\n\n| model | export | error |\n|---|---|---|", file=file)
        for name, how, lines in errors:
            text = " ".join(line.strip() for line in lines).replace("|",
                                                                    "\\|").replace(options.work.rstrip("/") + "/", "")
            print(f"| {name} | {how} | {text} |", file=file)


if __name__ == "__main__":
    main()
