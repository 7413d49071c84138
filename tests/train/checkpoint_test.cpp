// A save that is killed at any system call, or finds the disk full, leaves a checkpoint from which training can resume.
#include <catch2/catch.hpp>

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>

#include "runtime/train/checkpoint.h"
#include "runtime/train/error.h"
#include "tests/train/code_of.h"
#include "temporary_directory.h"

using namespace plimsoll;
using namespace plimsoll::train;
using plimsoll::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

// Parameters of all kinds and layouts, without kernels: the contents of a checkpoint.
struct Parameters {
  std::vector<ProgramParameter> rows{
      {"fc.weight", f32({3, 5}), 0, 0, ParameterRole::trained},
      {"conv.weight", f32({4, 3, 3, 3}, Layout::OIhw8i8o), 256, 64, ParameterRole::trained},
      {"bn.running_mean", f32({4}), 4096, 512, ParameterRole::statistic},
      {"table", i64({7}), 4352, 600, ParameterRole::frozen},
      {"fc.weight.momentum", f32({3, 5}), 4608, -1, ParameterRole::state},
      {"conv.weight.momentum", f32({4, 3, 3, 3}, Layout::OIhw8i8o), 4864, -1, ParameterRole::state}};
  Program program;
  backend::Arena arena{16384};
  ParameterPort port;
  explicit Parameters(int64_t batch = 8)
      : program{.model = "net", .generator = "test", .batch = batch, .parameters = rows},
        port(program, arena, nullptr) {}

  void fill(int value) {
    for (const ProgramParameter& row : rows)
      port.write(row, [&](int64_t at, std::span<std::byte> values) {
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<std::byte>(static_cast<size_t>(value) + 13 * (static_cast<size_t>(at) + i));
      });
  }
  std::string bytes() {
    std::string all;
    for (const ProgramParameter& row : rows)
      port.read(row, [&](int64_t, std::span<const std::byte> values) {
        all.append(reinterpret_cast<const char*>(values.data()), values.size());
      });
    return all;
  }
};

Progress progress_at(int64_t iteration) {
  return {.iteration = iteration,
          .seed = 7,
          .data = "npy:x",
          .samples = 80,
          .per_epoch = 10,
          .seen = 8 * (iteration % 10),
          .loss_sum = 0.1 * static_cast<double>(iteration)};
}

void save(const std::string& directory, int64_t iteration, int64_t keep, int value) {
  Parameters parameters;
  parameters.fill(value);
  Checkpoints checkpoints(directory, keep, parameters.program, parameters.port);
  checkpoints.write(progress_at(iteration));
  checkpoints.settle();
}

// What a later trainer finds: the iteration, and the value with which all parameters were filled.
struct Found {
  int64_t iteration = -1;
  bool as_filled = false;
  std::vector<std::string> passed_over = {};
};

// The scale of a run in fp16 is in its checkpoints, exactly.
LossScaling scaling_after(const LossScaling& scaling, const std::string& directory) {
  Parameters parameters;
  Progress progress = progress_at(3);
  progress.scaling = scaling;
  {
    Checkpoints checkpoints(directory, 1, parameters.program, parameters.port);
    checkpoints.write(progress);
    checkpoints.settle();
  }
  std::vector<std::string> passed_over;
  return Checkpoints(directory, 1, parameters.program, parameters.port).resume(passed_over)->scaling;
}

Found load(const std::string& directory, const std::function<int(int64_t)>& value_of) {
  Parameters parameters, filled;
  Found found;
  const auto progress = Checkpoints(directory, 9, parameters.program, parameters.port).resume(found.passed_over);
  if (!progress) return found;
  found.iteration = progress->iteration;
  filled.fill(value_of(progress->iteration));
  found.as_filled = parameters.bytes() == filled.bytes() && progress->seed == 7 &&
                    progress->loss_sum == progress_at(progress->iteration).loss_sum;
  return found;
}

