#!/usr/bin/env python3
"""Whole training runs, ours and PyTorch's, over several seeds: does ours end where PyTorch's do?

Two networks train for 8 epochs: the densely connected network of docs/tutorial.md on handwritten digits, and a small
GPT on the bytes of this repository's pages, as they were at one commit. A seed determines the initial weights, which
are the same on both sides, and the order of the samples, which is not: each side shuffles in its own way. bf16 is
--precision bf16 and torch's autocast. The loss and the accuracy after the last epoch are those of samples that are not
trained on.

Runs are kept in docs/benchmarks/seeds.json (--kept), so that a run may measure some of them; --page writes the page
from all. Runs on other samples are measured again.
Needs torch, torchvision, transformers and scikit-learn from PyPI.

usage: seeds.py --plimsoll build/bin/plimsoll [--networks digits,bytes] [--seeds 5] [--page FILE]
"""
import argparse
import dataclasses
import glob
import hashlib
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import textwrap
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
# Otherwise transformers.py of this folder would hide the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE] + [os.path.join(ROOT, "python")]

import numpy
import torch

import plimsoll

EPOCHS, TOKENS = 8, 64
# The pages that the GPT reads are those of this commit, so that a changed page does not make all runs stale.
PAGES = "cfd5d8aa"


def densenet():
    import torchvision
    net = torchvision.models.DenseNet(growth_rate=12, block_config=(6, 6, 6), num_init_features=24, num_classes=10)
    net.features.conv0 = torch.nn.Conv2d(1, 24, kernel_size=3, padding=1, bias=False)
    net.features.pool0 = torch.nn.Identity()
    return net


class Gpt(torch.nn.Module):
    def __init__(self):
        import transformers
        super().__init__()
        self.model = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(vocab_size=256, n_positions=TOKENS, n_embd=64, n_layer=3, n_head=4, embd_pdrop=0,
                                    attn_pdrop=0, resid_pdrop=0, use_cache=False))

    def forward(self, input_ids):
        return self.model(input_ids=input_ids).logits


def windows(path):
    """The samples that a trainer makes of a token file: TOKENS tokens, and the same one token later as labels."""
    tokens = numpy.fromfile(path, "<u2", offset=1024).astype(numpy.int64)
    count = (len(tokens) - 1) // TOKENS
    return (torch.from_numpy(tokens[:count * TOKENS].reshape(count, TOKENS)),
            torch.from_numpy(tokens[1:count * TOKENS + 1].reshape(count, TOKENS)))


def digits_of(folder):
    subprocess.run([sys.executable, f"{ROOT}/tools/data/digits.py", folder], check=True)
    both = lambda part: tuple(f"{folder}/{part}_{which}.npy" for which in "xy")
    load = lambda part: tuple(torch.from_numpy(numpy.load(path)) for path in both(part))
    return load("train"), load("test"), "npy:" + ",".join(both("train")), "npy:" + ",".join(both("test"))


def bytes_of(folder):
    os.makedirs(folder, exist_ok=True)
    train, test = f"{folder}/train.bin", f"{folder}/test.bin"
    archive = subprocess.check_output(["git", "-C", ROOT, "archive", PAGES, "docs"])
    tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder)
    pages = sorted(glob.glob(f"{folder}/docs/**/*.md", recursive=True))
    subprocess.run([sys.executable, f"{ROOT}/tools/text_to_tokens.py", "-o", train, "--held-out", test, *pages],
                   check=True)
    return windows(train), windows(test), f"tokens:{train}", f"tokens:{test}"


@dataclasses.dataclass
class Network:
    title: str
    make: Callable[[], torch.nn.Module]
    data: Callable[[str], tuple]  # of a folder: samples to train on and to test on, and both as a trainer's options
    example: torch.Tensor
    batch: int
    rate: float
    flags: tuple
    optimizer: Callable


NETWORKS = {
    "digits": Network("the tutorial's DenseNet on digits", densenet, digits_of, torch.randn(2, 1, 32, 32), 64, 0.05,
                      ("--optimizer", "momentum"), lambda *given, lr: torch.optim.SGD(*given, lr=lr, momentum=0.9)),
    "bytes": Network("a GPT of 3 layers on bytes of text", Gpt, bytes_of, torch.zeros(2, TOKENS, dtype=torch.int64), 32,
                     0.002, ("--optimizer", "adamw", "--weight-decay", "0.01"),
                     lambda *given, lr: torch.optim.AdamW(*given, lr=lr, weight_decay=0.01)),
}


def initial(network, seed):
    torch.manual_seed(seed)
    return network.make().train()


def our_run(args, network, folder, precision, seed, data):
    directory = f"{folder}/{precision}"
    model = f"{folder}/net{seed}.onnx"
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    plimsoll.export(initial(network, seed), network.example, model, input_names=["x"], output_names=["y"])
    subprocess.run([args.plimsoll, "compile", model, "--batch", str(network.batch), "--precision", precision,
                    "--budget", args.budget, "--threads", str(args.threads), "--costs", "modelled", "--assume",
                    "trainable", "-o", directory, "-q", *network.flags], **quiet)
    subprocess.run(["cmake", "-S", directory, "-B", f"{directory}/build", *args.cmake_option], **quiet)
    subprocess.run(["cmake", "--build", f"{directory}/build"], **quiet)
    metrics = f"{directory}/metrics.jsonl"
    if os.path.exists(metrics):
        os.remove(metrics)
    subprocess.run([f"{directory}/build/train", "--data", data[2], "--eval-data", data[3], "--epochs", str(EPOCHS),
                    "--lr", str(network.rate), "--lr-schedule", "constant", "--seed", str(seed), "--metrics", metrics,
                    "--quiet"], **quiet)
    last = [row for row in map(json.loads, open(metrics)) if "eval_loss" in row][-1]
    return {"loss": last["eval_loss"], "accuracy": last["eval_accuracy"]}


