"""Where a run of gpu_check.sh builds: a folder outside the prepared one. What was prepared stays as small as it was,
and builds survive when it is copied to the machine again. Needs no packages."""
import filecmp
import hashlib
import os
import shutil
import tempfile


def default_workplace(prepared):
    """A folder of this user for that prepared folder, the same in every run on this machine."""
    path = os.path.realpath(prepared)
    return os.path.join(tempfile.gettempdir(), f"plimsoll-gpu-check-{os.getuid()}",
                        hashlib.sha256(path.encode()).hexdigest()[:12])


def files_in(folder):
    return {os.path.relpath(os.path.join(base, name), folder) for base, _, names in os.walk(folder) for name in names}


def copy_if_changed(given, to):
    """Compares contents, because copying gives other times to the same files, and other times mean building again."""
    if os.path.exists(to) and filecmp.cmp(given, to, shallow=False):
        return False
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy2(given, to + ".new")
    os.replace(to + ".new", to)
    return True


def brought_in(prepared, work):
    """Copies what was prepared to the workplace, and removes what was made of earlier versions of it."""
    os.makedirs(work, exist_ok=True)
    there = files_in(prepared)
    for path in files_in(f"{work}/source") - files_in(f"{prepared}/source"):
        os.remove(f"{work}/source/{path}")
    for path in sorted(there):
        top = path.split(os.sep)[0]
        if top in ("source", "networks") or path in ("index.json", "cases.json.gz", "gpu_check.sh"):
            if copy_if_changed(f"{prepared}/{path}", f"{work}/{path}") and top == "networks" and path.endswith(".gz"):
                remove(f"{work}/{path[:-3]}")  # it was unpacked
        elif top == "trainers" and path.endswith(".tar.gz"):
            if copy_if_changed(f"{prepared}/{path}", f"{work}/{path}"):
                shutil.rmtree(f"{work}/{path[:-len('.tar.gz')]}", ignore_errors=True)
        elif top == "results":
            here = f"{work}/{path}"
            # Of two results the newer one counts: it may be from another machine, or edited to repeat a step.
            if not os.path.exists(here) or os.path.getmtime(f"{prepared}/{path}") > os.path.getmtime(here):
                copy_if_changed(f"{prepared}/{path}", here)


def brought_back(work, prepared):
    """Copies the results to the prepared folder."""
    for path in sorted(files_in(f"{work}/results")):
        if not path.endswith(".new"):
            copy_if_changed(f"{work}/results/{path}", f"{prepared}/results/{path}")


def remove(path):
    if os.path.exists(path):
        os.remove(path)
