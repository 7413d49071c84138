// Reads every #include of the project and rejects dependencies that docs/ARCHITECTURE.md does not allow.
//
//   runtime/attrs ◄─ compiler/support ◄─ compiler/ir ◄─┬─ compiler/ops ◄─┬─ training ◄─ network ◄─ import ◄─ models
//                                                      │                 └─ papers
//                                                      ├─ compiler/{check, report, costs}
//                                                      ├─ passes
//                                                      └─ codegen            … all of them ◄─ compiler/driver ◄─ tools
//   runtime/{host, cuda, train, dist, profile} ─► runtime only; runtime/machine includes nothing, and tools may use it
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = PLIMSOLL_SOURCE_DIR;

// What a module may include besides itself and the standard library. A file belongs to the longest prefix in this
// table.
const std::map<std::string, std::set<std::string>> kArrows = {
    {"runtime/attrs", {}},
    {"compiler/support", {}},
    {"compiler/ir", {"compiler/support", "runtime/attrs"}},
    {"compiler/ops", {"compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/training", {"compiler/ops", "compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/papers", {"compiler/ops", "compiler/ir", "compiler/support", "runtime/attrs"}},
    // It builds task graphs where the costs of tasks decide (layout_choice.h).
    {"compiler/network", {"compiler/training", "compiler/ops", "compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/network/simplify",
     {"compiler/network", "compiler/ops", "compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/import", {"compiler/network", "compiler/ops", "compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/check", {"compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/report", {"compiler/ir", "compiler/support", "runtime/attrs"}},
    {"compiler/costs", {"compiler/ir", "compiler/support", "runtime/attrs"}},
    // It turns a request into files, and calls all other modules.
    {"compiler/driver", {"compiler", "passes", "codegen", "runtime/attrs", "runtime/machine"}},
    {"passes", {"compiler/ir", "compiler/support", "runtime/attrs"}},
    {"codegen", {"compiler/ir", "compiler/support", "runtime/attrs"}},
    {"models", {"compiler/import", "compiler/ir", "compiler/support"}},
    {"tools", {"compiler", "passes", "codegen", "models", "runtime/attrs", "runtime/machine"}},
    {"runtime/machine", {}},
    {"runtime", {"runtime"}},
};

// Libraries, and the only modules that may include them.
const std::map<std::string, std::set<std::string>> kLibraries = {
    {"google/protobuf", {"compiler/import", "models"}},
    {"onnx/", {"compiler/import", "models"}},
    {"onnx.pb.h", {"compiler/import", "models"}},
    {"llvm/", {"tools"}},
    {"oneapi/dnnl", {"runtime/host"}},
    {"mpi.h", {"runtime/dist/host"}},
    {"nccl", {"runtime/dist/cuda"}},
    {"cuda", {"runtime/cuda", "runtime/profile/cuda", "runtime/dist/cuda"}},
    {"cudnn", {"runtime/cuda"}},
    {"cublas", {"runtime/cuda"}},
    {"nvtx", {"runtime/cuda"}},
    // Headers of a backend: the training loop and the profiler may include only runtime/backend.h and
    // runtime/streams.h.
    {"runtime/cuda/", {"runtime/cuda", "runtime/profile/cuda"}},
    {"runtime/host/", {"runtime/host"}},
    {"omp.h", {"runtime"}},
    {"fmt/", {"compiler", "passes", "codegen", "models", "tools"}},
};

bool under(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

std::string room_of(const std::string& path) {
  std::string best;
  for (const auto& [room, allowed] : kArrows)
    if (under(path, room) && room.size() > best.size()) best = room;
  return best;
}

bool any_under(const std::string& path, const std::set<std::string>& folders) {
  for (const std::string& folder : folders)
    if (under(path, folder)) return true;
  return false;
}

std::vector<std::string> sources() {
  std::vector<std::string> found;
  for (const char* folder : {"compiler", "passes", "codegen", "runtime", "models", "tools"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".def")
        found.push_back(fs::relative(entry.path(), kRoot).generic_string());
    }
  }
  return found;
}

}  // namespace

TEST_CASE("no include crosses an arrow") {
  const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  size_t seen = 0;
  for (const std::string& path : sources()) {
    const std::string room = room_of(path);
    INFO(path);
    REQUIRE_FALSE(room.empty());
    std::ifstream file(kRoot / path);
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string target = match[1];
      INFO(line);
      ++seen;
      for (const auto& [library, rooms] : kLibraries)
        if (target.starts_with(library)) CHECK(any_under(path, rooms));
      if (!fs::exists(kRoot / target)) continue;
      const std::string into = room_of(target);
      if (!into.empty() && into != room) CHECK(any_under(into, kArrows.at(room)));
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("no source has grown past a thousand lines") {
  for (const std::string& path : sources()) {
    std::ifstream file(kRoot / path);
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    INFO(path);
    CHECK(lines <= 1000);
  }
}

TEST_CASE("the checker derives from plan.json by itself what the planner has decided") {
  const std::regex shared(R"(\b(copy_rounds|planned_graph|sliced|accumulating|times_of|has_copy)\s*\()");
  size_t seen = 0;
  for (const std::string& path : sources()) {
    if (!path.starts_with("compiler/check/")) continue;
    std::ifstream file(kRoot / path);
    for (std::string line; std::getline(file, line);) {
      INFO(path << ": " << line);
      CHECK_FALSE(std::regex_search(line, shared));
      CHECK(line.find("#include \"passes/") == std::string::npos);
      ++seen;
    }
  }
  CHECK(seen > 1000);
}
