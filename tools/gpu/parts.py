"""The five parts of gpu_check.sh: what each builds, runs and compares."""
import concurrent.futures
import csv
import glob
import gzip
import json
import os
import shutil
import time

import numpy as np
import torch

import networks
from beside_torch import distance, moved, torch_steps, torch_throughput
from replayed import forget_unended, replay_table
from session import choices, image_size, may_be_planned_better, measured, profiled, shell

SLACK = 3.0  # permitted difference, as a multiple of the difference between PyTorch's own two memory formats


def part1(check):
    mine = check.of_part(1)
    check.prepare_part({t["tag"]: named("resnet18", t["precision"], t["layout"]) for t in mine})
    program = f"{check.dir}/build/bin/plimsoll-replay-cuda"
    of = {t["precision"]: t for t in mine if t["layout"] == "auto"}

    # Several processes at once, because building the library's plans takes most of the time. A process that a kernel
    # ended continues after that kernel; a process that the time limit ended continues with the case that it was at.
    before, shares = check.results.get("operators", {}), min(12, os.cpu_count())

    def unpacked():
        path = f"{check.dir}/work/cases.json"
        os.makedirs(f"{check.dir}/work", exist_ok=True)
        with gzip.open(f"{check.dir}/cases.json.gz", "rb") as given, open(path, "wb") as out:
            shutil.copyfileobj(given, out)
        return path

    def replay():
        cases = unpacked()
        if check.dry:
            return {"cases": len(json.load(open(cases))["cases"]), "built": os.path.exists(program)}

        def share(number):
            path, told = f"{check.dir}/results/replay-{number}.jsonl", []
            open(path, "a" if "error" in before else "w").close()
            forget_unended(path)
            for _ in range(40):
                try:
                    done = shell([program, cases, "--results", path, "--share", f"{number}/{shares}"], 540, check=False,
                                 grows=path)
                except RuntimeError as error:
                    if time.time() > check.ends:
                        raise
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

    # A whole training run: step by step, as a graph, and timed.
    def ways():
        if check.dry:
            return check.train(of["fp32"], 3, ())
        data = check.data(of["fp32"]["batch"], networks.NETWORKS["resnet18"][1])
        files = []
        for extra in (["--no-graph"], [], ["--trace", f"{check.dir}/results/trace-resnet18.json"]):
            saved = check.train(of["fp32"], 6, data, save=True, extra=extra)["saved"]
            files.append(open(saved, "rb").read())
        return {
            "passed": files[0] == files[1] == files[2], "graph_as_steps": files[0] == files[1],
            "traced_as_steps": files[0] == files[2]
        }

    def profile():
        profiler = f"{check.dir}/build/bin/plimsoll-profile-cuda"
        if check.dry:
            return {"described": json.loads(shell([profiler, "--describe", "--device-props", "h200"]).stdout)}
        with open(f"{check.dir}/results/device-props.json", "w") as out:
            out.write(shell([profiler, "--dump-device-props"]).stdout)
        real = profiled(check, "resnet18")
        return {
            "tasks": len(real["tasks"]), "errors": [t["error"] for t in real["tasks"] if "error" in t],
            "links": real.get("links")
        }

    def sanitized(tool):
        cases = unpacked()  # earlier results may be from another machine
        if check.dry:
            return {"built": os.path.exists(program)}

        def share(number):
            return shell([
                "compute-sanitizer", "--tool", tool, "--error-exitcode", "99", "--print-limit", "20", program, cases,
                "--share", f"{number}/{shares}", "--skip", "Conv", "--skip", "MatMul"
            ], 200, check=False)

        with concurrent.futures.ThreadPoolExecutor(shares) as pool:
            done = sorted(pool.map(share, range(shares)), key=lambda one: one.returncode)
        return {"passed": done[0].returncode == done[-1].returncode == 0, "exits": [one.returncode for one in done],
                "output": (done[-1].stdout + done[-1].stderr).strip().splitlines()[-60:]}

    for trainer in mine:
        check.step(named("resnet18", trainer["precision"], trainer["layout"]),
                   lambda: three_iterations(check, [trainer], "resnet18", trainer["precision"], trainer["batch"]), 0,
                   400)
    check.step("resnet18 as a graph", ways)
    check.step("operators", replay)
    check.step("resnet18 profile", profile)
    for tool in ("memcheck", "racecheck", "synccheck", "initcheck") if check.thorough else ():
        check.step(f"operators, {tool}", lambda: sanitized(tool))


