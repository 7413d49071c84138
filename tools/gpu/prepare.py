#!/usr/bin/env python3
"""The half of gpu_check.sh that needs the compiler. It writes all trainers, and the initial weights for them and for
PyTorch, to a folder that is copied to the machine with the GPU. Plans use the profiles that came back from there
(results/profile-*.json).

usage: prepare.py --plimsoll build/bin/plimsoll --out DIR --models DIR [--parts 1,2,3,4,5] [--networks resnet50,…]
       [--sequences gpt_small,…] [--precisions bf16,…] [--small]

  --models  where the ONNX files are kept, which are not copied: they are ten times the size of the folder that is
  --precisions  trainers of parts 2 to 4 in these only; trainers of the same network in others stay in the folder
  --small   a network of 64 pixels at batch 32, to test these scripts rather than the GPU
"""
import argparse
import contextlib
import copy
import glob
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import networks  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAPER = ["resnet50", "vgg16", "googlenet", "densenet121", "inception_v3"]
# Options of `plimsoll compile` for a network: what is trained, and attention or a recurrence as one operator.
OPTIONS = {"gpt": ("--attention", "fused", "--trainable", "position"),
           "gpt_small": ("--attention", "fused", "--trainable", "position"),
           "vit_b_16": ("--attention", "fused", "--assume", "trainable"),
           "lstm": ("--recurrence", "fused"), "gru": ("--recurrence", "fused")}
BUDGETS = [100, 50, 33, 25, 10]


def run(command, **options):
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"$ {' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def pack(trainer, folder):
    """Zips the model of a trainer, and its weights file if there is one. Weights that --init he draws are set to zero
    first, so that gzip reduces them to almost nothing."""
    os.makedirs(folder, exist_ok=True)
    model = f"{trainer}/model.onnx"
    weights = glob.glob(f"{trainer}/*.weights")
    data = np.memmap(weights[0] if weights else model, np.uint8, "r+")
    for offset, size, dims in networks.initializers(np.fromfile(model, np.uint8)).values():
        if networks.is_drawn(dims):
            data[offset:offset + size] = 0
    data.flush()
    del data
    for path in [model, *weights]:
        with open(path, "rb") as given, gzip.open(f"{folder}/{os.path.basename(path)}.gz", "wb", 6) as out:
            shutil.copyfileobj(given, out, 1 << 24)


def digest(path):
    with open(path, "rb") as given:
        return hashlib.file_digest(given, "sha256").hexdigest()


