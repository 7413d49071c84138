"""Finds CUDA and cuDNN on an unknown machine, and records what else its results depend on."""
import functools
import glob
import os
import shutil
import subprocess
import sys
import time

import numpy
import torch


def first_of(patterns):
    """The first file that matches one of the patterns; '' if there is none."""
    return next((path for pattern in patterns for path in sorted(glob.glob(pattern))), "")


def device_to_build_for():
    """The architecture of the device that PyTorch sees, even without nvidia-smi; an H200's if there is none, to test
    compilation."""
    return "{}{}".format(*torch.cuda.get_device_capability()) if torch.cuda.is_available() else "90-real"


@functools.lru_cache
def toolchain():
    """(CMake's options, what was not found). The toolkit may be in /usr/local, in Python's packages, or partly in
    each."""
    packages = [path for path in sys.path if path.endswith("-packages")]
    nvcc = shutil.which("nvcc") or first_of(
        ["/usr/local/cuda*/bin/nvcc", *(f"{p}/nvidia/*/bin/nvcc" for p in packages)])
    if not nvcc:
        raise RuntimeError("there is no nvcc: not on the PATH, in /usr/local/cuda or in Python's packages")
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    roots = [
        root, f"{root}/targets/x86_64-linux", "/usr/local/cuda", "/usr", "/usr/local",
        *(f"{p}/nvidia/*" for p in packages)
    ]
    # PyTorch's own cuDNN comes first: the comparison should be of the same library, whose engines the plans name.
    wheels = [path for p in packages for path in sorted(glob.glob(f"{p}/nvidia/cudnn"))]
    flags, includes, missing = [f"-DCMAKE_CUDA_COMPILER={nvcc}"], [], []
    for header in ("cuda_runtime.h", "cudnn.h", "cublasLt.h", "nvtx3/nvToolsExt.h"):
        found = first_of([f"{r}/include/{header}" for r in (wheels if header == "cudnn.h" else []) + roots] +
                         [f"/usr/include/x86_64-linux-gnu/{header}"])
        folder = found[:-len(header) - 1]
        if not found:
            missing.append(header)
        elif not os.path.exists(f"{root}/include/{header}") and folder not in ("/usr/include", *includes):
            includes.append(folder)
        if found and header == "cudnn.h":
            flags.append(f"-DCUDNN_INCLUDE_DIR={folder}")
    for name, variable in (("libcudnn.so", "CUDNN_LIBRARY"), ("libcublasLt.so", "CUDA_cublasLt_LIBRARY"),
                           ("libcudart_static.a", "CUDA_cudart_static_LIBRARY")):
        found = first_of([
            f"{r}/{lib}/{name}{version}" for r in (wheels if "cudnn" in name else []) + roots
            for lib in ("lib64", "lib", "lib/x86_64-linux-gnu") for version in ("", ".[0-9]*")
        ])
        if found:
            flags.append(f"-D{variable}={found}")
        else:
            missing.append(name)
    # NCCL, if it is there: for trainers of several ranks.
    for variable, pattern in (("NCCL_INCLUDE_DIR", "include/nccl.h"), ("NCCL_LIBRARY", "lib*/libnccl.so*")):
        found = first_of([*(f"{p}/nvidia/nccl/{pattern}" for p in packages), *(f"{r}/{pattern}" for r in roots),
                          f"/usr/lib/x86_64-linux-gnu/{os.path.basename(pattern)}"])
        if found:
            flags.append(f"-D{variable}={os.path.dirname(found) if found.endswith('.h') else found}")
    if includes:
        options = " ".join(f"-isystem {folder}" for folder in includes)
        flags += [f"-DCMAKE_CXX_FLAGS={options}", f"-DCMAKE_CUDA_FLAGS={options}"]
    if shutil.which("ninja"):
        flags += ["-G", "Ninja"]
    return flags, missing


def lend_compiler(folder):
    """cuDNN compiles some kernels while a plan is made, with a library that it loads by its name alone. This makes a
    folder for the loader's path with links to that library, and to nothing else from its own folder."""
    packages = [path for path in sys.path if path.endswith("-packages")]
    for place in (*(f"{p}/nvidia/*/lib" for p in packages), "/usr/local/cuda/lib64",
                  "/usr/local/cuda*/targets/x86_64-linux/lib"):
        there = sorted(glob.glob(f"{place}/libnvrtc*.so.*"))
        if not there:
            continue
        os.makedirs(folder, exist_ok=True)
        for path in there:
            link = f"{folder}/{os.path.basename(path)}"
            if os.path.dirname(path) == os.path.dirname(there[0]) and not os.path.lexists(link):
                os.symlink(path, link)
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), folder]))
        return


@functools.lru_cache
def versions():
    told = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "torch": torch.__version__,
        "cudnn of torch": torch.backends.cudnn.version(), "numpy": numpy.__version__, "cores": os.cpu_count()
    }
    query = "name,driver_version,memory.total,memory.used,clocks.sm,clocks.mem,pcie.link.gen.max,pcie.link.width.max"
    for name, command in (("gpu", ["nvidia-smi", f"--query-gpu={query}",
                                   "--format=csv,noheader"]), ("nvcc", ["nvcc", "--version"]),
                          ("cmake", ["cmake", "--version"]), ("c++", ["c++", "--version"]), ("kernel", ["uname", "-a"]),
                          ("memory", ["free", "-m"]), ("processor", ["sh", "-c", "grep -m1 'model name' /proc/cpuinfo"
                                                                    ]), ("locked memory", ["sh", "-c", "ulimit -l"])):
        try:
            told[name] = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()[-600:]
        except (OSError, subprocess.TimeoutExpired) as error:
            told[name] = str(error)[-200:]
    try:
        told["toolchain"] = toolchain()
    except RuntimeError as error:
        told["toolchain"] = str(error)
    return told
