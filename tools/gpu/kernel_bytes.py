"""For tools/gpu/kernel_table.py: the bytes that a launch of each own CUDA kernel reads and writes, as the tasks of
reference networks state them. It needs no GPU: the sources say which tasks launch a kernel, and `plimsoll plan --dump`
lists the tasks with what they read and write. A kernel that no network launches has the largest of the operators'
samples (tests/ops), which are small.

A task may launch several kernels, and not all of its kernels for every shape; its bytes are then given for each.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

# Of the zoo, with options of the plan.
NETWORKS = [("resnet50", ""), ("alexnet", "--optimizer sgd"), ("googlenet", ""), ("densenet121", ""),
            ("mobilenet_v2", "--label-smoothing 0.1"), ("unet:input=256", ""), ("fcn:input=256", ""),
            ("lstm:steps=4", "--clip-norm 1"), ("gpt:layers=2,context=512", "--attention fused"),
            ("gpt:layers=2", "--optimizer adam"), ("vit:layers=2", "--optimizer lamb")]
BATCH = 32
ELEMENT_BYTES = {"f32": 4, "i32": 4, "i64": 8, "u8": 1, "bool": 1, "bf16": 2, "f16": 2, "f64": 8}


def definitions(text):
    """(header, body) of each definition at the left margin of a source, without comments."""
    text = re.sub(r"//[^\n]*", "", text).replace("\\\n", "\n")
    chunk = []
    for line in text.splitlines():
        starts = line and not line[0].isspace() and line[0] not in "})"
        if starts and chunk and not re.match(r"template\b|.*>$", chunk[-1]):
            yield "\n".join(chunk)
            chunk = []
        chunk.append(line)
    yield "\n".join(chunk)


def defined_names(chunk):
    """What a definition defines; a task's kernel is written as `task NAME`."""
    if told := re.match(r"#define (\w+)", chunk):
        return [told[1]]
    if told := re.match(r"PLIMSOLL_CUDA_KERNEL\((\w+)", chunk):
        return [f"task {told[1]}"]
    if told := re.search(r"\b(\w+)::make\(", chunk):
        return [f"task {told[1]}"]
    head = re.sub(r"^(?:template\s*<[^{;]*?>\s*\n)+", "", chunk)
    head = re.sub(r"__launch_bounds__\([^)]*\)", "", head)
    if told := re.match(r"(?:struct|class)(?:\s+alignas\([^)]*\))?\s+(\w+)", head):
        return [told[1]]
    told = re.match(r"[\w:<>,&*\s\[\]]*?\b(\w+)\(", head)
    return [told[1]] if told else []


def sources_of(root, path):
    """The texts of a source, of the backend's headers that it includes, and of the sources of these."""
    seen, left = {}, [path]
    while left:
        one = left.pop()
        if one in seen or not os.path.exists(one):
            continue
        seen[one] = open(one).read()
        for header in re.findall(r'^#include "(runtime/cuda/(?:ops|device)/\w+)\.h"', seen[one], re.M):
            left += [f"{root}/{header}.h", f"{root}/{header}.cu"]
    return seen.values()


def tasks_of_kernels(root):
    """__global__ function → the kernels of tasks (runtime/attrs/kernels.def) that may launch it."""
    folder = f"{root}/runtime/cuda"
    table = open(f"{root}/runtime/attrs/kernels.def").read()
    declared = dict(re.findall(r"^KERNEL\((\w+),.*?,\s*(\w+)\)", table, re.M))
    launched = {}
    for path in sorted(glob.glob(f"{folder}/ops/*.cu") + glob.glob(f"{folder}/ops/*.cpp")):
        of_file = [name for name, file in declared.items() if file == os.path.splitext(os.path.basename(path))[0]]
        bodies, kernels = {}, set()
        for text in sources_of(root, path):
            for chunk in definitions(text):
                names = defined_names(chunk)
                # A macro of the file that defines the functions of a task: NAME(Task, …).
                if names and names[0] not in of_file:
                    if call := re.match(r"(\w+)\((\w+)", chunk):
                        names = [f"task {call[2]}"] if call[2] in of_file else names
                for name in names:
                    bodies.setdefault(name, set()).update(re.findall(r"\w+", chunk))
                    if "__global__" in chunk and name.endswith("_kernel"):
                        kernels.add(name)
        for task in of_file:
            reached, left = set(), [f"task {task}"]
            while left:
                name = left.pop()
                if name in reached:
                    continue
                reached.add(name)
                left += [other for other in bodies.get(name, ()) if other in bodies]
            for kernel in reached & kernels:
                launched.setdefault(kernel, set()).add(task)
    return launched


