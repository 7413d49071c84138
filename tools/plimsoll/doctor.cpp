#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "compiler/costs/cache.h"
#include "compiler/costs/find_profiler.h"
#include "compiler/costs/subprocess.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "compiler/support/json.h"
#include "runtime/machine/processors.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// One checked item: what was found; or why it is needed and how to install it.
struct Finding {
  enum class State {
    ok,
    missing,
    without
  } state = State::ok;  // missing: trainers cannot be built or run; without: some features are off
  std::string what = {};
  std::string detail = {};
};

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

// The output lines of a program; empty if it cannot be run or fails.
std::vector<std::string> lines_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> lines;
  if (arguments[0].empty()) return lines;
  const Result<ProcessResult> result = run_process(arguments);
  if (!result.ok() || result->exit_code != 0) return lines;
  std::string rest = result->output;
  for (size_t end; (end = rest.find('\n')) != std::string::npos; rest = rest.substr(end + 1))
    lines.push_back(rest.substr(0, end));
  if (!rest.empty()) lines.push_back(rest);
  return lines;
}

// "name : value" of files like /proc/cpuinfo.
std::string field_of(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const size_t from = line.find_first_not_of(" \t", line.find(':') + 1);
    return from == std::string::npos ? "" : line.substr(from);
  }
  return "";
}

int64_t kibibytes(const std::string& text) { return std::atoll(text.c_str()) * 1024; }

class Doctor {
 public:
  void look() {
    section("this machine");
    machine();
    section("to plan");
    profiler("profiler", "host", Finding::State::missing,
             "exact workspaces of this CPU's kernels: build the target plimsoll-profile-host");
    cache();
    section("to build trainers");
    const char* const compiler = std::getenv("CXX");
    compiler_ = compiler && *compiler ? compiler : "c++";
    program("C++ compiler", compiler_, "apt-get install g++");
    program("CMake", "cmake", "apt-get install cmake");
    build_program();
    header("oneDNN", {"oneapi/dnnl/dnnl.hpp"}, Finding::State::missing,
           "trainers for this CPU: apt-get install libdnnl-dev");
    header("PNG", {"png.h"}, Finding::State::without,
           "images of that kind (--data images:DIR): apt-get install libpng-dev");
    header("JPEG", {"cstdio", "jpeglib.h"}, Finding::State::without,
           "images of that kind (--data images:DIR): apt-get install libjpeg62-turbo-dev");
    mpi();
    section("for GPUs");
    gpus();
    if (const std::vector<std::string> nvcc = lines_of({find_program("nvcc"), "--version"}); nvcc.empty())
      add(Finding::State::without, "CUDA compiler", "none: trainers for GPUs must be built on a machine with nvcc");
    else add(Finding::State::ok, "CUDA compiler", release_of(nvcc));
    nccl();
    profiler("profiler", "cuda", Finding::State::without,
             "none: planning for GPUs works (--costs h200), generating trainers for them does not");
  }

  bool healthy() const { return healthy_; }

  std::string json() const {
    std::vector<std::string> findings;
    for (const auto& [title, section] : sections_)
      for (const Finding& finding : section)
        findings.push_back(JsonObject()
                               .add("section", title)
                               .add("what", finding.what)
                               .add("detail", finding.detail)
                               .add("state", finding.state == Finding::State::ok        ? "ok"
                                             : finding.state == Finding::State::missing ? "missing"
                                                                                        : "without")
                               .text());
    return JsonObject()
        .add("version", PLIMSOLL_VERSION)
        .add("healthy", healthy_)
        .add_text("findings", json_list(findings))
        .text();
  }

  std::string print(bool color) const {
    std::string text;
    for (const auto& [title, findings] : sections_) {
      Table table({{}, {}, {.most = 74}});
      for (const Finding& finding : findings) {
        std::string state = finding.state == Finding::State::ok        ? "ok"
                            : finding.state == Finding::State::missing ? "missing"
                                                                       : "without",
                    what = finding.what;
        for (std::string& line : wrapped_lines(finding.detail, 74))
          table.row({std::exchange(state, ""), std::exchange(what, ""), std::move(line)});
      }
      text += (text.empty() ? "" : "\n") + heading(title, color) + table.print(color);
    }
    return text;
  }