def torch_run(args, network, precision, seed, data):
    (inputs, labels), (test_inputs, test_labels) = data[0], data[1]
    labels, test_labels = labels.long(), test_labels.long()
    model = initial(network, seed)
    optimizer = network.optimizer(model.parameters(), lr=network.rate)
    order = torch.Generator().manual_seed(seed)

    def loss_of(x, y):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            scores = model(x)
        scores = scores.flatten(0, -2).float()
        right = (scores.argmax(1) == y.flatten()).sum().item()
        return torch.nn.functional.cross_entropy(scores, y.flatten()), right

    for _ in range(EPOCHS):
        shuffled = torch.randperm(len(inputs), generator=order)
        for chosen in shuffled[:len(inputs) // network.batch * network.batch].split(network.batch):
            optimizer.zero_grad()
            loss_of(inputs[chosen], labels[chosen])[0].backward()
            optimizer.step()
    model.eval()
    loss_sum, right = 0.0, 0
    with torch.no_grad():
        for x, y in zip(test_inputs.split(network.batch), test_labels.split(network.batch)):
            loss, here = loss_of(x, y)
            loss_sum, right = loss_sum + loss.item() * y.numel(), right + here
    return {"loss": loss_sum / test_labels.numel(), "accuracy": right / test_labels.numel()}


def page(args, runs):
    rows, outside = [], []
    for name, network in NETWORKS.items():
        for precision in ("fp32", "bf16"):
            for figure in ("loss", "accuracy"):
                sides = {}
                for side in ("ours", "torch"):
                    chosen = [runs.get(f"{name} {precision} {side} {seed}") for seed in range(args.seeds)]
                    sides[side] = [run[figure] for run in chosen if run]
                if not all(len(values) == args.seeds for values in sides.values()):
                    continue
                show = (lambda x: f"{x:.4f}") if figure == "loss" else (lambda x: f"{100 * x:.2f} %")
                ours, theirs = sides["ours"], sides["torch"]
                low, high = min(theirs), max(theirs)
                inside = sum(low <= value <= high for value in ours)
                rows.append(f"| {network.title} | {precision} | {figure} | {show(statistics.median(ours))} | "
                            f"{show(min(ours))} to {show(max(ours))} | {show(statistics.median(theirs))} | "
                            f"{show(low)} to {show(high)} | {inside} |")
                if not low <= statistics.median(ours) <= high:
                    better = (statistics.median(ours) < low) == (figure == "loss")
                    outside.append(f"{network.title} in {precision} ({figure}, {'better' if better else 'worse'})")
    verdict = ("Every median of ours is within PyTorch's spread." if not outside else
               "Medians of ours outside PyTorch's spread: " + ", ".join(outside) + ".")
    paragraph = textwrap.fill(
        f"`tools/bench/seeds.py`, PyTorch {torch.__version__.split('+')[0]}: {EPOCHS} epochs with each of {args.seeds} "
        "seeds. A seed determines the initial weights, the same on both sides, and the order of the samples, of each "
        f"side its own. Our plans have {args.budget} of the unlimited memory. bf16 is `--precision bf16` and PyTorch's "
        "autocast. Loss and accuracy are those of samples that are not trained on, after the last epoch. The GPT reads "
        f"the pages of this repository at {PAGES}, {TOKENS} bytes at a time. *Within* counts our runs between "
        f"PyTorch's least and largest. {verdict}", 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join([
        "# Whole runs compared with PyTorch's", "", paragraph, "",
        "| network | precision | | ours, median | ours, spread | PyTorch, median | PyTorch, spread | within |",
        "|---|---|---|--:|--:|--:|--:|--:|", *rows, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--networks", default="digits,bytes", help="none for '', to write the page alone")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", default="60%")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--work", default="build/seeds")
    parser.add_argument("--kept", default=f"{ROOT}/docs/benchmarks/seeds.json", help="the results of all runs")
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_RUNTIME=build")
    parser.add_argument("--page", metavar="FILE", help="write the page")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    os.makedirs(args.work, exist_ok=True)
    kept = args.kept
    runs = json.load(open(kept)) if os.path.exists(kept) else {}
    for name in [each for each in args.networks.split(",") if each]:
        network, folder = NETWORKS[name], f"{args.work}/{name}"
        data = network.data(folder)
        digest = hashlib.sha256(b"".join(part.numpy().tobytes() for part in (*data[0], *data[1]))).hexdigest()[:16]
        if runs.setdefault(f"{name} data", digest) != digest:
            runs = {key: value for key, value in runs.items() if not key.startswith(name + " ")}
            runs[f"{name} data"] = digest
        for seed in range(args.seeds):
            for precision in args.precisions.split(","):
                for side in ("ours", "torch"):
                    key = f"{name} {precision} {side} {seed}"
                    if key in runs:
                        continue
                    runs[key] = (our_run(args, network, folder, precision, seed, data) if side == "ours" else
                                 torch_run(args, network, precision, seed, data))
                    print(key, runs[key], flush=True)
                    with open(kept + ".new", "w") as file:
                        json.dump(runs, file, indent=1)
                    os.replace(kept + ".new", kept)
    if args.page:
        with open(args.page, "w") as file:
            file.write(page(args, runs))


if __name__ == "__main__":
    main()