def named(name, precision, layout):
    return f"{name} {precision}" + ("" if layout == "auto" else f" {layout}")


def three_iterations(check, trainers, name, precision, batch):
    """Compares losses and weights with PyTorch's on the same device, from the same initial bits."""
    size = networks.NETWORKS[name][1]
    used = 2 if check.dry else batch
    theirs, state = torch_steps(check, name, used, size, precision, 1 if check.dry else 3)
    if check.dry:
        check.train(trainers[0], 3, ())
        return {"torch_losses": theirs, "built": True}
    other_losses, other = torch_steps(check, name, batch, size, precision, 3, True)
    ours = check.train(trainers[0], 3, check.data(batch, size), save=True)
    weights = networks.read_weights(ours["saved"])
    start = {k: v.float().numpy() for k, v in check.twin(name).state_dict().items()}
    keys = [k for k in state if k in weights]
    apart = distance(moved(weights, start, keys), moved(state, start, keys))
    spread = distance(moved(other, start, keys), moved(state, start, keys))
    loss_apart = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours["losses"], theirs))
    loss_spread = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(other_losses, theirs))
    # The first loss is that of the same weights. Then rounding differences grow, also between PyTorch's two formats.
    first_apart, first_spread = (
        abs(losses[0] - theirs[0]) / abs(theirs[0]) for losses in (ours["losses"], other_losses))
    if precision != "fp32":  # the scale of its rounding in this loss: what PyTorch's own differs from its f32
        exact = torch_steps(check, name, batch, size, "fp32", 1)[0][0]
        first_spread = max(first_spread, abs(exact - theirs[0]) / abs(theirs[0]))
    first, later, weight = {"fp32": (1e-5, 1e-3, 1e-4), "tf32": (2e-3, 5e-3, 5e-3),
                            "bf16": (1e-2, 3e-2, 5e-2), "fp16": (2e-3, 5e-3, 1e-2)}[precision]
    return {
        "losses": ours["losses"], "torch_losses": theirs, "first_loss_apart": first_apart,
        "first_torch_spread": first_spread, "loss_apart": loss_apart, "torch_loss_spread": loss_spread,
        "weights_apart": apart, "torch_spread": spread, "compared": len(keys), "of": len(state),
        "passed": first_apart <= max(first, SLACK * first_spread if precision != "fp32" else 0)
        and loss_apart <= max(later, SLACK * loss_spread) and apart <= max(weight, SLACK * spread)
    }


RANKS = "two ranks on one device"


def two_ranks(check, one, two):
    """Two processes that share every batch, against one process in two rounds. NCCL refuses two ranks of one device,
    unless its version allows them; then the step is skipped, with its reason. With two devices each rank has one."""
    if not glob.glob(f"{check.dir}/build/runtime/libplimsoll_ranks_cuda*"):
        return {"skipped": "the runtime was built without NCCL"}
    program = check.build(two)
    if check.dry:
        return check.train(one, 1, ())
    data = check.data(one["batch"], one["size"])
    alone = check.train(one, 3, data, save=True)
    devices, saved = torch.cuda.device_count(), f"{check.dir}/work/{two['tag']}.onnx"
    command = [str(part) for part in (program, *check.arguments(two, 3, data), "--save", saved)]
    port = 20000 + os.getpid() % 10000

    def rank(number):
        place = ["WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", f"MASTER_PORT={port}", f"RANK={number}",
                 f"LOCAL_RANK={number if devices > 1 else 0}"]
        return shell(["env", *place, *command], 200, check=False)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(rank, range(2)))
    told = "\n".join(one.stderr for one in done).strip()
    if any(one.returncode for one in done):
        if devices == 1 and "ncclCommInitRank" in told and "invalid usage" in told:
            return {"skipped": f"NCCL runs no two ranks on one device: {told.splitlines()[0]}"}
        raise RuntimeError(told[-1500:] or f"exits {[one.returncode for one in done]}")
    ours, theirs = (networks.read_weights(path) for path in (saved, alone["saved"]))
    apart = distance(*(np.concatenate([weights[key].ravel() for key in sorted(theirs)]) for weights in (ours, theirs)))
    return {"devices": devices, "weights_apart": apart, "passed": apart <= 1e-5}