 private:
  void section(const char* title) { sections_.emplace_back(title, std::vector<Finding>()); }
  void add(Finding::State state, std::string what, std::string detail) {
    healthy_ = healthy_ && state != Finding::State::missing;
    sections_.back().second.push_back({state, std::move(what), std::move(detail)});
  }

  void machine() {
    const std::string model = field_of("/proc/cpuinfo", "model name"),
                      flags = " " + field_of("/proc/cpuinfo", "flags") + " ";
    const auto has = [&](const char* flag) { return flags.find(std::string(" ") + flag + " ") != std::string::npos; };
    const char* const units = has("avx512f") ? ", AVX-512" : has("avx2") ? ", AVX2" : "";
    const int64_t all_cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)), usable = processors();
    add(Finding::State::ok, "CPU",
        fmt::format("{}, {}{}{}", model.empty() ? "unknown" : model, counted(all_cores, "core"),
                    usable < all_cores ? fmt::format(", {} of them available to this process", usable) : "", units));
    add(Finding::State::ok, "bf16",
        processor_multiplies_bf16_faster()
               ? "saves memory and time: products are faster than in fp32"
               : "saves memory, not time: products are no faster than in fp32");
    const int64_t all = kibibytes(field_of("/proc/meminfo", "MemTotal")),
                  free = kibibytes(field_of("/proc/meminfo", "MemAvailable"));
    if (all > 0)
      add(Finding::State::ok, "memory", fmt::format("{}, {} available", format_bytes(all), format_bytes(free)));
  }

  // The build program of CMake: that of CMAKE_GENERATOR, by default make.
  void build_program() {
    const char* const given = std::getenv("CMAKE_GENERATOR");
    const std::string generator = given && *given ? given : "Unix Makefiles";
    if (generator.starts_with("Ninja"))
      return program("build program", "ninja", "for CMAKE_GENERATOR=" + generator + ": apt-get install ninja-build");
    program("build program", "make",
            find_program("ninja").empty() ? "apt-get install make"
                                          : "apt-get install make, or export CMAKE_GENERATOR=Ninja");
  }

  // The profiler reports its libraries, because the compiler is not linked with them.
  void profiler(const char* what, const std::string& target, Finding::State otherwise, const std::string& advice) {
    const std::string name = "plimsoll-profile-" + target;
    const char* const given = std::getenv("PLIMSOLL_PROFILER");
    std::string path = find_profiler(target);
    if (otherwise == Finding::State::missing && given && *given) path = given;
    if (access(path.c_str(), X_OK) != 0) return add(otherwise, what, advice);
    const Result<ProcessResult> result = run_process({path, "--describe"});
    if (!result.ok() || result->exit_code != 0)
      return add(
          otherwise, what,
          fmt::format("{} fails: {}", name,
                      result.ok() ? result->errors.substr(0, result->errors.find('\n')) : result.error().message));
    const Json described = json_or_null(result->output);
    std::string detail = described.is_object() && described.contains("device") && described["device"].is_string()
                             ? described["device"].get<std::string>()
                             : name;
    if (described.is_object() && described.contains("libraries") && described["libraries"].is_object())
      for (const auto& [library, version] : described["libraries"].items())
        detail += fmt::format(", {} {}", library, version.is_string() ? version.get<std::string>() : dump(version));
    add(Finding::State::ok, what, detail);
  }

  void cache() {
    const std::string directory = default_cache_directory();
    std::error_code failed;
    int64_t files = 0, bytes = 0;
    if (!directory.empty() && fs::exists(directory, failed))
      for (const auto& entry : fs::directory_iterator(directory, failed)) {
        ++files;
        bytes += static_cast<int64_t>(entry.file_size(failed));
      }
    if (directory.empty())
      return add(Finding::State::without, "cache",
                 "neither HOME nor XDG_CACHE_HOME is set: measurements are not cached");
    add(Finding::State::ok, "cache", fmt::format("{}: {}, {}", directory, counted(files, "file"), format_bytes(bytes)));
  }

  void program(const char* what, const std::string& name, const std::string& advice) {
    const std::vector<std::string> lines =
        lines_of({name.find('/') == std::string::npos ? find_program(name) : name, "--version"});
    if (lines.empty()) add(Finding::State::missing, what, fmt::format("no {}: {}", name, advice));
    else add(Finding::State::ok, what, lines[0]);
  }

  // The C++ compiler reports its search path.
  void header(const char* what, const std::vector<std::string>& names, Finding::State otherwise,
              const std::string& advice) {
    const std::string compiler = compiler_.find('/') == std::string::npos ? find_program(compiler_) : compiler_;
    if (compiler.empty()) return add(otherwise, what, "cannot be checked without a compiler");
    std::vector<std::string> command = {compiler, "-E", "-x", "c++", "-o", "/dev/null"};
    for (const std::string& name : names) command.insert(command.end(), {"-include", name});
    command.push_back("/dev/null");
    const Result<ProcessResult> result = run_process(command);
    if (result.ok() && result->exit_code == 0) add(Finding::State::ok, what, names.back());
    else add(otherwise, what, fmt::format("no {}: {}", names.back(), advice));
  }

  // The compiler wrapper and the launcher.
  void mpi() {
    const std::vector<std::string> run = lines_of({find_program("mpirun"), "--version"});
    const bool builds = !find_program("mpicxx").empty();
    if (!run.empty() && builds) return add(Finding::State::ok, "MPI", run[0]);
    add(Finding::State::without, "MPI",
        fmt::format("no {}: needed for --ranks: apt-get install libopenmpi-dev openmpi-bin",
                    builds ? "mpirun" : "mpicxx"));
  }

  // The places where a trainer's CMakeLists.txt searches.
  void nccl() {
    std::vector<std::string> directories;
    for (const char* const name : {"NCCL_ROOT", "CUDA_HOME", "CUDA_PATH"})
      if (const char* const root = std::getenv(name)) directories.push_back(std::string(root) + "/include");
    for (const char* const usual : {"/usr/include", "/usr/local/include", "/usr/local/cuda/include"})
      directories.emplace_back(usual);
    for (const std::string& directory : directories) {
      const std::string file = directory + "/nccl.h";
      if (access(file.c_str(), R_OK) != 0) continue;
      return add(Finding::State::ok, "NCCL",
                 fmt::format("{}.{}.{}, {}", defined(file, "NCCL_MAJOR"), defined(file, "NCCL_MINOR"),
                             defined(file, "NCCL_PATCH"), file));
    }
    add(Finding::State::without, "NCCL",
        "no nccl.h: trainers for several GPUs need NVIDIA's libnccl-dev, or NCCL_ROOT");
  }

  // "#define NAME 2": 2
  static std::string defined(const std::string& file, const std::string& name) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (const std::string begin = "#define " + name + " "; line.starts_with(begin)) return line.substr(begin.size());
    return "?";
  }

  static std::string release_of(const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      if (line.find("release") != std::string::npos) return line;
    return lines[0];
  }

  void gpus() {
    const std::vector<std::string> lines =
        lines_of({find_program("nvidia-smi"), "--query-gpu=name,driver_version,memory.total,memory.free",
                  "--format=csv,noheader"});
    if (lines.empty())
      return add(Finding::State::without, "GPU",
                 "nvidia-smi lists none: planning for GPUs works, running on them does not");
    for (const std::string& line : lines) add(Finding::State::ok, "GPU", line);
  }

  std::vector<std::pair<std::string, std::vector<Finding>>> sections_;
  std::string compiler_;
  bool healthy_ = true;
};

class DoctorCommand final : public Command {
 public:
  DoctorCommand()
      : Command("doctor", "check what this machine has and lacks for planning and training: plimsoll doctor"),
        json_("json", llvm::cl::desc("print JSON"), llvm::cl::sub(sub)) {}

  Status run() override {
    Doctor doctor;
    doctor.look();
    if (json_) fmt::print("{}\n", doctor.json());
    else fmt::print("plimsoll {}\n\n{}", PLIMSOLL_VERSION, doctor.print(Console::color(STDOUT_FILENO)));
    if (doctor.healthy()) return {};
    return Error{ExitCode::environment,
                 "trainers cannot be built on this machine: see what is missing above",
                 {"on Debian, `tools/setup.sh` installs what a build needs"}};
  }

 private:
  llvm::cl::opt<bool> json_;
};

}  // namespace

std::unique_ptr<Command> doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace plimsoll
