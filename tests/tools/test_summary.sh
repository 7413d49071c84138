# tools/test.sh: it prints the ten slowest tests, the reason of each skip, the last lines of each failed test, and
# ctest's count as the last line. In CI a skip fails, unless the machine lacks what the test needs.
. "$PLIMSOLL_CLI/common.sh"
unset CI PLIMSOLL_NO_SKIPS PLIMSOLL_PYTHON

# The script in a tree of its own: nothing is installed or built, and ctest runs these tests.
mkdir -p tree/tools tree/build tree/bin
cp "$PLIMSOLL_SOURCE/tools/test.sh" "$PLIMSOLL_SOURCE/tools/test_summary.py" tree/tools/
printf '#!/bin/sh\n' | tee tree/tools/setup.sh >tree/bin/cmake
chmod +x tree/tools/*.sh tree/bin/cmake
tests() { cat >tree/build/CTestTestfile.cmake; }
run() { expect "$1" env "${@:2}" PATH="$PWD/tree/bin:$PATH" PLIMSOLL_BUILD=build tree/tools/test.sh; }

for n in {1..12}; do echo "add_test(\"some: pass $n\" true)"; done >passing
{ echo 'add_test("some: slow" sleep 1)'; cat passing; } | tests
run 0
[[ $(grep -cE '^ +[0-9.]+ s  some: ' out) -eq 10 ]] || { cat out; fail "not ten slowest tests"; }
[[ $(grep -A1 "^The slowest tests" out | tail -1) == *"some: slow" ]] ||
  { cat out; fail "the slowest is not the first"; }
says "Total Test time (real)"
[[ $(tail -1 out) == "100% tests passed, 0 tests failed out of 13" ]] ||
  { cat out; fail "the count is not the last line"; }

{ echo 'add_test("some: broken" sh -c "seq 1 40; echo the reason; exit 1")'; cat passing; } | tests
run 8
[[ $(sed -n '/^The slowest/,$p' out | grep -A1 "^Failed: some: broken" | tail -1) == "  27" ]] ||
  { cat out; fail "the last lines of a failed test are not shown again"; }
[[ $(sed -n '/^Failed: some: broken/,$p' out) == *"  the reason"* ]] || fail "the last line is missing"
[[ $(tail -1 out) == *"1 tests failed out of 13" ]] ||
  { cat out; fail "the count of failures is not the last line"; }

# A skip that nothing explains: accepted at a desk, refused in CI.
skip='set_tests_properties("%s" PROPERTIES SKIP_RETURN_CODE 77)\n'
{ echo 'add_test("some: skips" sh -c "echo skipped: the moon is full; exit 77")'; printf "$skip" "some: skips"; } |
  tests
run 0
says "some: skips: the moon is full"
for variable in CI=true PLIMSOLL_NO_SKIPS=1; do
  run 1 "$variable"
  says "test: skipped although this machine has what they need: some: skips"
done
# A skip of a test that needs what this machine lacks is accepted in CI too.
{ echo 'add_test("e2e: dynamo" sh -c "exit 77")'; printf "$skip" "e2e: dynamo"; } | tests
run 0 CI=true PLIMSOLL_PYTHON=/no/such/python
says "accepted, because this machine does not have the Python packages of tools/setup.sh python"
run 1 CI=true PLIMSOLL_PYTHON="$(command -v python3)"

# Each test that skips itself because it finds no module that Debian does not package is in the table.
/usr/bin/python3 - "$PLIMSOLL_SOURCE" <<'PY' || fail "a test whose skip would fail in CI"
import fnmatch, glob, os, re, sys

source = sys.argv[1]
sys.path.insert(0, source + "/tools")
import test_summary

installed = {"torch", "torchvision", "onnx", "numpy", "sklearn", "PIL"}  # by tools/setup.sh test
patterns = [pattern for _, _, tests in test_summary.environment("/no/such/build") for pattern in tests]
checked = []
for path in sorted(glob.glob(source + "/tests/*/*.sh")):
    text = open(path).read()
    asked = re.findall(r"^(?:.*\s)?(\w+)=\$\(python_with ([\w. ]+)\)", text, re.M)
    for variable in {variable for variable, _ in asked}:
        missing = [{module.split(".")[0] for module in modules.split()} - installed
                   for each, modules in asked if each == variable]
        if all(missing) and re.search(r"-n \$%s \]\] \|\|\s*\{[^}]*exit 77|-z \$%s \]\][^}]*?exit 77"
                                      % (variable, variable), text):
            name = f"{os.path.basename(os.path.dirname(path))}: {os.path.basename(path)[:-3]}"
            assert any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns), \
                f"{name} needs {missing}; name it in tools/test_summary.py"
            checked.append(name)
assert len(checked) >= 5, checked
PY