def bytes_of(described, batch):
    """Of `f32[N,64,56,56]`."""
    kind, dims = re.match(r"(\w+)\[([^\]]*)\]", described).groups()
    count = 1
    for dim in filter(None, dims.split(",")):
        number = re.match(r"(\d*)(N?)", dim)
        count *= int(number[1] or 1) * (batch if number[2] else 1)
    return count * ELEMENT_BYTES[kind]


def tasks_of(text):
    """Of a task graph's text: (kernel, bytes read, bytes written) of each task."""
    batch = int(re.search(r"^graph .*\bbatch=(\d+)", text, re.M)[1])
    sizes = {name: bytes_of(shape, batch) for name, shape in re.findall(r"^tensor (%\S+) \S+ (\S+)", text, re.M)}
    for line in text.splitlines():
        told = re.match(r"task \S+ .*?\b(\w+)\{.*?\} ", line)
        if not told:
            continue
        accesses = [(access, sizes[name] * (2 if twice else 1)) for access, twice, name in
                    re.findall(r"\b(read|write|update)( twice)? (%\S+)", line[told.end(1):])]
        yield (told[1], sum(size for access, size in accesses if access != "write"),
               sum(size for access, size in accesses if access != "read"))


def samples_of(test_ops):
    """(kernel, sample, bytes read, bytes written) of the tasks of the operators' samples."""
    with tempfile.TemporaryDirectory() as work:
        path = f"{work}/cases.json"
        subprocess.run([test_ops, "[.cases]"], env={**os.environ, "PLIMSOLL_CASES": path}, check=True,
                       capture_output=True)
        cases = json.load(open(path))["cases"]
    for case in cases:
        read = written = 0
        for operand in case["operands"]:
            if operand["access"] == "absent":
                continue
            size = ELEMENT_BYTES[operand["type"]]
            for count in operand["dims"]:
                size *= count
            read += size if operand["access"] in ("read", "update") else 0
            written += size if operand["access"] in ("write", "update") else 0
        yield case["kernel"], f"sample {case['name'].rsplit('.', 1)[0]}", read, written


def larger(one, largest):
    """Notes a task (kernel, source, bytes read, bytes written) if it is the largest of its kernel."""
    kernel, source, read, written = one
    if read + written > sum(largest.get(kernel, ("", 0, 0))[1:]):
        largest[kernel] = (source, read, written)


def reference_bytes(plimsoll, test_ops, root):
    """__global__ function → (the largest task that may launch it, its source, bytes read, bytes written)."""
    largest, of_samples = {}, {}  # by the kernel of the task
    with tempfile.TemporaryDirectory() as work:
        for spec, options in NETWORKS:
            zeros = spec + ("," if ":" in spec else ":") + "init=zeros"
            for command in ([plimsoll, "model", zeros, "-o", f"{work}/net.onnx"],
                            [plimsoll, "plan", f"{work}/net.onnx", "--batch", str(BATCH), "--costs", "h200", "--effort",
                             "0", "--dump", f"{work}/dump", "-o", f"{work}/plan.json", "-q", *options.split()]):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
            graph, = glob.glob(f"{work}/dump/*.tasks")
            for kernel, read, written in tasks_of(open(graph).read()):
                larger((kernel, spec.split(":")[0], read, written), largest)
            subprocess.run(["rm", "-r", f"{work}/dump"], check=True)
    for sample in samples_of(test_ops):
        larger(sample, of_samples)
    found = {}
    for kernel, tasks in tasks_of_kernels(root).items():
        known = next((known for known in ([(task, *table[task]) for task in sorted(tasks) if task in table]
                                          for table in (largest, of_samples)) if known), None)
        if known:
            found[kernel] = max(known, key=lambda one: one[2] + one[3])
    return found