def part2(check):
    groups, step_of = {}, {}
    for trainer in check.of_part(2):
        if "ranks" in trainer:
            step_of[trainer["tag"]] = RANKS
            continue
        name, precision, layout = (trainer[key] for key in ("name", "precision", "layout"))
        group = groups.setdefault((name, precision, trainer["batch"], layout), [])
        step_of[trainer["tag"]] = f"{name} {precision} {trainer['budget']}" if group else named(name, precision, layout)
        group.append(trainer)
    # Two ranks need NCCL, which a machine may lack: their step builds them.
    check.prepare_part(step_of, without=[t["tag"] for t in check.of_part(2) if t.get("ranks") == 2])
    for (name, precision, batch, layout), trainers in groups.items():
        size = networks.NETWORKS[name][1]
        check.step(named(name, precision, layout), lambda: three_iterations(check, trainers, name, precision, batch), 0,
                   400)
        for trainer in trainers[1:]:
            def same_bits(trainer=trainer):
                if check.dry:
                    return check.train(trainer, 3, ())
                data = check.data(batch, size)
                first = f"{check.dir}/work/{trainers[0]['tag']}.onnx"  # saved by the previous step
                if not os.path.exists(first):
                    check.train(trainers[0], 3, data, save=True)
                this = check.train(trainer, 3, data, save=True)
                ways = [choices(check, t) for t in (trainers[0], trainer)]
                same = open(first, "rb").read() == open(this["saved"], "rb").read()
                os.remove(this["saved"])
                return {"losses": this["losses"], "same_bits": same, "same_algorithms_and_rounds": ways[0] == ways[1],
                        "passed": same or ways[0] != ways[1]}

            check.step(step_of[trainer["tag"]], same_bits)
    pair = {t["ranks"]: t for t in check.of_part(2) if "ranks" in t}
    if len(pair) == 2:
        check.step(RANKS, lambda: two_ranks(check, pair[1], pair[2]))
    small = next((t for t in check.of_part(2) if t["name"] == "resnet18"), None)
    if small and check.thorough:
        for tool in ("memcheck", "racecheck"):
            def sanitized(tool=tool):
                if check.dry:
                    return check.train(small, 1, ())
                done = check.train(small, 1, check.data(small["batch"], 64),
                                   prefix=["compute-sanitizer", "--tool", tool, "--error-exitcode",
                                           "99"], extra=["--no-graph"])
                return {"passed": True, "output": done["output"]}

            check.step(f"compute-sanitizer {tool}", sanitized)


def part3(check):
    check.prepare_part()
    profiles(check)
    for trainer in check.of_part(3):
        check.step(trainer["tag"], lambda trainer=trainer: measured(check, trainer))


# What the own kernels of a residual network spend their time in, and what is asked of each.
NCU_KERNELS = ("column_sums_kernel", "normalize_columns_kernel", "gradient_of_columns_kernel", "moments_kernel",
               "update_kernel", "max_pool")
NCU_METRICS = {
    "gpu__time_duration.sum": "nanoseconds", "dram__bytes.sum": "bytes",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "percent_of_bandwidth",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "percent_of_warps", "launch__registers_per_thread": "registers"
}


