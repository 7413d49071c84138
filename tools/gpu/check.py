#!/usr/bin/env python3
"""The half of gpu_check.sh that runs beside the GPU: builds what prepare.py left, runs it, and keeps what it measured in
results/part-N.json, step by step, so that a part that was cut off goes on where it was. What fails is told and passed over.

usage: check.py --dir DIR --part N [--dry-run] [--minutes 9] [--out DIR]

  --dry-run   no GPU: everything is built, and PyTorch's twins run on the CPU with a small batch; nothing is measured
  --out DIR   after each step all results so far are there too, as results.tar.gz: what a machine that is given back leaves
"""
import argparse
import concurrent.futures
import glob
import gzip
import importlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import time

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import networks  # noqa: E402
from toolchain import toolchain, versions  # noqa: E402
from replayed import replay_table  # noqa: E402

SEED = 1
LR = 0.01
SLACK = 3.0  # times what PyTorch's own two memory formats differ by


ENDS = None  # of the part


def shell(command, timeout=240, check=True, env=None):
    """What never ends costs its step, not the part; what was started before the part's end has some seconds more."""
    command = [str(part) for part in command]
    if ENDS:
        timeout = max(20, min(timeout, ENDS + 40 - time.time()))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace",
                              env={**os.environ, **env} if env else None)
    except subprocess.TimeoutExpired as late:
        told = [text if isinstance(text, str) else (text or b"").decode(errors="replace") for text in (late.stdout, late.stderr)]
        raise RuntimeError(f"$ {' '.join(command)}\n{told[0][-1500:]}{told[1][-1500:]}\nnot ended after {timeout:.0f} s") from None
    if check and done.returncode != 0:
        raise RuntimeError(f"$ {' '.join(command)}\nexit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


class Check:
    def __init__(self, args):
        self.dir, self.dry, self.part = os.path.abspath(args.dir), args.dry_run, args.part
        global ENDS
        self.ends = ENDS = time.time() + 60 * args.minutes
        self.out = args.out
        self.index = json.load(open(f"{self.dir}/index.json"))
        os.makedirs(f"{self.dir}/results", exist_ok=True)
        self.path = f"{self.dir}/results/part-{self.part}{'-dry' if self.dry else ''}.json"
        self.results = json.load(open(self.path)) if os.path.exists(self.path) else {}
        self.late = False

    # A step is done once: its result is kept at once, under its name. An error is a result, and is tried again next time.
    def step(self, name, body):
        if name in self.results and "error" not in self.results[name]:
            return self.results[name]
        if time.time() > self.ends:
            self.late = True
            return None
        began = time.time()
        try:
            result = body() or {}
        except Exception as error:  # noqa: BLE001  one step's failure is no other's
            result = {"error": str(error)[-1500:]}
        result["took_seconds"] = round(time.time() - began, 1)
        self.results[name] = result
        with open(self.path + ".new", "w") as out:
            json.dump(self.results, out, indent=1)
        os.replace(self.path + ".new", self.path)
        self.leave()
        print(f"  {name}: {result.get('error', 'ok').strip().splitlines()[-1]} ({result['took_seconds']} s)", flush=True)
        return result

    def leave(self):
        if not self.out:
            return
        os.makedirs(self.out, exist_ok=True)
        with tarfile.open(f"{self.out}/.new", "w:gz") as tar:
            tar.add(f"{self.dir}/results", "results")
        os.replace(f"{self.out}/.new", f"{self.out}/results.tar.gz")

    def runtime(self):
        """All that compiles is compiled: what was not built is told by the step that wants it."""
        build = f"{self.dir}/build"
        if not os.path.exists(f"{build}/CMakeCache.txt"):
            flags, missing = toolchain()
            try:
                shell(["cmake", "-S", f"{self.dir}/source", "-B", build, *flags])
            except RuntimeError as error:
                shutil.rmtree(build, ignore_errors=True)
                raise RuntimeError(f"{error}\nnot found: {missing}; flags: {flags}") from None
        keep_going = ["-k", "0"] if os.path.exists(f"{build}/build.ninja") else ["-k"]
        done = shell(["cmake", "--build", build, "-j", os.cpu_count(), "--", *keep_going], 540, check=False)
        if done.returncode != 0:
            with open(f"{self.dir}/results/build-part-{self.part}.log", "w") as log:
                log.write(done.stdout + done.stderr)
            wrong = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
            raise RuntimeError("\n".join(wrong[:20])[-3000:] + f"\nthe runtime does not build: {len(wrong)} errors")
        return {"cpu_seconds": round(sum(os.times()[2:4]), 1)}

    def of_part(self, part):
        return [t for t in self.index if t["part"] == part and "refused" not in t]

    def model(self, name):
        """The model file, its drawn weights zero."""
        for packed in glob.glob(f"{self.dir}/networks/{name}/*.gz"):
            path = packed[:-3]
            if not os.path.exists(path):
                with gzip.open(packed, "rb") as given, open(path + ".new", "wb") as out:
                    shutil.copyfileobj(given, out, 1 << 24)
                os.replace(path + ".new", path)
        return f"{self.dir}/networks/{name}/model.onnx"

    def build(self, trainer):
        source = f"{self.dir}/trainers/{trainer['tag']}"
        if not os.path.exists(f"{source}/runtime"):
            os.symlink(f"{self.dir}/source/runtime", f"{source}/runtime")
        if not os.path.exists(f"{source}/build/CMakeCache.txt"):
            shell(["cmake", "-S", source, "-B", f"{source}/build", f"-DPLIMSOLL_RUNTIME={self.dir}/build", *toolchain()[0]])
        shell(["cmake", "--build", f"{source}/build", "-j", max(1, os.cpu_count() // 2)], 540)
        return f"{source}/build/train"

    def prepare_part(self):
        """The runtime and all trainers of the part, built beside each other and before anything is measured. One that does not build
        says so when it is to run."""
        for step in ("machine", "runtime", "trainers"):  # of another machine, perhaps
            self.results.pop(step, None)
        self.step("machine", versions)
        built = self.step("runtime", self.runtime)
        if not built or "error" in built:
            return

        def trainers():
            def one(trainer):
                try:
                    self.build(trainer)
                except Exception as error:  # noqa: BLE001
                    return f"{trainer['tag']}: {str(error)[-300:]}"
                return ""

            mine = self.of_part(self.part)
            with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() // 4)) as pool:
                failures = [told for told in pool.map(one, mine) if told]
            return {"trainers": len(mine), "not_built": failures, "passed": not failures, "cpu_seconds": round(sum(os.times()[2:4]), 1)}

        self.step("trainers", trainers)

    def train(self, trainer, steps, save=False, data=None, prefix=(), extra=()):
        """Losses and seconds per iteration, the last lines, and where the weights are."""
        program = self.build(trainer)
        model = self.model(trainer["name"])
        if self.dry:
            return {"built": True}
        work = f"{self.dir}/work"
        os.makedirs(work, exist_ok=True)
        metrics, out = f"{work}/{trainer['tag']}.jsonl", f"{work}/{trainer['tag']}.onnx"
        command = [*prefix, program, "--init", f"he:{SEED}", "--model", model, "--steps", steps, "--lr", LR, "--no-shuffle",
                   "--metrics", metrics, *extra]
        command += ["--data", data] if data else ["--data", "synthetic:1"]
        if save:
            command += ["--save", out]
        done = shell(command)
        lines = [json.loads(line) for line in open(metrics)]
        return {"losses": [line["loss"] for line in lines], "seconds": [line["seconds"] for line in lines],
                "output": done.stdout.strip().splitlines()[-6:], "saved": out if save else None}

    def data(self, batch, size, steps=3):
        """Samples as files, the same for the trainer and for PyTorch."""
        x, y = f"{self.dir}/work/x-{batch}-{size}.npy", f"{self.dir}/work/y-{batch}-{size}.npy"
        os.makedirs(f"{self.dir}/work", exist_ok=True)
        random = np.random.RandomState(1)
        if not os.path.exists(y):
            np.save(x, random.standard_normal((batch * steps, 3, size, size)).astype(np.float32))
            np.save(y, random.randint(0, 1000, batch * steps).astype(np.int32))
        return x, y

    def device(self):
        return "cpu" if self.dry else "cuda"

    def twin(self, name):
        with np.load(f"{self.dir}/networks/{name}.npz") as small:
            return networks.twin(name, SEED, dict(small))


def set_math(name):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name == "tf32"


def torch_steps(check, name, batch, size, math_name, steps=3, channels_last=False):
    """Losses and final state of `steps` iterations of SGD with momentum."""
    set_math(math_name)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    files = check.data(batch, size, steps)
    x, y = torch.from_numpy(np.load(files[0], mmap_mode="r")[:batch * steps].copy()), torch.from_numpy(np.load(files[1])).long()
    model = check.twin(name).to(check.device())
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    losses = []
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        images, labels = x[part].to(check.device()), y[part].to(check.device())
        if channels_last:
            images = images.to(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = {k: v.detach().float().cpu().numpy() for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    del model, optimizer, images, labels, loss
    if not check.dry:
        torch.cuda.empty_cache()  # the trainers say what is free
    return losses, state


def moved(state, start, keys):
    return np.concatenate([(state[k].astype(np.float64) - start[k]).ravel() for k in keys])


def distance(a, b):
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


def part1(check):
    check.prepare_part()
    cases, program = f"{check.dir}/work/cases.json", f"{check.dir}/build/bin/plimsoll-replay-cuda"
    of = {t["math"]: t for t in check.of_part(1)}

    # Several at once, since building a library's plans takes most of the time. One that a kernel ended goes on behind it.
    def replay():
        os.makedirs(f"{check.dir}/work", exist_ok=True)
        with gzip.open(f"{check.dir}/cases.json.gz", "rb") as given, open(cases, "wb") as out:
            shutil.copyfileobj(given, out)
        if check.dry:
            return {"cases": len(json.load(open(cases))["cases"]), "built": os.path.exists(program)}
        shares = min(8, os.cpu_count())

        def share(number):
            path, told = f"{check.dir}/results/replay-{number}.jsonl", []
            open(path, "w").close()
            for _ in range(40):
                try:
                    done = shell([program, cases, "--results", path, "--share", f"{number}/{shares}"], 120, check=False)
                except RuntimeError as error:
                    told.append(str(error)[-300:])
                    continue
                if done.returncode in (0, 9):
                    break
                told.append(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
                if done.returncode in (2, 3):
                    break
            return path, told

        with concurrent.futures.ThreadPoolExecutor(shares) as pool:
            done = list(pool.map(share, range(shares)))
        result = replay_table([path for path, _ in done])
        ended = [line for _, told in done for line in told]
        return {**result, "processes_ended": ended, "passed": result["passed"] and not ended}

    # A whole training, step by step, as a graph, and timed.
    def ways():
        if check.dry:
            return check.train(of["fp32"], 3)
        x, y = check.data(of["fp32"]["batch"], networks.NETWORKS["resnet18"][1])
        files = []
        for extra in (["--no-graph"], [], ["--trace", f"{check.dir}/results/trace-resnet18.json"]):
            saved = check.train(of["fp32"], 6, save=True, data=f"npy:{x},{y}", extra=extra)["saved"]
            files.append(open(saved, "rb").read())
        return {"passed": files[0] == files[1] == files[2], "graph_as_steps": files[0] == files[1], "traced_as_steps": files[0] == files[2]}

    def profile():
        profiler = f"{check.dir}/build/bin/plimsoll-profile-cuda"
        if check.dry:
            return {"described": json.loads(shell([profiler, "--describe", "--device-props", "h200"]).stdout)}
        with open(f"{check.dir}/results/device-props.json", "w") as out:
            out.write(shell([profiler, "--dump-device-props"]).stdout)
        path = f"{check.dir}/results/profile-resnet18.json"
        shell([profiler, f"{check.dir}/networks/resnet18.tasks.json", "-o", path])
        real = json.load(open(path))
        return {"tasks": len(real["tasks"]), "errors": [t["error"] for t in real["tasks"] if "error" in t], "links": real.get("links"),
                "overheads": {k: v for k, v in real.items() if k.endswith(("seconds", "bytes"))}}

    def sanitized(tool):
        if check.dry:
            return {"built": os.path.exists(program)}
        path = f"{check.dir}/results/{tool}.jsonl"
        open(path, "w").close()
        done = shell(["compute-sanitizer", "--tool", tool, "--error-exitcode", "99", "--print-limit", "20", program, cases, "--results", path,
                      "--skip", "Conv", "--skip", "MatMul"], 150, check=False)
        return {"passed": done.returncode == 0, "exit": done.returncode, "output": (done.stdout + done.stderr).strip().splitlines()[-60:]}

    check.step("operators", replay)
    for math_name, trainer in of.items():
        check.step(f"resnet18 {math_name}", lambda: three_iterations(check, [trainer], "resnet18", math_name, trainer["batch"]))
    check.step("resnet18 as a graph", ways)
    check.step("resnet18 profile", profile)
    for tool in ("memcheck", "racecheck", "synccheck"):
        check.step(f"operators, {tool}", lambda: sanitized(tool))


def three_iterations(check, trainers, name, math_name, batch):
    """Losses and weights beside PyTorch's on the same device, from the same bits."""
    size = networks.NETWORKS[name][1]
    used = 2 if check.dry else batch
    theirs, state = torch_steps(check, name, used, size, math_name, 1 if check.dry else 3)
    if check.dry:
        check.train(trainers[0], 3)
        return {"torch_losses": theirs, "built": True}
    other_losses, other = torch_steps(check, name, batch, size, math_name, 3, True)
    x, y = check.data(batch, size)
    ours = check.train(trainers[0], 3, save=True, data=f"npy:{x},{y}")
    weights = networks.read_weights(ours["saved"])
    start = {k: v.float().numpy() for k, v in check.twin(name).state_dict().items()}
    keys = [k for k in state if k in weights]
    apart = distance(moved(weights, start, keys), moved(state, start, keys))
    spread = distance(moved(other, start, keys), moved(state, start, keys))
    loss_apart = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours["losses"], theirs))
    loss_spread = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(other_losses, theirs))
    # The first loss is of the same weights; then rounding grows, in PyTorch's two formats as well.
    first_apart = abs(ours["losses"][0] - theirs[0]) / abs(theirs[0])
    first, later, weight = (1e-5, 1e-3, 1e-4) if math_name == "fp32" else (2e-3, 5e-3, 5e-3)
    return {"losses": ours["losses"], "torch_losses": theirs, "first_loss_apart": first_apart, "loss_apart": loss_apart, "torch_loss_spread": loss_spread,
            "weights_apart": apart, "torch_spread": spread, "compared": len(keys), "of": len(state),
            "passed": first_apart <= first and loss_apart <= max(later, SLACK * loss_spread)
            and apart <= max(weight, SLACK * spread)}


def part2(check):
    check.prepare_part()
    groups = {}
    for trainer in check.of_part(2):
        groups.setdefault((trainer["name"], trainer["math"], trainer["batch"]), []).append(trainer)
    for (name, math_name, batch), trainers in groups.items():
        size = networks.NETWORKS[name][1]
        check.step(f"{name} {math_name}", lambda: three_iterations(check, trainers, name, math_name, batch))
        for trainer in trainers[1:]:
            def same_bits(trainer=trainer):
                if check.dry:
                    return check.train(trainer, 3)
                x, y = check.data(batch, size)
                first = f"{check.dir}/work/{trainers[0]['tag']}.onnx"  # saved by the step before
                if not os.path.exists(first):
                    check.train(trainers[0], 3, save=True, data=f"npy:{x},{y}")
                this = check.train(trainer, 3, save=True, data=f"npy:{x},{y}")
                ways = [choices(check, t) for t in (trainers[0], trainer)]
                same = open(first, "rb").read() == open(this["saved"], "rb").read()
                os.remove(this["saved"])
                return {"losses": this["losses"], "same_bits": same, "same_algorithms_and_rounds": ways[0] == ways[1],
                        "passed": same or ways[0] != ways[1]}

            check.step(f"{name} {math_name} {trainer['budget']}", same_bits)
    small = next((t for t in check.of_part(2) if t["name"] == "resnet18"), None)
    if small:
        for tool in ("memcheck", "racecheck"):
            def sanitized(tool=tool):
                if check.dry:
                    return check.train(small, 1)
                done = check.train(small, 1, prefix=["compute-sanitizer", "--tool", tool, "--error-exitcode", "99"], extra=["--no-graph"])
                return {"passed": True, "output": done["output"]}

            check.step(f"compute-sanitizer {tool}", sanitized)


def choices(check, trainer):
    """What decides the bits: the samples in a round, and the algorithm of every task."""
    with gzip.open(f"{check.dir}/trainers/{trainer['tag']}/plan.json.gz") as given:
        plan = json.load(given)
    return [plan.get("sub_batch"), sorted({(s["task"], s["algorithm"]) for s in plan["steps"] if "algorithm" in s})]


def measured(check, trainer, steps=25):
    result = check.train(trainer, steps)
    if check.dry:
        return result
    seconds = result["seconds"][5:]
    text = "\n".join(result["output"])
    planned = re.search(r"arena planned (\d+) bytes, allocated (\d+)", text)
    summary = trainer["summary"]
    return {"seconds": statistics.median(seconds), "predicted_seconds": summary["iteration_seconds"],
            "unconstrained_seconds": summary.get("unconstrained_seconds"), "arena_bytes": summary["arena_bytes"],
            "arena_as_planned": bool(planned) and planned[1] == planned[2], "output": result["output"]}


def part3(check):
    check.prepare_part()
    profiler = f"{check.dir}/build/bin/plimsoll-profile-cuda"

    def props():
        if check.dry:
            return {"described": json.loads(shell([profiler, "--describe", "--device-props", "h200"]).stdout)}
        text = shell([profiler, "--dump-device-props"]).stdout
        with open(f"{check.dir}/results/device-props.json", "w") as out:
            out.write(text)
        return {"real": json.loads(text)}

    check.step("device properties", props)
    for name in dict.fromkeys(t["name"] for t in check.of_part(3)):
        tasks = f"{check.dir}/networks/{name}.tasks.json"

        def profile(name=name, tasks=tasks):
            out = f"{check.dir}/results/profile-{name}.json"
            described = f"{check.dir}/work/described-{name}.json"
            os.makedirs(f"{check.dir}/work", exist_ok=True)
            shell([profiler, tasks, "-o", described, "--device-props", "h200"])
            listed = json.load(open(described))
            if check.dry:
                return {"tasks": len(listed["tasks"]), "errors": [t["error"] for t in listed["tasks"] if "error" in t]}
            shell([profiler, tasks, "-o", out])
            real = json.load(open(out))
            sizes = [{(t["signature"], a["name"]): a["workspace_bytes"] for t in f["tasks"] for a in t.get("algorithms", [])}
                     for f in (listed, real)]
            shared = set(sizes[0]) & set(sizes[1])
            other = [key for key in shared if sizes[0][key] != sizes[1][key]]
            return {"tasks": len(real["tasks"]), "errors": [t["error"] for t in real["tasks"] if "error" in t],
                    "links": real.get("links"), "workspaces_compared": len(shared), "workspaces_other": len(other)}

        check.step(f"{name} profile", profile)
    for trainer in check.of_part(3):
        check.step(trainer["tag"], lambda trainer=trainer: measured(check, trainer))


def torch_throughput(check, name, batch, size, math_name, how, channels_last, steps=20):
    """Samples per second and the most memory of PyTorch's allocator."""
    if how in ("compile", "activation_memory_budget") and not hasattr(torch, "compile"):
        return {"skipped": f"PyTorch {torch.__version__} has no torch.compile"}
    set_math(math_name)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, not check.dry
    device = check.device()
    if check.dry:
        batch, steps = 2, 1
    model = check.twin(name).to(device)
    images = torch.randn(batch, 3, size, size, device=device)
    labels = torch.randint(0, 1000, (batch,), device=device)
    if channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    forward = model
    if how in ("compile", "activation_memory_budget"):
        torch._dynamo.reset()  # of the network before
        importlib.import_module("torch._functorch.config").activation_memory_budget = 0.5 if how == "activation_memory_budget" else 1.0
        forward = torch.compile(model, backend="eager" if check.dry else "inductor")
    if how == "checkpoint":
        forward = checkpointed(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        if how == "save_on_cpu":
            with torch.autograd.graph.save_on_cpu(pin_memory=not check.dry):
                loss = torch.nn.functional.cross_entropy(forward(images), labels)
        else:
            loss = torch.nn.functional.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()

    began = time.time()
    for _ in range(1 if check.dry else 8):
        step()
    if check.dry:
        return {"ran": True}
    warming = time.time() - began
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(steps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    seconds = statistics.median(times)
    peak = torch.cuda.max_memory_allocated()
    del model, optimizer, images, forward
    torch.cuda.empty_cache()
    return {"seconds": seconds, "samples_per_second": batch / seconds, "peak_bytes": peak, "warm_up_seconds": warming}


def checkpointed(model):
    """Every child of the network, or of its list of layers, is run again in the backward: what users do by hand."""
    from torch.utils.checkpoint import checkpoint
    for parent in [model] + [m for m in model.children() if isinstance(m, torch.nn.Sequential)]:
        for child in parent.children():
            if any(True for _ in child.parameters()) and not isinstance(child, torch.nn.Linear):
                plain = child.forward
                child.forward = lambda *args, plain=plain: checkpoint(plain, *args, use_reentrant=False) if torch.is_grad_enabled() else plain(*args)
    return model


def part4(check):
    check.prepare_part()
    trainers = check.of_part(4)
    kinds = list(dict.fromkeys((t["name"], t["math"], t["batch"]) for t in trainers))

    def pytorch(kind, hows):
        name, math_name, batch = kind
        for how, channels_last in hows:
            check.step(f"{name} {math_name} torch {how}{' channels_last' if channels_last else ''}",
                       lambda: torch_throughput(check, name, batch, networks.NETWORKS[name][1], math_name, how, channels_last))

    # What torch.compile takes to compile is most of the time: first what needs none.
    for kind in kinds:
        for trainer in trainers:
            if (trainer["name"], trainer["math"], trainer["batch"]) == kind:
                check.step(trainer["tag"], lambda: measured(check, trainer))
        pytorch(kind, [("eager", False), ("eager", True), ("checkpoint", False), ("save_on_cpu", False)])
    for hows in ([("compile", True)], [("compile", False), ("activation_memory_budget", False)]):
        for kind in kinds:
            pytorch(kind, hows)


def part5(check):
    check.prepare_part()
    for trainer in check.of_part(5):
        check.step(trainer["tag"], lambda trainer=trainer: measured(check, trainer, 8))


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
        for key in ("first_loss_apart", "loss_apart", "torch_loss_spread", "weights_apart", "torch_spread"):
            if key in result:
                told.append(f"{key} {result[key]:.1e}")
        if "seconds" in result:
            told.append(f"{1e3 * result['seconds']:.2f} ms")
        if result.get("predicted_seconds"):
            told.append(f"predicted {1e3 * result['predicted_seconds']:.2f} ms ({100 * (result['seconds'] / result['predicted_seconds'] - 1):+.0f} %)")
        for key in ("arena_bytes", "peak_bytes"):
            if key in result:
                told.append(f"{result[key] / 2**20:.0f} MiB")
        for key in ("same_bits", "arena_as_planned", "workspaces_other", "cases", "built"):
            if key in result:
                told.append(f"{key} {result[key]}")
        lines.append(f"{name:{width}}  " + ", ".join(told or ["ok"]))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--part", type=int, required=True, choices=range(1, 6))
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--out")
    args = parser.parse_args()
    check = Check(args)
    if not args.dry_run and not torch.cuda.is_available():
        sys.exit("error: PyTorch sees no GPU here; --dry-run does what needs none")
    print(f"part {args.part}{', dry run' if args.dry_run else ' on ' + torch.cuda.get_device_name()}", flush=True)
    globals()[f"part{args.part}"](check)
    print("\n" + "\n".join(table(check.results)))
    bad = [name for name, r in check.results.items() if "error" in r or r.get("passed") is False]
    if check.late:
        print(f"\ntime is up: run part {args.part} again to go on")
        sys.exit(10)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
