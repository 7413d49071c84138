"""Summarizes a ctest run for tools/test.sh: the ten slowest tests, which tests were skipped and why, and the last lines
of each test that failed, because a long log is often kept only in part, from its end.

usage: test_summary.py JUNIT.xml BUILD_DIRECTORY [--no-skips]

With --no-skips, exits with 1 if a test was skipped although this machine has what the test needs. A skip is accepted
only where the table below names the test and the thing that it needs is absent; so a test that skips itself by mistake
fails the run, and a machine with more installed runs more tests.
"""
import fnmatch, os, shutil, subprocess, sys
import xml.etree.ElementTree as ElementTree

# Of how many failed tests the output is shown again, and how many lines of each.
MOST_FAILURES, LAST_LINES = 5, 15
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def environment(build):
    """What tests need and a machine may lack: (what, is it here?, the tests that need it)."""
    def program(*names):
        return any(shutil.which(name) for name in names)

    def namespaces():
        return program("ip") and subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0

    def has(*modules):
        # Found, not imported, as in the tests' python_with (tests/e2e/trainer.bash).
        finds = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
        return any(program(each) and subprocess.run([each, "-c", finds, *modules], capture_output=True).returncode == 0
                   for each in (python, "/usr/bin/python3", "python3", os.path.join(ROOT, "build/keras/bin/python3")))

    python = os.environ.get("PLIMSOLL_PYTHON") or os.path.join(ROOT, "build/python/bin/python3")
    cuda = os.access(os.path.join(build, "bin/plimsoll-profile-cuda"), os.X_OK)
    return [
        ("Chromium (tools/setup.sh browser)", program("chromium", "chromium-browser", "google-chrome"), ["browser: *"]),
        ("the Python packages of tools/setup.sh python", program(python),
         ["browser: trace_viewer", "e2e: attention", "e2e: dynamo", "e2e: onnxruntime*", "e2e: written_losses",
          "node: node"]),
        ("scikit-build-core (tools/setup.sh python)", has("scikit_build_core"), ["tools: wheel"]),
        ("TensorFlow, Keras and tf2onnx (tools/setup.sh keras)", has("tensorflow", "keras", "tf2onnx", "onnx", "numpy"),
         ["e2e: keras_export"]),
        ("the CUDA toolkit with cuDNN", cuda, ["cli: cuda", "cudnn: *", "e2e: cuda", "e2e: gpu_check*"]),
        ("Perfetto's trace_processor_shell", bool(os.environ.get("PLIMSOLL_TRACE_PROCESSOR")) or
         program("trace_processor_shell", "trace_processor"), ["e2e: perfetto"]),
        ("network namespaces (iproute2, and a kernel that lets root make them)", namespaces(), ["e2e: ranks_hosts"]),
    ]


def reason(case):
    """The line that the test printed about it, or else what ctest says."""
    printed = (case.findtext("system-out") or "").splitlines()
    said = [line.strip() for line in printed if line.strip().startswith("skipped:")]
    if said:
        return said[-1].removeprefix("skipped:").strip()
    skipped = case.find("skipped")
    return (skipped.get("message") if skipped is not None else None) or "no reason given"


def say_failures(cases):
    """The last lines that each failed test printed."""
    failed = [case for case in cases if case.find("failure") is not None]
    for case in failed[:MOST_FAILURES]:
        print(f"\nFailed: {case.get('name')}; its last lines:")
        for line in (case.findtext("system-out") or "").rstrip().splitlines()[-LAST_LINES:]:
            print(f"  {line[:300]}")
    if len(failed) > MOST_FAILURES:
        print(f"\nand {len(failed) - MOST_FAILURES} more tests failed")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--no-skips"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    report, build = arguments
    cases = list(ElementTree.parse(report).iter("testcase"))

    print("\nThe slowest tests:")
    for case in sorted(cases, key=lambda case: -float(case.get("time") or 0))[:10]:
        print(f"{float(case.get('time') or 0):9.2f} s  {case.get('name')}")

    skipped = [case for case in cases if case.find("skipped") is not None]
    unexpected = []
    if skipped:
        needs = environment(build)
        print(f"\nSkipped, {len(skipped)} of {len(cases)}:")
        for case in skipped:
            name = case.get("name")
            absent = [what for what, here, tests in needs
                      if not here and any(fnmatch.fnmatchcase(name, pattern) for pattern in tests)]
            print(f"  {name}: {reason(case)}")
            if absent:
                print(f"    accepted, because this machine does not have {absent[0]}")
            else:
                unexpected.append(name)
    say_failures(cases)
    print()
    if unexpected and "--no-skips" in sys.argv:
        print(f"test: skipped although this machine has what they need: {', '.join(unexpected)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
