"""A running part of gpu_check.sh: its steps and their results, and the trainers that are built and run for them."""
import concurrent.futures
import contextlib
import copy
import faulthandler
import glob
import gzip
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import time

import numpy as np

import networks
from toolchain import device_to_build_for, lend_compiler, toolchain, versions

SEED = 1
LR = 0.01


ENDS = None  # when the part ends
GRACE = 40  # seconds that a step may continue after the part's end
PORTION = 40  # seconds of measuring a profile
QUIET = 60  # seconds after which a process that reports everything must have reported something
TRIED = set()  # (part, step), in this process
BUILT = {}  # the runtime, in this process
BUILT_BEFORE = os.environ.get(
    "PLIMSOLL_GPU_CHECK_BUILT")  # a build of Plimsoll with the runtime, which is then not built again
OPTIONS = shlex.split(os.environ.get("PLIMSOLL_GPU_CHECK_OPTIONS", ""))  # for CMake, when it configures a trainer
TWINS = {}  # PyTorch's networks, with their initial weights
# What a trainer warns of if it does not do what was planned: its times and bits are then not those of the plan.
DEVIATION = re.compile(r"graph capture failed|(is|are) not as planned|waiting for samples")
# A process is ended with all its children. Otherwise a program under a tool, or a compiler under a build, would keep
# the device and the cores from the next steps.
GROUP = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}