int value_at(int64_t iteration) { return static_cast<int>(iteration); }

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Runs the action in a child process and kills it at its `stop`-th stop at a system call, before or after the call.
// Returns the numbers of the calls it reached; `finished`: it reached its end. nullopt: this machine does not permit
// tracing.
struct Traced {
  std::vector<uint64_t> calls = {};
  bool finished = false;
};

std::optional<Traced> kill_at(int stop, const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  Traced traced;
  for (int stops = 0; ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0;) {
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) break;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    __ptrace_syscall_info info{};
    ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), child, sizeof info, &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) traced.calls.push_back(info.entry.nr);
    if (++stops < stop) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return traced;
  }
  traced.finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return traced;
}

}  // namespace

TEST_CASE("the scale of a run in fp16 is in its checkpoints") {
  const auto same = [](const LossScaling& scaling) {
    const TemporaryDirectory place;
    const LossScaling found = scaling_after(scaling, place.path() + "/ck");
    return found.scale == scaling.scale && found.good == scaling.good && found.skipped == scaling.skipped;
  };
  CHECK(same({.scale = 3276.8, .good = 17, .skipped = 5}));
  CHECK(same({.scale = 0, .good = 0, .skipped = 5}));  // continued in another precision
  CHECK(same({}));
}

TEST_CASE("killed at any system call of a save, the checkpoint before or the new one is whole") {
  const TemporaryDirectory place;
  save(place / "template", 10, 1, 10);
  // and removes the one of iteration 10, because only one is kept
  const auto save_twenty = [&] { save(place / "run", 20, 1, 20); };
  int olds = 0, news = 0;
  for (int stop = 1;; ++stop) {
    fs::remove_all(place / "run");
    fs::copy(place / "template", place / "run", fs::copy_options::recursive);
    const auto traced = kill_at(stop, save_twenty);
    if (!traced) {
      WARN("this machine does not let a test trace its child");
      return;
    }
    INFO("killed at stop " << stop);
    const Found found = load(place / "run", value_at);
    REQUIRE((found.iteration == 10 || found.iteration == 20));
    REQUIRE(found.as_filled);
    REQUIRE(found.passed_over.empty());
    for (const std::string& name : names_in(place / "run")) REQUIRE(name.rfind("ckpt-", 0) == 0);
    (found.iteration == 10 ? olds : news) += 1;
    if (traced->finished) {
      CHECK(names_in(place / "run") == std::vector<std::string>{"ckpt-000000020"});
      // Each file and its directory are on disk before the checkpoint gets its name, and the name is on disk
      // afterwards.
      std::string order;
      for (const uint64_t call : traced->calls)
        order += call == SYS_fsync ? "s" : call == SYS_rename ? "r" : "";
      CHECK(order == "ssssrrsr");
      break;
    }
  }
  CHECK(olds > 40);
  CHECK(news > 5);
}

// A full disk causes errors in write, fsync or rename; here the file may not grow beyond a given size.
TEST_CASE("where there is no room a save says so, and leaves what was there") {
  const TemporaryDirectory place;
  save(place / "run", 10, 1, 10);
  for (rlim_t room = 0; room < 2048; room = room < 8 ? room + 1 : room + 97) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{room, room};
      setrlimit(RLIMIT_FSIZE, &limit);
      _exit(static_cast<int>(code_of([&] { save(place / "run", 20, 1, 20); })));
    }
    int status = 0;
    waitpid(child, &status, 0);
    INFO(room);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) {
      CHECK(room > 500);
      return;
    }
    CHECK(WEXITSTATUS(status) == static_cast<int>(Exit::unwritable_output));
    CHECK(names_in(place / "run") == std::vector<std::string>{"ckpt-000000010"});
    CHECK(load(place / "run", value_at).as_filled);
  }
  FAIL("there was never room");
}

