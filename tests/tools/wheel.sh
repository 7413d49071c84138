# The wheel that `pip install .` makes: the Python package, the command, its profiler and the manual page are where they
# belong in a virtual environment. The programs are those of this build, so nothing is compiled.
. "$PLIMSOLL_E2E/trainer.bash"
builder=$(python_with scikit_build_core pip venv numpy onnx)
[[ -n $builder ]] || {
  echo "skipped: no Python here has scikit-build-core, which builds the wheel, numpy and onnx (tools/setup.sh python)"
  exit 77
}

# A build that asks PyPI for something fails: there is no index.
"$builder" -m pip wheel "$PLIMSOLL_SOURCE" --no-deps --no-build-isolation --no-index --wheel-dir wheels \
  --config-settings=build-dir="$PWD/made" --config-settings=cmake.source-dir="$PLIMSOLL_SOURCE/tests/tools/wheel" \
  --config-settings=cmake.define.PLIMSOLL_PREBUILT="$PLIMSOLL_BUILD" >log 2>&1 || { cat log; fail "pip wheel"; }
# One wheel for every Python 3 of this platform.
compgen -G 'wheels/plimsoll-0.1.0-py3-none-*.whl' >/dev/null || { ls wheels; fail "the name of the wheel"; }

"$builder" -m venv --without-pip env
"$builder" -m pip --python env/bin/python install --no-deps --no-index wheels/*.whl >log 2>&1 ||
  { cat log; fail "pip install"; }
for file in bin/plimsoll libexec/plimsoll/plimsoll-profile-host share/man/man1/plimsoll.1 share/doc/plimsoll/LICENSE \
            share/bash-completion/completions/plimsoll; do
  [[ -s env/$file ]] || { find env -name "$(basename $file)"; fail "$file is not installed"; }
done
[[ ! -e env/lib/plimsoll ]] || fail "the wheel has a runtime library, which is compiled for this processor"

# The command works without the variables that find the build's own profiler.
unset PLIMSOLL_PROFILER
expect 0 env/bin/plimsoll --version;  says "plimsoll 0.1.0"
expect 0 env/bin/plimsoll doctor;     says "ok  profiler"

# Other packages are those of the Python that built the wheel. The package imports without PyTorch.
packages='import sysconfig; print(sysconfig.get_path("purelib"))'
"$builder" -c "$packages" >"$(env/bin/python -c "$packages")/others.pth"
cd env  # not in a directory that has a `plimsoll` of its own
bin/python - <<'PY'
import os, sys
sys.modules["torch"] = None
import plimsoll
assert os.path.abspath(plimsoll.__file__).startswith(os.path.abspath(sys.prefix)), plimsoll.__file__
assert callable(plimsoll.export) and callable(plimsoll.check)
PY
if bin/python -c 'import torch' 2>/dev/null; then
  bin/python - >log 2>&1 <<'PY' || { cat log; fail "plimsoll.export"; }
import torch
import plimsoll
model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
plimsoll.export(model, torch.randn(2, 6), "net.onnx")
PY
  expect 0 bin/plimsoll plan net.onnx --batch 8 --budget 100% --loss softmax-cross-entropy --costs modelled -o plan.json
fi