def ended(process):
    """The output so far."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        return "", "it cannot even be killed"


def shell(command, timeout=240, check=True, grows=None):
    """Runs a command. If it never ends, only its step fails, not the part; a command started before the part's end has
    some more seconds. `grows`: the file in which the command reports its progress."""
    command = [str(part) for part in command]
    began = grew = time.time()
    if ENDS:
        timeout = max(20, min(timeout, ENDS + GRACE - began))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               **GROUP)
    size = -1
    try:
        while True:
            try:
                out, err = process.communicate(timeout=2)
                break
            except subprocess.TimeoutExpired:
                now = time.time()
                if grows and os.path.getsize(grows) != size:
                    size, grew = os.path.getsize(grows), now
                if now < began + timeout and (not grows or now < grew + QUIET):
                    continue
                out, err = ended(process)
                raise RuntimeError(
                    f"$ {' '.join(command)}\n{out[-1500:]}{err[-1500:]}\nnot ended after {now - began:.0f} s") from None
    finally:
        if process.poll() is None:
            ended(process)
    if check and process.returncode != 0:
        raise RuntimeError(f"$ {' '.join(command)}\nexit {process.returncode}\n{out[-3000:]}{err[-3000:]}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def configured(build):
    """Whether CMake completed the configuration of this folder: an interrupted one has no build file."""
    return os.path.exists(f"{build}/build.ninja") or os.path.exists(f"{build}/Makefile")


class Check:
    def __init__(self, args, part, ends, only=None, thorough=True, again=True, last=True):
        """`only`: only the trainers of these networks; `thorough`: with steps that take long and add little
        information; `again`: with steps that failed in an earlier process; `last`: no later stage of this part."""
        self.dir, self.dry = os.path.abspath(args.dir), args.dry_run
        self.part, self.only, self.thorough = part, only, thorough
        self.again, self.last = again, last
        global ENDS
        self.ends = ENDS = ends
        self.out = args.out
        self.index = json.load(open(f"{self.dir}/index.json"))
        lend_compiler(f"{self.dir}/work/lib")
        os.makedirs(f"{self.dir}/results", exist_ok=True)
        self.path = f"{self.dir}/results/part-{self.part}{'-dry' if self.dry else ''}.json"
        self.results = json.load(open(self.path)) if os.path.exists(self.path) else {}
        self.late = self.lost = False
        self.warnings = []  # of the trainers of the current step

    def has(self, name):
        """Whether a step's result is final. A failure is final until failures are retried; a step cut off by the time
        limit never is."""
        result = self.results.get(name)
        if not result or ("error" not in result and result.get("passed") is not False):
            return bool(result)
        return (self.part, name) in TRIED or not (self.again or result.get("cut_off"))

    # A step runs once. Its result is stored immediately, under its name.
    def step(self, name, body, seconds=0, patience=None):
        """`seconds`: the minimum time of the step; with less time left it is not begun. `patience`: seconds for work
        inside this process, which no other process can stop. If it does not return, an error is stored first, and
        another process continues after the step (check.py)."""
        if self.has(name):
            return self.results[name]
        began = time.time()
        if self.lost or began + seconds > self.ends:
            self.late = True
            return None
        TRIED.add((self.part, name))
        self.warnings = []
        self.results[name] = {"error": "the process ended in it"}
        self.save()
        faulthandler.dump_traceback_later(max(1, min(patience or 1e6, self.ends + GRACE + 10 - began)), exit=True)
        try:
            result = body() or {}
        except Exception as error:  # noqa: BLE001  the failure of one step must not stop the others
            result = {"error": str(error).strip()[-1500:] or repr(error)}
            # PyTorch does not work any more in a process that has lost its CUDA context.
            self.lost = isinstance(error,
                                   RuntimeError) and "CUDA error" in str(error) and not str(error).startswith("$")
            if time.time() > self.ends:
                self.late = result["cut_off"] = True
        if self.warnings:
            result["warnings"] = list(dict.fromkeys(self.warnings))
        deviations = [line for line in result.get("warnings", []) if DEVIATION.search(line)]
        if deviations:
            result["not_as_planned"], result["passed"] = deviations, False
        result["took_seconds"] = round(time.time() - began, 1)
        faulthandler.cancel_dump_traceback_later()
        self.results[name] = result
        self.save()
        self.leave()
        told = "FAILED" + (f": {deviations[0].splitlines()[0]}" if deviations else "") if result.get(
            "passed") is False else f"skipped: {result['skipped']}" if "skipped" in result else "ok"
        told = result["error"].splitlines()[-1] if "error" in result else told + (
            f", {1e3 * result['seconds']:.2f} ms" if "seconds" in result else "")
        print(f"  {name}: {told} ({result['took_seconds']} s)", flush=True)
        return result

    def save(self):
        with open(self.path + ".new", "w") as out:
            json.dump(self.results, out, indent=1)
        os.replace(self.path + ".new", self.path)

    def leave(self):
        if not self.out:
            return
        os.makedirs(self.out, exist_ok=True)
        # Fast, because this runs after each of two hundred steps.
        with tarfile.open(f"{self.out}/.new", "w:gz", compresslevel=1) as tar:
            tar.add(f"{self.dir}/results", "results")
        os.replace(f"{self.out}/.new", f"{self.out}/results.tar.gz")

    def runtime(self):
        """Builds everything that compiles. A step that needs a missing target reports it."""
        build = f"{self.dir}/build"
        if BUILT_BEFORE:
            if not os.path.lexists(build):
                os.symlink(os.path.abspath(BUILT_BEFORE), build)
            return {"cpu_seconds": 0.0, "built_before": True}
        if not configured(build):
            flags, missing = toolchain()
            try:
                shell([
                    "cmake",
                    "-S",
                    f"{self.dir}/source",
                    "-B",
                    build,
                    f"-DCMAKE_CUDA_ARCHITECTURES={device_to_build_for()}",
                    # Large batches take the least processor time, small ones the least elapsed time if there are
                    # enough cores.
                    f"-DPLIMSOLL_BATCH={8 if os.cpu_count() < 8 else 1}",
                    *flags
                ])
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
        return [
            t for t in self.index
            if t["part"] == part and "refused" not in t and (self.only is None or t["name"] in self.only)
        ]

    def model(self, name):
        """The model file, in which the drawn weights are zero."""
        for packed in glob.glob(f"{self.dir}/networks/{name}/*.gz"):
            path = packed[:-3]
            if not os.path.exists(path):
                with gzip.open(packed, "rb") as given, open(path + ".new", "wb") as out:
                    shutil.copyfileobj(given, out, 1 << 24)
                os.replace(path + ".new", path)
        return f"{self.dir}/networks/{name}/model.onnx"

    def build(self, trainer, jobs=None):
        source = f"{self.dir}/trainers/{trainer['tag']}"
        if not os.path.exists(source):
            fresh = f"{source}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            with tarfile.open(f"{source}.tar.gz") as tar:
                tar.extractall(fresh)
            os.rename(f"{fresh}/{trainer['tag']}", source)
            os.rmdir(fresh)
        self.lend_runtime(source, trainer.get("ranks", 1) > 1)
        if not configured(f"{source}/build"):
            # Warnings of an untested compiler must not prevent the measurements.
            shell([
                "cmake", "-S", source, "-B", f"{source}/build", f"-DPLIMSOLL_RUNTIME={self.dir}/build",
                "-DPLIMSOLL_WERROR=OFF", *OPTIONS, *toolchain()[0]
            ])
        shell(["cmake", "--build", f"{source}/build", "-j", jobs or os.cpu_count()], 540)
        return f"{source}/build/train"

    def lend_runtime(self, source, several):
        """Links to the shared sources. As in a generated directory, runtime/dist/cuda is there only for several ranks:
        CMake asks for NCCL where it is."""
        for folder in ("runtime", "runtime/dist"):
            os.makedirs(f"{source}/{folder}", exist_ok=True)
            for name in os.listdir(f"{self.dir}/source/{folder}"):
                if name == "dist" or (name == "cuda" and folder == "runtime/dist" and not several):
                    continue
                if not os.path.lexists(f"{source}/{folder}/{name}"):
                    os.symlink(f"{self.dir}/source/{folder}/{name}", f"{source}/{folder}/{name}")

    def built(self):
        """Builds the runtime, the profiler and the replayer. Whether there is something to run."""
        # The stored results may be from another machine.
        for step in ("machine", "runtime"):
            self.results.pop(step, None)
            TRIED.discard((self.part, step))
        self.step("machine", versions)
        if not BUILT:
            BUILT.update(self.step("runtime", self.runtime) or {})
        if BUILT:
            self.results["runtime"] = dict(BUILT)
        return bool(BUILT) and "error" not in BUILT

    def prepare_part(self, step_of=None, without=()):
        """Builds the runtime and the trainers of the part's remaining steps in parallel, before anything is measured. A
        trainer that does not build is reported when it should run. `step_of`: the step's name for each tag, if it
        differs; `without`: these tags."""
        # The stored results may be from fewer trainers.
        self.results.pop("trainers", None)
        TRIED.discard((self.part, "trainers"))
        if not self.built():
            return
        mine = [
            t for t in self.of_part(self.part)
            if t["tag"] not in without and not self.has((step_of or {}).get(t["tag"], t["tag"]))
        ]
        cores, beside = os.cpu_count(), max(1, min(os.cpu_count(), len(mine)))

        def trainers():
            def one(trainer):
                try:
                    self.build(trainer, max(1, 2 * cores // beside))
                except Exception as error:  # noqa: BLE001
                    return f"{trainer['tag']}: {str(error)[-300:]}"
                return ""

            with concurrent.futures.ThreadPoolExecutor(beside) as pool:
                failures = [told for told in pool.map(one, mine) if told]
            return {
                "trainers": len(mine), "not_built": failures, "passed": not failures,
                "cpu_seconds": round(sum(os.times()[2:4]), 1)
            }

        if mine:
            self.step("trainers", trainers)

    def train(self, trainer, steps, data, save=False, prefix=(), extra=(), timeout=240):
        """Losses and seconds per iteration, the last lines, and the path of the weights. `data`: the files of samples
        and labels. Samples are not drawn while the trainer runs, because that takes longer than an iteration on a GPU.
        A trainer that warns of a deviation from its plan fails its step."""
        program = self.build(trainer)
        self.model(trainer["name"])
        if self.dry:
            return {"built": True}
        work = f"{self.dir}/work"
        os.makedirs(work, exist_ok=True)
        metrics, out = f"{work}/{trainer['tag']}.jsonl", f"{work}/{trainer['tag']}.onnx"
        command = [*prefix, program, *self.arguments(trainer, steps, data), "--metrics", metrics, *extra]
        if save:
            command += ["--save", out]
        done = shell(command, timeout)
        self.warnings += warnings_in(done.stderr)
        lines = [json.loads(line) for line in open(metrics)]
        return {
            "losses": [line["loss"] for line in lines], "seconds": [line["seconds"] for line in lines],
            "output": done.stdout.strip().splitlines()[-6:], "whole_output": done.stdout, "saved": out if save else None
        }

    def arguments(self, trainer, steps, data):
        return ["--init", f"he:{SEED}", "--model", self.model(trainer["name"]), "--steps", steps, "--lr", LR,
                "--no-shuffle", "--data", "npy:" + ",".join(data)]

    def data(self, batch, size, steps=3):
        """Samples of `steps` batches as files, the same for the trainer and for PyTorch. Fewer batches are the first of
        more."""
        x, y = (f"{self.dir}/work/{name}-{batch}x{steps}-{size}.npy" for name in "xy")
        os.makedirs(f"{self.dir}/work", exist_ok=True)
        if not os.path.exists(y):
            np.save(x, np.random.default_rng(1).standard_normal((batch * steps, 3, size, size), np.float32))
            np.save(y, np.random.default_rng(2).integers(0, 1000, batch * steps, np.int32))
        return x, y

    def device(self):
        return "cpu" if self.dry else "cuda"

    def twin(self, name):
        """A copy for each caller. Drawing the weights of VGG-16 takes longer than training it for some iterations, so
        it is cached."""
        if name not in TWINS:
            with np.load(f"{self.dir}/networks/{name}.npz") as small:
                TWINS[name] = networks.twin(name, SEED, dict(small))
        return copy.deepcopy(TWINS[name])


def warnings_in(text):
    """The warnings of a trainer, each with the lines that continue it."""
    found = []
    for line in text.splitlines():
        if line.startswith("warning:"):
            found.append(line)
        elif found and line.startswith("  "):
            found[-1] += "\n" + line
    return found


def choices(check, trainer):
    """What determines the bits: the samples in a round, and the algorithm of every task."""
    with open(f"{check.dir}/trainers/{trainer['tag']}/plan.json") as given:
        plan = json.load(given)
    return [plan.get("sub_batch"), sorted({(s["task"], s["algorithm"]) for s in plan["steps"] if "algorithm" in s})]


def profile_file(name, precision):
    return f"profile-{name}{'' if precision == 'fp32' else '-' + precision}.json"


def may_be_planned_better(check, trainer):
    """Whether a trainer was planned with modelled costs, and the profile that measures them is here by now."""
    return not trainer["costs"].endswith(".json") and os.path.exists(
        f"{check.dir}/results/{profile_file(trainer['name'], trainer['precision'])}")


def profiled(check, name, precision="fp32"):
    """results/profile-NAME.json or, with the precision, profile-NAME-tf32.json: the times of all tasks of a network.
    They are measured in portions, each of which is stored: the total time depends on how long the library takes to
    build its plans, and a portion that ends with an error loses only one task."""
    called = f"{name}{'' if precision == 'fp32' else '-' + precision}"
    whole, some = (f"{check.dir}/results/{kind}-{called}.json" for kind in ("profile", "profiling"))
    question, answer = f"{check.dir}/work/question.json", f"{check.dir}/work/answer.json"
    os.makedirs(f"{check.dir}/work", exist_ok=True)
    stored = precision in ("bf16", "fp16")  # its tensors, so its tasks are others
    tasks = json.load(open(f"{check.dir}/networks/{called if stored else name}.tasks.json"))
    math = "fp32" if stored else precision
    real, bad = json.load(open(some)) if os.path.exists(some) else {}, 0
    while True:
        known = {task["signature"] for task in real.get("tasks", [])}
        left = [task for task in tasks["tasks"] if task["signature"] not in known]
        if not left:
            os.replace(some, whole)
            return real
        if time.time() > check.ends:
            raise RuntimeError(f"{len(left)} of {len(tasks['tasks'])} tasks are still to be measured")
        ask = {
            **tasks, "math": math, "uncompared": True, "tasks": left,
            "seconds": min(PORTION, max(5, check.ends + GRACE / 4 - time.time()))
        }
        if "links" in real:
            del ask["links"]
        with open(question, "w") as out:
            json.dump(ask, out)
        try:
            shell([f"{check.dir}/build/bin/plimsoll-profile-cuda", question, "-o", answer, "--progress"], PORTION + 90)
            told = json.load(open(answer))
        except RuntimeError as error:
            # Tasks done in this portion; the next task caused the error.
            done = [int(number) for number in re.findall(r"\] (\d+)/", str(error))]
            bad += 1
            if time.time() > check.ends or bad > 5 or not (done or real):
                raise
            culprit = left[min(done[-1] if done else 0, len(left) - 1)]["signature"]
            told = {"tasks": [{"signature": culprit, "error": str(error).strip().splitlines()[-1]}]}
        real = {**told, **real, "tasks": real.get("tasks", []) + told["tasks"]}
        with open(some, "w") as out:
            json.dump(real, out)
        check.leave()


def image_size(trainer):
    """In pixels; the networks of plimsoll's own are not in the table."""
    return trainer.get("size") or networks.NETWORKS[trainer["name"]][1]


def measured(check, trainer, steps=25, timeout=240):
    other = f"{check.dir}/results/part-{7 - check.part}.json"  # parts 3 and 4 share trainers
    known = json.load(open(other)).get(trainer["tag"], {}) if check.part in (3, 4) and os.path.exists(other) else {}
    if "seconds" in known and not check.dry:
        return {**known, "measured_in_part": 7 - check.part}
    # Ten batches in turn, from files: both sides of a comparison upload every batch, and neither draws one. The first
    # batch of an epoch is not fetched while the previous iteration runs: short epochs would measure the wait for it.
    data = () if check.dry else check.data(trainer["batch"], image_size(trainer), 10)
    result = check.train(trainer, steps, data, timeout=timeout)
    if check.dry:
        return result
    seconds = result["seconds"][5:]
    text = "\n".join(result["output"])
    planned = re.search(r"arena planned (\d+) bytes, allocated (\d+)", text)
    summary = trainer["summary"]
    return {"seconds": statistics.median(seconds), "predicted_seconds": summary["iteration_seconds"],
            "unconstrained_seconds": summary.get("unconstrained_seconds"), "arena_bytes": summary["arena_bytes"],
            "arena_as_planned": bool(planned) and planned[1] == planned[2], "output": result["output"]}