TEST_CASE("what is not whole is passed over, with the reason") {
  const TemporaryDirectory place;
  save(place / "run", 10, 9, 10);
  save(place / "run", 20, 9, 20);
  const std::string newest = place / "run/ckpt-000000020/";
  const auto with = [&](const std::string& name, const std::function<void(std::string&)>& damage) {
    fs::remove_all(place / "damaged");
    fs::copy(place / "run", place / "damaged", fs::copy_options::recursive);
    const std::string path = place / ("damaged/ckpt-000000020/" + name);
    std::ifstream in(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    damage(bytes);
    std::ofstream(path, std::ios::binary) << bytes;
    return load(place / "damaged", value_at);
  };
  for (const char* name : {"weights.safetensors", "state.safetensors", "manifest.sha256"}) {
    INFO(name);
    const auto size = fs::file_size(newest + name);
    for (size_t at = 0; at < size; at += 37) {
      const Found found = with(name, [&](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 4); });
      CHECK(found.iteration == 10);
      CHECK(found.as_filled);
      CHECK(found.passed_over.size() == 1);
    }
    CHECK(with(name, [](std::string& bytes) { bytes.pop_back(); }).iteration == 10);
    CHECK(with(name, [](std::string& bytes) { bytes += "\n"; }).iteration == 10);
    fs::remove_all(place / "damaged");
    fs::copy(place / "run", place / "damaged", fs::copy_options::recursive);
    fs::remove(place / ("damaged/ckpt-000000020/" + std::string(name)));
    CHECK(load(place / "damaged", value_at).iteration == 10);
  }
  CHECK(load(place / "run", value_at).iteration == 20);

  // If only the newest checkpoint is acceptable, the error says which it is.
  const auto strictly = [&] {
    Parameters parameters;
    std::vector<std::string> passed_over;
    Checkpoints(place / "run", 9, parameters.program, parameters.port).resume(passed_over, true);
  };
  CHECK(code_of(strictly) == Exit::ok);
  fs::rename(newest + "manifest.sha256", place / "manifest");
  CHECK(code_of(strictly) == Exit::invalid_model);
  CHECK(load(place / "run", value_at).iteration == 10);
  fs::rename(place / "manifest", newest + "manifest.sha256");

  // Damaged checkpoints do not count among those that are kept, and are replaced when their iteration is saved again.
  fs::remove(newest + "manifest.sha256");
  save(place / "run", 15, 1, 15);
  CHECK(load(place / "run", value_at).iteration == 15);
  save(place / "run", 20, 1, 20);
  CHECK(names_in(place / "run") == std::vector<std::string>{"ckpt-000000020"});
  CHECK(load(place / "run", value_at).as_filled);

  fs::remove(newest + "state.safetensors");
  CHECK(code_of([&] { load(place / "run", value_at); }) == Exit::unreadable_input);
}

TEST_CASE("a checkpoint belongs to its model, and a directory to one trainer") {
  const TemporaryDirectory place;
  save(place / "run", 10, 1, 10);
  std::vector<std::string> passed_over;
  const auto resume = [&](const std::function<void(Parameters&)>& change, int64_t batch = 8) {
    return code_of([&] {
      Parameters parameters(batch);
      change(parameters);
      Checkpoints(place / "run", 1, parameters.program, parameters.port).resume(passed_over);
    });
  };
  CHECK(resume([](Parameters&) {}) == Exit::ok);
  CHECK(resume([](Parameters&) {}, 4) == Exit::invalid_model);
  CHECK(resume([](Parameters& p) { p.rows[0].name = "fc2.weight"; }) == Exit::invalid_model);
  CHECK(resume([](Parameters& p) { p.rows[0].desc.dims = {5, 3}; }) == Exit::invalid_model);
  CHECK(resume([](Parameters& p) { p.program.parameters = std::span(p.rows).first(5); }) == Exit::invalid_model);
  // Another budget may use other layouts for the same weights.
  CHECK(resume([](Parameters& p) { p.rows[1].desc.layout = Layout::plain; }) == Exit::ok);

  Parameters one, other;
  const Checkpoints held(place / "run", 1, one.program, one.port);
  CHECK(code_of([&] { Checkpoints(place / "run", 1, other.program, other.port); }) == Exit::unwritable_output);
  CHECK(code_of([&] { Checkpoints(place / "no/such/place", 1, other.program, other.port); }) ==
        Exit::unwritable_output);
}