class Folder:
    def __init__(self, args):
        self.args, self.out, self.trainers, self.wrong, self.stale = args, args.out.rstrip("/"), [], 0, 0
        self.models = args.models.rstrip("/")
        self.made = self.out + "/made"  # how each trainer was made
        os.makedirs(f"{self.out}/trainers", exist_ok=True)
        os.makedirs(self.models, exist_ok=True)
        os.makedirs(self.made, exist_ok=True)
        self.compiler = digest(args.plimsoll)

    def is_made(self, path, tag, command):
        """Whether a trainer was already made with this command and this profile. A trainer by another compiler counts,
        too, and is reported: every change of the runtime makes another compiler, which is no reason to plan again for
        minutes."""
        of = " ".join([
            *(os.path.basename(str(part)) for part in command[1:]),
            *(digest(part) for part in command if str(part).endswith(".json"))
        ])
        note = f"{self.made}/{tag}"
        if os.path.exists(path) and os.path.exists(note):
            command_of_it, compiler = open(note).read().split("\n")
            if command_of_it == of:
                self.stale += compiler != self.compiler
                return True
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        with open(note, "w") as out:
            out.write(f"{of}\n{self.compiler}")
        return False

    def export(self, name):
        """Writes NAME.onnx, which is not copied, and networks/NAME.npz with the parameters that are not drawn."""
        path = f"{self.models}/{name}.onnx"
        if os.path.exists(path) and os.path.exists(f"{self.out}/networks/{name}.npz"):
            return path
        os.makedirs(f"{self.out}/networks", exist_ok=True)
        model, size = networks.make(name), networks.NETWORKS[name][1]
        x = torch.zeros(2, 3, size, size)
        # Another run may export to the same folder at the same time.
        fresh = f"{path}.{os.getpid()}"
        torch.onnx.export(copy.deepcopy(model), x, fresh, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, opset_version=15, input_names=["images"], output_names=["logits"],
                          dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}})
        small = {
            key: value for key, value in networks.read_weights(fresh).items() if not networks.is_drawn(value.shape)
        }
        np.savez(f"{self.out}/networks/{name}.npz", **small)
        os.replace(fresh, path)
        return path

    def built_in(self, name, model):
        """A network of plimsoll's own, without a counterpart in PyTorch."""
        path = f"{self.models}/{name}.onnx"
        if not os.path.exists(path):
            run([self.args.plimsoll, "model", model, "-o", path])
        return path

    def trainer(self, part, name, model, batch, precision, budget, costs="h200", policy="auto", layout="auto",
                size=None, ranks=0):
        """One generated trainer, packed, without the shared runtime and without the weights."""
        if part in (2, 3, 4) and precision not in self.args.precisions:
            return
        tag = f"{name}-b{batch}-{precision}-{str(budget).replace('%', '')}" + ("-profiled"
                                                                               if costs.endswith(".json") else "")
        tag += ("" if layout == "auto" else f"-{layout}") + (f"-ranks{ranks}" if ranks else "")
        target = f"{self.out}/trainers/{tag}"
        entry = {
            "part": part, "name": name, "tag": tag, "batch": batch, "precision": precision, "budget": budget,
            "costs": costs, "layout": layout, **({"size": size} if size else {})
        }
        if ranks:
            entry["ranks"] = ranks
        command = [self.args.plimsoll, "compile", model, "--batch", batch, "--target", "cuda", "--budget", budget,
                   "--precision", precision, "--costs", costs, "--policy", policy, "--layout", layout,
                   *OPTIONS.get(name, ()),
                   *(["--effort", 0] if self.args.small else []),
                   "-o", target, "-q"]
        if ranks:  # one rank in two rounds gives the bits of two ranks
            command += ["--ranks", ranks] if ranks > 1 else ["--sub-batch", batch // 2]
        if costs.endswith(".json"):  # it has the tasks of the whole batch
            command += ["--sub-batch", batch]
        if not self.is_made(f"{target}.tar.gz", tag, command):
            shutil.rmtree(target, ignore_errors=True)
            try:
                run(command)
            except RuntimeError as error:  # a budget may be below the minimum: report it
                told = [line for line in str(error).splitlines() if line.startswith("error:")]
                entry["refused"] = (told or str(error).strip().splitlines()[-1:])[0]
                self.wrong += "needs at least" not in entry["refused"]
                self.trainers.append(entry)
                print(f"  {tag}: {entry['refused']}", flush=True)
                # A share of the arena may be less than the weights. Then the minimum is used instead, once.
                least = re.search(r"the minimum is (\d+) bytes", str(error))
                if least and not any(t["part"] == part and t["name"] == name and t["precision"] == precision
                                     and t["budget"] == least[1] for t in self.trainers):
                    self.trainer(part, name, model, batch, precision, least[1], costs, policy, layout, size)
                return
            packed = f"{self.out}/networks/{name}"
            if not os.path.exists(f"{packed}/model.onnx.gz"):
                pack(target, packed)
            for path in [f"{target}/model.onnx", *glob.glob(f"{target}/*.weights")]:
                os.remove(path)
            shutil.rmtree(f"{target}/runtime")
            with tarfile.open(f"{target}.new", "w:gz") as tar:  # a tenth of the size
                tar.add(target, tag)
            os.rename(f"{target}.new", f"{target}.tar.gz")
            shutil.rmtree(target)
        with tarfile.open(f"{target}.tar.gz") as tar:
            plan = json.load(tar.extractfile(f"{tag}/plan.json"))
        entry["summary"], entry["decided"] = plan["summary"], plan["target"].get("layout", "")
        self.trainers.append(entry)
        print(f"  {tag}: arena {plan['summary']['arena_bytes'] / 2**20:.0f} MiB", flush=True)

    def tasks(self, name, model, batch, precision="fp32"):
        """The profiler's input. In TF32 it is that of fp32, with other algorithms; in bf16 the tasks are others."""
        if not {precision, *(["tf32"] if precision == "fp32" else [])} & set(self.args.precisions):
            return
        called = f"{name}.tasks" if precision == "fp32" else f"{name}-{precision}.tasks"
        path = f"{self.out}/networks/{called}.json"
        command = [
            self.args.plimsoll, "profile", model, "--batch", batch, "--target", "cuda", *OPTIONS.get(name, ()),
            "--tasks-only", "-q", "-o"
        ]
        if precision != "fp32":
            command[-1:-1] = ["--precision", precision]
        if not self.is_made(path, called, command):
            run([*command, path])

    def source(self):
        """Copies the runtime, the profiler and the replayer, with the one third-party header that they need."""
        target = f"{self.out}/source"
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        for folder in ("runtime", "cmake"):
            shutil.copytree(f"{ROOT}/{folder}", f"{target}/{folder}")
        shutil.copytree(f"{ROOT}/tools/gpu", f"{target}/tools/gpu", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(f"{ROOT}/tools/initial_weights.py", f"{target}/tools/")
        shutil.copy(f"{ROOT}/tools/gpu/runtime.cmake", f"{target}/CMakeLists.txt")
        for include in ("/usr/include", "/usr/local/include"):
            if os.path.isdir(f"{include}/nlohmann"):
                shutil.copytree(f"{include}/nlohmann", f"{target}/include/nlohmann")
                return
        raise RuntimeError("nlohmann/json.hpp is not installed")


def other_layout(precision):
    """The layout other than the one that the device model chooses for most of the network."""
    return "nhwc" if precision == "fp32" else "nchw"


def part1(folder):
    model = folder.export("resnet18")
    for precision in ("fp32", "tf32"):
        folder.trainer(1, "resnet18", model, 8, precision, "50%")
        folder.trainer(1, "resnet18", model, 8, precision, "100%", layout=other_layout(precision))
    folder.tasks("resnet18", model, 8)
    cases = f"{folder.out}/cases.json"
    run([folder.args.test_ops, "[.cases]"], env={**os.environ, "PLIMSOLL_CASES": cases, "PLIMSOLL_CASES_NHWC": "1"})
    with open(cases, "rb") as given, gzip.open(cases + ".gz", "wb", 4) as out:  # 6: 2 % smaller, in twice the time
        shutil.copyfileobj(given, out)
    os.remove(cases)


def part2(folder):
    for name in folder.args.networks:
        model = folder.export(name)
        for precision in ("fp32", "tf32"):
            for budget in ("100%", "50%", "33%"):
                folder.trainer(2, name, model, folder.args.batch2, precision, budget)
            folder.trainer(2, name, model, folder.args.batch2, precision, "100%", layout=other_layout(precision))
        for budget in ("100%", "50%"):
            folder.trainer(2, name, model, folder.args.batch2, "bf16", budget)
    model = folder.export("gpt")
    for precision in ("fp32", "bf16") if folder.args.small else ("fp32", "tf32", "bf16", "fp16"):
        for budget in ("100%",) if folder.args.small else ("100%", "50%"):
            folder.trainer(2, "gpt", model, folder.args.batch2, precision, budget)
    for name in folder.args.sequences:
        for precision in ("fp32", "tf32", "bf16", "fp16"):
            folder.trainer(2, name, folder.export(name), folder.args.batch2, precision, "100%")
    pair = folder.built_in("vgg11-32", "vgg11:input=32,width=16,hidden=128,classes=1000")  # without batch statistics
    for ranks in (1, 2):
        folder.trainer(2, "vgg11-32", pair, 32, "fp32", "100%", size=32, ranks=ranks)
    if "resnet18" not in folder.args.networks:
        folder.trainer(2, "resnet18", folder.export("resnet18"), 8, "fp32", "50%")  # for compute-sanitizer


def part3(folder):
    for name in folder.args.networks:
        model = folder.export(name)
        profile = f"{folder.out}/results/profile-{name}.json"
        costs = profile if os.path.exists(profile) else "h200"
        for budget in BUDGETS:
            folder.trainer(3, name, model, folder.args.batch3, "fp32", f"{budget}%", costs)
        # The profiler's input on that machine: the tasks of the whole batch.
        for precision in ("fp32", "bf16"):
            folder.tasks(name, model, folder.args.batch3, precision)
    for name in folder.args.sequences:
        for precision in ("fp32", "bf16", "fp16"):  # those of fp32 are measured in TF32
            folder.tasks(name, folder.export(name), folder.args.batch2, precision)


def held_by_torch(folder, name, precision):
    """The measured memory of PyTorch's ways to save memory. Trainers with the same memory are made for comparison."""
    path = f"{folder.out}/results/part-4.json"
    results = json.load(open(path)) if os.path.exists(path) else {}
    peaks = {
        results.get(f"{name} {precision} torch {how}", {}).get("peak_bytes")
        for how in ("checkpoint", "activation_memory_budget", "save_on_cpu")
    }
    return sorted(peak for peak in peaks if peak)


def part4(folder):
    for name in folder.args.networks:
        model = folder.export(name)
        for precision in ("fp32", "tf32"):
            profile = f"{folder.out}/results/profile-{name}{'' if precision == 'fp32' else '-' + precision}.json"
            costs = profile if os.path.exists(profile) else "h200"
            for budget in ("100%", "50%", *held_by_torch(folder, name, precision)):
                folder.trainer(4, name, model, folder.args.batch3, precision, budget, costs)
            folder.trainer(4, name, model, folder.args.batch3, precision, "100%", costs, layout=other_layout(precision))
        profile = f"{folder.out}/results/profile-{name}-bf16.json"
        costs = profile if os.path.exists(profile) else "h200"
        for budget in ("100%", "50%"):  # against PyTorch's automatic mixed precision
            folder.trainer(4, name, model, folder.args.batch3, "bf16", budget, costs)
    for name in folder.args.sequences:
        model = folder.export(name)
        for precision in ("tf32", "bf16", "fp16"):
            profile = f"{folder.out}/results/profile-{name}-{precision}.json"
            costs = profile if os.path.exists(profile) else "h200"
            for budget in ("100%", "50%", *held_by_torch(folder, name, precision)):
                folder.trainer(4, name, model, folder.args.batch2, precision, budget, costs)


def part5(folder):
    if folder.args.small:
        return folder.trainer(5, "resnet50-64", folder.built_in("resnet50-64", "resnet50:input=64"), 32, "fp32", "50%",
                              size=64)
    # 1925 layers: the depth of a bottleneck network is 3 (n1 + n2 + n3 + n4) + 2. Its weights are 2.8 GB.
    folder.trainer(5, "resnet1925", folder.built_in("resnet1925", "resnet:n=6,32,597,6"), 16, "fp32", "12GiB", size=224)
    folder.trainer(5, "vgg16", folder.export("vgg16"), 256, "fp32", "12GiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--test-ops", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--parts", default="1,2,3,4,5")
    parser.add_argument("--networks", default=",".join(PAPER))
    parser.add_argument("--sequences", default=",".join(networks.SEQUENCES))
    parser.add_argument("--precisions", default="fp32,tf32,bf16,fp16")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")  # of the exporter
    args.precisions = args.precisions.split(",")
    args.networks = ["resnet18"] if args.small else list(filter(None, args.networks.split(",")))
    args.sequences = [] if args.small else list(filter(None, args.sequences.split(",")))
    args.batch2, args.batch3 = (32, 32) if args.small else (16, 64)
    folder = Folder(args)
    folder.source()
    index = f"{args.out}/index.json"
    trainers = json.load(open(index)) if os.path.exists(index) else []
    for part in map(int, args.parts.split(",")):
        print(f"part {part}", flush=True)
        folder.trainers = []
        globals()[f"part{part}"](folder)
        made = {(t["name"], t["precision"]) for t in folder.trainers}
        trainers = [
            t for t in trainers
            if t["part"] != part or (part in (2, 3, 4) and (t["name"], t["precision"]) not in made)
        ] + folder.trainers
        with open(index, "w") as out:  # even if the next part fails
            json.dump(trainers, out, indent=1)
    size = sum(os.lstat(os.path.join(base, name)).st_size for base, _, names in os.walk(args.out) for name in names)
    refused = {t["tag"] for t in trainers if "refused" in t}
    made = {t["tag"] for t in trainers} - refused  # parts share trainers
    print(f"{args.out}: {len(made)} trainers, {size / 2**20:.1f} MiB travel" +
          (f"; {len(refused)} have no plan within their budget" if refused else ""))
    if folder.stale:
        print(f"{folder.stale} trainers from before are by another compiler: rm -r {args.out}/trainers makes it anew")
    if folder.wrong:
        sys.exit(f"error: {folder.wrong} trainers could not be made, for other reasons than their budget")
    if size > 60 << 20:
        sys.exit("error: more than 60 MiB; leave out parts or networks")


if __name__ == "__main__":
    main()
