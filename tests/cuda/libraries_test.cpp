// The loader's reason for a library that cannot be loaded is kept.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "runtime/cuda/device/libraries.h"

namespace plimsoll::test {

TEST_CASE("why a library cannot be loaded, in the loader's words") {
  CHECK(cuda::why_not_loaded("libm.so.6") == "");
  const std::string missing = cuda::why_not_loaded("libplimsoll_is_not_there.so.9");
  CHECK(missing.find("libplimsoll_is_not_there.so.9: cannot open shared object file") == 0);
  const std::filesystem::path broken = std::filesystem::temp_directory_path() / "libplimsoll_is_broken.so";
  std::ofstream(broken).close();
  const std::string short_file = cuda::why_not_loaded(broken.string());
  CHECK(short_file == broken.string() + ": file too short");
  // Beside a library of another name: not found there, and not elsewhere.
  static const int here = 0;
  CHECK(cuda::why_not_loaded("libplimsoll_is_not_there.so.9", &here) == missing);
  std::filesystem::remove(broken);
}

}  // namespace plimsoll::test
