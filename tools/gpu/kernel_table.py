#!/usr/bin/env python3
"""Writes a page of the machine code of all own CUDA kernels: registers, occupancy, shared and local memory, bytes of
arguments per launch, the widest accesses of memory, and the bytes that a launch reads and writes for a task of a
reference network (kernel_bytes.py). It reads the compiled library and asks the compiler, so it needs no GPU.

usage: kernel_table.py build/runtime/libplimsoll_cuda.a [-o docs/cuda-kernels.md] [--cuobjdump PATH]
                       [--plimsoll build/bin/plimsoll] [--test-ops build/tests/ops/test_ops]

The library must have code for sm_80, sm_90 and sm_100:

  cmake -S . -B build "-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real;100-real"
  cmake --build build --target plimsoll_cuda
"""
import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import textwrap

import kernel_bytes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KIB = 1024
# Per multiprocessor, from the CUDA C++ programming guide's table of compute capabilities: warps, blocks, KiB of shared
# memory. Each has 65,536 registers, which a warp takes by 256, and a block takes 1 KiB of shared memory for the system.
DEVICES = {80: (64, 32, 164), 90: (64, 32, 228), 100: (64, 32, 228)}
REGISTERS, UNIT, RESERVED = 65536, 256, KIB
LAUNCHES = """The largest task of these networks at batch {batch} that may launch the kernel, and the bytes that the
task reads and writes, as the task graph states them: every operand once, or twice if it is updated or read in two
passes. A task may launch several kernels, and not all of its kernels for every shape; workspaces are not counted.
Where none of the networks has such a task, it is the largest of the operators' samples, which are small. The
networks: {networks}."""


