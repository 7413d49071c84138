# The project of a generated trainer finds oneDNN 2.6 to 3.x, and otherwise says what is wrong and which package is
# missing.
. "$PLIMSOLL_CLI/common.sh"
small_model
plimsoll compile net.onnx --batch 2 --costs modelled -q -o trainer
package="Debian: apt-get install libdnnl-dev"

# A fake oneDNN of that version, which can be found but not linked.
onednn() {
  rm -rf root && mkdir -p root/include/oneapi/dnnl root/lib &&
    touch root/include/oneapi/dnnl/dnnl.hpp root/lib/libdnnl.so
  local part
  for part in "MAJOR $1" "MINOR $2" "PATCH $3"; do echo \
      "#define DNNL_VERSION_$part"; done >root/include/oneapi/dnnl/dnnl_version.h
}
configure() { rm -rf build && cmake -S trainer -B build "$@"; }

for version in "2 6 0" "3 0 1" "3 12 3"; do
  onednn $version
  expect 0 configure -DONEDNN_ROOT="$PWD/root"
  grep -qF "OneDNN_LIBRARY:FILEPATH=$PWD/root/lib/libdnnl.so" build/CMakeCache.txt ||
    fail "oneDNN $version is not taken"
done
expect 0 env ONEDNN_ROOT="$PWD/root" cmake -S trainer -B build --fresh

# CMake wraps lines at arbitrary places.
unwrapped() { tr -s ' \n' ' ' <err >text; grep -qF -- "$1" text || { cat err >&2; fail "does not say: $1"; }; }
for version in "2 5 4" "1 96 0" "4 0 0"; do
  onednn $version
  expect 1 configure -DONEDNN_ROOT="$PWD/root"
  unwrapped "is ${version// /.}; 2.6 to 3.x are supported"; unwrapped "$package"
done
onednn 3 7 2 && rm root/lib/libdnnl.so
only_root=(-DCMAKE_FIND_ROOT_PATH="$PWD/root" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
  -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY)
expect 1 configure "${only_root[@]}"
unwrapped "its library libdnnl is not found"; unwrapped "$package"
rm -r root/include
expect 1 configure "${only_root[@]}"
unwrapped "oneDNN is not found"; unwrapped "$package"
onednn 3 7 2 && : >root/include/oneapi/dnnl/dnnl_version.h
expect 1 configure -DONEDNN_ROOT="$PWD/root"
unwrapped "does not define DNNL_VERSION_MAJOR"
