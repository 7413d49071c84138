# The files that `cmake --install` puts into a prefix work there, without the build directory: the compiler finds its
# profiler, and its manual page and completions are in place.
. "$PLIMSOLL_CLI/common.sh"

cmake --install "$PLIMSOLL_BUILD" --prefix "$PWD/tree" >log || fail "cmake --install"
for file in bin/plimsoll libexec/plimsoll/plimsoll-profile-host share/man/man1/plimsoll.1 share/doc/plimsoll/LICENSE \
            share/bash-completion/completions/plimsoll share/zsh/site-functions/_plimsoll share/fish/vendor_completions.d/plimsoll.fish; do
  [[ -s tree/$file ]] || fail "$file is not installed"
done
# The host's runtime library is installed, and no files of other projects.
for file in libplimsoll_host.a PlimsollConfig.cmake PlimsollConfigVersion.cmake; do [[ -s tree/lib/plimsoll/$file ]] || fail "lib/plimsoll/$file is not installed"; done
[[ ! -e tree/include && $(ls tree/lib) == plimsoll ]] || fail "what other projects install came along: $(find tree/include tree/lib -type f | head -3)"

# The prefix is moved, and the variables that find the build's own profiler are unset.
mv tree elsewhere
unset PLIMSOLL_PROFILER
installed=$PWD/elsewhere/bin/plimsoll
expect 0 "$installed" --version; says "plimsoll 0.1.0"
expect 0 "$installed" doctor; says "ok  profiler"
plimsoll model resnet18:input=32,stem=cifar,width=4,classes=10 -o net.onnx >/dev/null
expect 0 env XDG_CACHE_HOME="$PWD/cache" "$installed" compile net.onnx --batch 2 --budget 70% -o trainer; says "trainer is written"
# A trainer links the installed runtime, by its directory or as a package.
for how in "-DPLIMSOLL_RUNTIME=$PWD/elsewhere/lib/plimsoll" "-DPlimsoll_ROOT=$PWD/elsewhere"; do
  rm -rf trainer/build
  cmake -S trainer -B trainer/build -G Ninja "$how" -DPLIMSOLL_WERROR=ON >log 2>&1 && cmake --build trainer/build >log 2>&1 || { cat log; fail "a trainer with $how"; }
  [[ -z $(find trainer/build -name 'libplimsoll*') ]] || fail "$how: the trainer builds its own runtime"
  expect 0 trainer/build/train --data synthetic --steps 1 --quiet
done
rm elsewhere/libexec/plimsoll/plimsoll-profile-host
expect 8 env XDG_CACHE_HOME="$PWD/cache" "$installed" compile net.onnx --batch 4 --budget 70% -o other; says "plimsoll-profile-host"