def blocks_at_once(arch, registers, threads, shared):
    """Blocks of a kernel that fit a multiprocessor."""
    warps, blocks, memory = DEVICES[arch]
    of_block = -(-threads // 32)
    of_warp = -(-max(registers, 1) * 32 // UNIT) * UNIT
    by_registers = REGISTERS // of_warp // 4 * 4 // of_block  # four schedulers with a quarter of the registers each
    return min(blocks, warps // of_block, by_registers, memory * KIB // (-(-(shared + RESERVED) // 128) * 128))


def base_name(mangled, demangled):
    """The kernel's name in the sources: without namespaces, template arguments and parameters."""
    text = re.sub(r"\(anonymous namespace\)::|\w+::", "", demangled)
    found = re.search(r"(\w+)(<|\()", text.removeprefix("void "))
    return found[1] if found else mangled


def threads_of_kernels():
    """The threads per block with which the sources launch each kernel."""
    texts = [open(path).read() for pattern in ("device/*.h", "ops/*.h", "ops/*.cu", "*.cu")
             for path in sorted(glob.glob(f"{ROOT}/runtime/cuda/{pattern}"))]
    declared = [line for text in texts for line in re.findall(r"constexpr int ([^;]*);", text)]
    constants = {name: int(value) for line in declared for name, value in re.findall(r"(\w+) = (\d+)(?=,|$)", line)}
    threads = {}
    for text in texts:
        for call in re.findall(r"\blaunch\(([^;]*?),\s*(?:context|RunContext)", text):
            value = 1
            for factor in call.rsplit(",", 1)[1].split("*"):
                number = factor.strip().split("::")[-1]
                value *= int(number) if number.isdigit() else constants.get(number, 0)
            names = re.findall(r"\b(\w+_kernel|probe)\b", call)
            if re.search(r",\s*kernel,", call):  # a function run(kernel) of this file launches it
                names += re.findall(r"\brun\((\w+_kernel)\b", text)
            for name in names:
                threads[name] = value
    return threads


def output(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def kernels(cuobjdump, library):
    """(arch, mangled name) → {registers, shared, stack, local, arguments, load, store}; widths in bytes."""
    found, arch = collections.defaultdict(dict), None
    for line in output([cuobjdump, "--dump-resource-usage", library]).splitlines():
        if told := re.match(r"arch = sm_(\d+)", line):
            arch = int(told[1])
        elif told := re.match(r"\s*Function (\S+):", line):
            name = told[1]
        elif " REG:" in line:
            figures = dict(re.findall(r"([A-Z]+)(?:\[0\])?:(\d+)", line))
            found[arch, name] |= {
                "registers": int(figures["REG"]), "shared": int(figures["SHARED"]), "stack": int(figures["STACK"]),
                "local": int(figures["LOCAL"]), "constant": int(figures.get("CONSTANT", 0)), "load": 0, "store": 0
            }
    code = subprocess.Popen([cuobjdump, "-sass", library], stdout=subprocess.PIPE, text=True, errors="replace")
    widths = {"": 4, "64": 8, "128": 16, "U8": 1, "S8": 1, "U16": 2, "S16": 2}
    for line in code.stdout:
        if told := re.match(r"arch = sm_(\d+)", line.strip()):
            arch = int(told[1])
        elif told := re.match(r"\s*Function : (\S+)", line):
            one = found.get((arch, told[1]))
        elif told := re.search(r"\b(LDG|STG)\.E([A-Z0-9.]*)", line):
            width = max(widths.get(part, 0) for part in told[2].split(".")) or 4
            if one is not None:
                key = "load" if told[1] == "LDG" else "store"
                one[key] = max(one[key], width)
    if code.wait() != 0:
        sys.exit("error: cuobjdump -sass failed")
    return found


def arguments_bytes(arch, constant):
    """The first constant bank holds the launch's arguments behind this many bytes of the driver's."""
    return max(0, constant - {80: 0x160, 90: 0x210, 100: 0x380}[arch])


def listed(introduction, items, otherwise):
    text = f"{introduction} {', '.join(items)}." if items else otherwise
    return [*textwrap.wrap(text, 120, break_on_hyphens=False), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", help="libplimsoll_cuda.a")
    parser.add_argument("-o", "--out", default=f"{ROOT}/docs/cuda-kernels.md")
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump")
    parser.add_argument("--plimsoll", default=f"{ROOT}/build/bin/plimsoll")
    parser.add_argument("--test-ops", default=f"{ROOT}/build/tests/ops/test_ops")
    args = parser.parse_args()
    found = kernels(args.cuobjdump, args.archive)
    missing = [arch for arch in DEVICES if not any(a == arch for a, _ in found)]
    if missing:
        sys.exit(
            f"error: '{args.archive}' has no code for {', '.join(f'sm_{a}' for a in missing)}; --help says how to "
            "build it"
        )
    names = sorted({name for _, name in found})
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    groups = collections.defaultdict(list)
    for mangled, demangled in zip(names, plain):
        groups[base_name(mangled, demangled)].append(mangled)
    threads = threads_of_kernels()
    unknown = [name for name in groups if not threads.get(name) and name != "probe"]
    if unknown:
        sys.exit(f"error: the sources do not say with how many threads these are launched: {', '.join(unknown)}")
    launches = kernel_bytes.reference_bytes(args.plimsoll, args.test_ops, ROOT)
    rows, spilled, few, moved = [], [], [], []
    for name in sorted(groups):
        block, cells, notes = threads.get(name) or 1, [], {
            "shared": 0, "arguments": 0, "load": 0, "store": 0, "local": 0
        }
        for arch in DEVICES:
            ones = [found[arch, mangled] for mangled in groups[name] if (arch, mangled) in found]
            registers = max(one["registers"] for one in ones)
            at_once = min(blocks_at_once(arch, one["registers"], block, one["shared"]) for one in ones)
            occupancy = 100 * at_once * -(-block // 32) // DEVICES[arch][0]
            cells.append(f"{registers} | {at_once} | {occupancy} %")
            for key in ("shared", "load", "store"):
                notes[key] = max(notes[key], *(one[key] for one in ones))
            notes["local"] = max(notes["local"], *(one["stack"] + one["local"] for one in ones))
            notes["arguments"] = max(notes["arguments"], *(arguments_bytes(arch, one["constant"]) for one in ones))
            if at_once < 2:
                few.append(f"`{name}` on sm_{arch}")
        if notes["local"]:
            spilled.append(f"`{name}` ({notes['local']} bytes)")
        rows.append(
            f"| `{name}` | {len(groups[name])} | {block} | {' | '.join(cells)} | {notes['shared']:,} | "
            f"{notes['local']} | "
            f"{notes['arguments']:,} | {notes['load']} | {notes['store']} |")
        if name in launches:
            task, source, read, written = launches[name]
            moved.append(f"| `{name}` | {task} | {source} | {read:,} | {written:,} |")
    networks = [f"`{spec}{' ' if options else ''}{options}`" for spec, options in kernel_bytes.NETWORKS]
    without = [f"`{name}`" for name in sorted(groups) if name not in launches]
    version = re.search(r"release ([\d.]+)", output([args.cuobjdump, "--version"]))[1]
    heads = " | ".join(f"sm_{arch}: registers | blocks | occupancy" for arch in DEVICES)
    lines = [
        "# The machine code of the CUDA kernels", "",
        "Written by `tools/gpu/kernel_table.py` from the compiled library, without a GPU. A row is a kernel of the "
        "sources. If it",
        "is compiled in several instances, the row has the most registers and bytes and the fewest blocks of all of "
        "them.",
        "", "- *blocks*: how many fit a multiprocessor at the same time; *occupancy*: their warps, of 64.",
        "- *shared* and *local*: bytes of shared memory per block, and of local memory per thread (stack and spilled "
        "registers).",
        "- *arguments*: bytes that a launch passes. *load* and *store*: the widest access of a thread, in bytes.", "",
        f"cuobjdump {version}, {len(names)} instances of {len(groups)} kernels.", "", *listed(
            "Local memory, of the stack or of spilled registers, is used by", spilled, "No kernel uses local memory."),
        *listed("Only one block fits a multiprocessor, of", few,
                "Of each kernel, at least two blocks fit a multiprocessor."),
        f"| kernel | instances | threads | {heads} | shared | local | arguments | load | store |",
        "|" + "---|" * (8 + 3 * len(DEVICES)), *rows, "", "## Bytes per launch", "", *textwrap.wrap(
            LAUNCHES.replace("\n", " ").format(batch=kernel_bytes.BATCH, networks=", ".join(networks)), 120,
            break_on_hyphens=False), "",
        *listed("None of their tasks launches", without, "Each kernel has such a task."),
        "| kernel | task | of | reads | writes |", "|---|---|---|---|---|", *moved
    ]
    with open(args.out, "w") as out:
        out.write("\n".join(lines) + "\n")
    print(f"{args.out}: {len(groups)} kernels, {len(names)} instances")


if __name__ == "__main__":
    main()