def of_ncu(text):
    """`ncu --csv --page raw` → for each of the kernels: launches, and the figures of its longest launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    if not rows:
        raise RuntimeError(f"ncu reports nothing: {text.strip()[-500:]}")
    found = {}
    for row in rows[1:]:  # the first has the units
        name = next((kernel for kernel in NCU_KERNELS if kernel in row["Kernel Name"]), None)
        if name is None:
            continue
        figures = {key: float(row[metric].replace(",", "")) for metric, key in NCU_METRICS.items()}
        before = found.get(name, {"launches": 0, "nanoseconds": -1})
        found[name] = {
            **(figures if figures["nanoseconds"] > before["nanoseconds"] else before), "launches": before["launches"] +
            1
        }
    table = [f"{'kernel':28} {'launches':>8} {'us':>9} {'GB/s':>7} {'of peak':>8} {'warps':>7} {'registers':>9}"]
    for name, one in found.items():
        table.append(
            f"{name:28} {one['launches']:8} {one['nanoseconds'] / 1e3:9.1f} "
            f"{one['bytes'] / max(one['nanoseconds'], 1):7.0f} "
            f"{one['percent_of_bandwidth']:6.0f} % {one['percent_of_warps']:5.0f} % {one['registers']:9.0f}")
    return {"kernels": found, "table": table}


def ncu(check, trainer):
    """One iteration, step by step, under Nsight Compute."""
    if check.dry:
        return check.train(trainer, 1, ())
    tool = shutil.which("ncu") or next(
        iter(sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu") + glob.glob("/usr/local/cuda*/bin/ncu"))), None)
    if tool is None:
        return {"skipped": "there is no ncu here"}
    command = [
        tool, "--csv", "--page", "raw", "--kernel-name", f"regex:{'|'.join(NCU_KERNELS)}", "--metrics",
        ",".join(NCU_METRICS), "--print-units", "base"
    ]
    data = check.data(trainer["batch"], image_size(trainer), 2)
    return of_ncu(check.train(trainer, 1, data, prefix=command, extra=["--no-graph"])["whole_output"])


def to_profile(check):
    """{network: precisions}: those of its trainers, and all that its files of tasks allow, for trainers to be made.
    Tasks of fp32 are measured in TF32, too."""
    found = {}
    for part in (3, 4):
        for trainer in check.of_part(part):
            found.setdefault(trainer["name"], set()).add(trainer["precision"])
    for path in sorted(glob.glob(f"{check.dir}/networks/*.tasks.json")):
        name, _, precision = os.path.basename(path)[:-len(".tasks.json")].partition("-")
        if (check.only is None or name in check.only) and name != "resnet18":  # resnet18 belongs to part 1
            found.setdefault(name, set()).add(precision or "tf32")
    return found


def profiles(check):
    """The measured costs of all tasks, in both arithmetics: what plans for this device need."""
    if not check.built():
        return
    profiler = f"{check.dir}/build/bin/plimsoll-profile-cuda"

    def props():
        if check.dry:
            return {"described": json.loads(shell([profiler, "--describe", "--device-props", "h200"]).stdout)}
        text = shell([profiler, "--dump-device-props"]).stdout
        with open(f"{check.dir}/results/device-props.json", "w") as out:
            out.write(text)
        return {"real": json.loads(text)}

    check.step("device properties", props)
    for name, precisions in to_profile(check).items():
        tasks = f"{check.dir}/networks/{name}.tasks.json"

        def profile(name=name, tasks=tasks):
            described = f"{check.dir}/work/described-{name}.json"
            os.makedirs(f"{check.dir}/work", exist_ok=True)
            shell([profiler, tasks, "-o", described, "--device-props", "h200"])
            listed = json.load(open(described))
            if check.dry:
                return {"tasks": len(listed["tasks"]), "errors": [t["error"] for t in listed["tasks"] if "error" in t]}
            real = profiled(check, name)
            sizes = [{(t["signature"], a["name"]): a["workspace_bytes"] for t in f["tasks"]
                      for a in t.get("algorithms", [])} for f in (listed, real)]
            shared = set(sizes[0]) & set(sizes[1])
            other = [key for key in shared if sizes[0][key] != sizes[1][key]]
            return {"tasks": len(real["tasks"]), "errors": [t["error"] for t in real["tasks"] if "error" in t],
                    "links": real.get("links"), "workspaces_compared": len(shared), "workspaces_other": len(other)}

        if "fp32" in precisions:
            check.step(f"{name} profile", profile)
        if not check.dry:
            for precision in sorted(precisions - {"fp32"}, reverse=True):
                check.step(f"{name} profile {precision}", lambda name=name, precision=precision: {
                    "tasks": len(profiled(check, name, precision)["tasks"])})


def planned_better(args, index):
    """The trainers of part 4 whose plans would use profiles that are here by now."""
    return [t["tag"] for t in index if t["part"] == 4 and "refused" not in t and may_be_planned_better(args, t)]


def part4(check):
    # A plan with measured costs may be faster. It takes another `prepare`, so this run measures the others first.
    later = [] if check.dry or check.last else [t["tag"] for t in check.of_part(4) if may_be_planned_better(check, t)]
    check.prepare_part(without=later)
    trainers = check.of_part(4)
    kinds = list(dict.fromkeys((t["name"], t["precision"], t["batch"]) for t in trainers))

    def pytorch(kind, hows, seconds=0, patience=180):
        name, precision, batch = kind
        for how, channels_last in hows:
            check.step(
                f"{name} {precision} torch {how}{' channels_last' if channels_last else ''}",
                lambda: torch_throughput(check, name, batch, networks.NETWORKS[name][1], precision, how, channels_last),
                0 if check.dry else seconds, patience)

    # The steps that say most come first. torch.compile, and memory that PyTorch pins anew in every step, take long.
    formats = {kind: [False] if kind[0] in networks.SEQUENCES else [False, True] for kind in kinds}
    for kind in kinds:
        for trainer in trainers:
            if (trainer["name"], trainer["precision"], trainer["batch"]) == kind and trainer["tag"] not in later:
                check.step(trainer["tag"], lambda: measured(check, trainer))
        pytorch(kind, [("eager", channels_last) for channels_last in formats[kind]])
    for kind in kinds:
        pytorch(kind, [("checkpoint", False)])
    if check.thorough:
        for kind in kinds:
            pytorch(kind, [("compile", formats[kind][-1])], 60, 300)
        for kind in kinds:
            pytorch(kind, [("save_on_cpu", False)])
        for kind in kinds:
            pytorch(kind, [
                *(("compile", channels_last) for channels_last in formats[kind][:-1]),
                ("activation_memory_budget", False)
            ], 60, 300)
    if check.thorough and kinds:
        named_kind = kinds[0]
        for layout in ("nhwc", "nchw"):  # the layout decides which kernels there are
            trainer = next(
                (t for t in trainers
                 if (t["name"], t["batch"]) == (named_kind[0],
                                                named_kind[2]) and t["precision"] != "bf16" and t["layout"] == layout),
                None)
            if trainer:
                check.step(f"{trainer['name']} ncu {layout}", lambda trainer=trainer: ncu(check, trainer),
                           0 if check.dry else 60)
    check.results.pop("aims", None)  # recomputed at no cost, perhaps from more results
    check.only = None
    check.step("aims", lambda: {"skipped": "nothing is measured"}
               if check.dry else aims(check.results, check.of_part(4)), -600)


LESS_MEMORY = ("checkpoint", "activation_memory_budget", "save_on_cpu")


def aims(results, trainers):
    """The speedup over PyTorch in its faster format, unlimited; and over each of PyTorch's ways to save memory, with no
    more memory: that of the fastest trainer whose arena is no larger than the peak of PyTorch's allocator."""
    lines = [
        f"{'times as fast as':24}" +
        "".join(f"{title:>15}" for title in ("eager", "compile", *(how.split("_")[0] for how in LESS_MEMORY)))
    ]
    figures = {}
    for kind in dict.fromkeys((t["name"], t["precision"], t["batch"]) for t in trainers):
        name, precision, batch = kind
        ours = [
            results[t["tag"]] for t in trainers
            if (t["name"], t["precision"], t["batch"]) == kind and "seconds" in results.get(t["tag"], {})
        ]

        def theirs(how):
            told = [results.get(f"{name} {precision} torch {how}{form}", {}) for form in ("", " channels_last")]
            return min((one for one in told if "seconds" in one), key=lambda one: one["seconds"], default=None)

        row = {}
        for how in ("eager", "compile", *LESS_MEMORY):
            other = theirs(how)
            fitting = [
                one["seconds"] for one in ours
                if other and (how not in LESS_MEMORY or one["arena_bytes"] <= other["peak_bytes"])
            ]
            row[how] = other["seconds"] / min(fitting) if fitting else None
        figures[f"{name} {precision}"] = row
        lines.append(f"{name + ' ' + precision:24}" +
                     "".join(f"{'—' if ratio is None else format(ratio, '.2f'):>15}" for ratio in row.values()))
    return {"times_as_fast": figures, "table": lines}


def part5(check):
    check.prepare_part()
    for trainer in check.of_part(5):
        check.step(trainer["tag"],
                   lambda trainer=trainer: measured(check, trainer, 8, 540))  # pinning tens of GB takes minutes
