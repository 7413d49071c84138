"""A part of gpu_check.sh as it goes: its steps and their results, the trainers that are built and run for them."""
import concurrent.futures
import glob
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import tarfile
import time

import numpy as np

import networks
from toolchain import device_to_build_for, lend_compiler, toolchain, versions

SEED = 1
LR = 0.01


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
    def __init__(self, args, part, ends, only=None, thorough=True):
        """`only`: of the part's trainers those of these networks; `thorough`: with what takes long and tells little more."""
        self.dir, self.dry, self.part, self.only, self.thorough = os.path.abspath(args.dir), args.dry_run, part, only, thorough
        global ENDS
        self.ends = ENDS = ends
        self.out = args.out
        self.index = json.load(open(f"{self.dir}/index.json"))
        lend_compiler(f"{self.dir}/work/lib")
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
                shell(["cmake", "-S", f"{self.dir}/source", "-B", build, f"-DCMAKE_CUDA_ARCHITECTURES={device_to_build_for()}", *flags])
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
        return [t for t in self.index if t["part"] == part and "refused" not in t and (self.only is None or t["name"] in self.only)]

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
        if not os.path.exists(source):
            fresh = f"{source}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            with tarfile.open(f"{source}.tar.gz") as tar:
                tar.extractall(fresh)
            os.rename(f"{fresh}/{trainer['tag']}", source)
            os.rmdir(fresh)
        if not os.path.exists(f"{source}/runtime"):
            os.symlink(f"{self.dir}/source/runtime", f"{source}/runtime")
        if not os.path.exists(f"{source}/build/CMakeCache.txt"):
            shell(["cmake", "-S", source, "-B", f"{source}/build", f"-DPLIMSOLL_RUNTIME={self.dir}/build", *toolchain()[0]])
        shell(["cmake", "--build", f"{source}/build", "-j", max(1, os.cpu_count() // 2)], 540)
        return f"{source}/build/train"

    def prepare_part(self):
        """The runtime and all trainers of the part, built beside each other and before anything is measured. One that does not build
        says so when it is to run."""
        for step in ("machine", "runtime", "trainers"):  # of another machine, or of fewer trainers, perhaps
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


def choices(check, trainer):
    """What decides the bits: the samples in a round, and the algorithm of every task."""
    with open(f"{check.dir}/trainers/{trainer['tag']}/plan.json") as given:
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
