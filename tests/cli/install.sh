# The files that `cmake --install` puts into a prefix work there, without the build directory: the compiler finds its
# profiler, its manual page and completions are in place, and trainers and other projects link the runtime library.
. "$PLIMSOLL_CLI/common.sh"

cmake --install "$PLIMSOLL_BUILD" --prefix "$PWD/tree" >log || fail "cmake --install"
for file in bin/plimsoll libexec/plimsoll/plimsoll-profile-host share/man/man1/plimsoll.1 share/doc/plimsoll/LICENSE \
            share/bash-completion/completions/plimsoll share/zsh/site-functions/_plimsoll \
            share/fish/vendor_completions.d/plimsoll.fish; do
  [[ -s tree/$file ]] || fail "$file is not installed"
done
# The host's runtime library is installed, and no files of other projects.
for file in libplimsoll_host.a PlimsollConfig.cmake PlimsollConfigVersion.cmake onednn.cmake; do
  [[ -s tree/lib/plimsoll/$file ]] || fail "lib/plimsoll/$file is not installed"
done
[[ ! -e tree/include && $(ls tree/lib) == plimsoll ]] ||
  fail "what other projects install came along: $(find tree/include tree/lib -type f | head -3)"

# The prefix is moved, and the variables that find the build's own profiler are unset.
mv tree elsewhere
unset PLIMSOLL_PROFILER
installed=$PWD/elsewhere/bin/plimsoll
expect 0 "$installed" --version; says "plimsoll 0.1.0"
expect 0 "$installed" doctor; says "ok  profiler"
plimsoll model resnet18:input=32,stem=cifar,width=4,classes=10 -o net.onnx >/dev/null
expect 0 env XDG_CACHE_HOME="$PWD/cache" "$installed" compile net.onnx --batch 2 --budget 70% -o trainer
says "wrote trainer"
# A trainer links the installed runtime, by its directory or as a package.
for how in "-DPLIMSOLL_RUNTIME=$PWD/elsewhere/lib/plimsoll" "-DPlimsoll_ROOT=$PWD/elsewhere"; do
  rm -rf trainer/build
  cmake -S trainer -B trainer/build -G Ninja "$how" -DPLIMSOLL_WERROR=ON >log 2>&1 &&
    cmake --build trainer/build >log 2>&1 || { cat log; fail "a trainer with $how"; }
  [[ -z $(find trainer/build -name 'libplimsoll*') ]] || fail "$how: the trainer builds its own runtime"
  expect 0 trainer/build/train --data synthetic --steps 1 --quiet
done
# Another project adds the generated directory as a program of its own, with Plimsoll::host.
mkdir consumer
cat >consumer/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
find_package(Plimsoll 0.1.0 REQUIRED COMPONENTS host)
if(NOT EXISTS ${Plimsoll_EXECUTABLE})
  message(FATAL_ERROR "there is no ${Plimsoll_EXECUTABLE}")
endif()
plimsoll_add_trainer(fit ${TRAINER})
CMAKE
configure_consumer() {
  rm -rf consumer/build
  cmake -S consumer -B consumer/build -G Ninja -DCMAKE_PREFIX_PATH="$PWD/elsewhere" \
    -DTRAINER="$PWD/trainer" "$@" >log 2>&1
}
configure_consumer && cmake --build consumer/build >log 2>&1 || { cat log; fail "a project that links Plimsoll::host"; }
expect 0 consumer/build/fit --data synthetic --steps 1 --quiet
# A program of other sources than the library's does not link, and the message has the reason.
sed -i 's/plimsoll_runtime_[0-9a-f]*/plimsoll_runtime_0123456789abcdef/g' trainer/program.cpp
grep -q plimsoll_runtime_0123456789abcdef trainer/program.cpp || fail "the program does not refer to the stamp"
! cmake --build consumer/build >log 2>&1 || fail "a program of other sources links"
grep -q "undefined reference.*plimsoll_runtime_0123456789abcdef" log ||
  { cat log; fail "the error is not the stamp's"; }
# What is missing is named.
! (unset ONEDNN_ROOT && configure_consumer "-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include") ||
  fail "Plimsoll::host without oneDNN"
grep -q "oneDNN is not installed" log || { cat log; fail "the missing library is not named"; }
sed -i 's/COMPONENTS host/COMPONENTS tpu/' consumer/CMakeLists.txt
! configure_consumer || fail "a component that is not there"
grep -q "no component 'tpu'" log || { cat log; fail "the missing component is not named"; }

rm elsewhere/libexec/plimsoll/plimsoll-profile-host
expect 8 env XDG_CACHE_HOME="$PWD/cache" "$installed" compile net.onnx --batch 4 --budget 70% -o other
says "plimsoll-profile-host"
