// plimsoll-profile-host, plimsoll-profile-cuda: the same source, linked with different backends.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "runtime/backend.h"
#include "runtime/profile/device.h"
#include "runtime/profile/profiler.h"

namespace {

constexpr const char* kHelp =
    "usage: %s TASKS.json -o PROFILE.json [--no-measure] [--device-props DEVICE] [--else-device-props DEVICE]\n"
    "       %s --describe [--device-props DEVICE] [--else-device-props DEVICE]\n"
    "       %s --dump-device-props\n"
    "\n"
    "Says what each kernel of TASKS.json costs on this machine: its algorithms, their exact workspaces and, without\n"
    "--no-measure, their times. - is stdin and stdout. --describe prints device and libraries. 'plimsoll' calls it by "
    "itself.\n"
    "\n"
    "--device-props h200, or a .json file: the exact workspaces of that device, which need not be here; no times.\n"
    "--else-device-props likewise, but only where there is no device at hand.\n"
    "--dump-device-props prints such a file for the device at hand.\n";

void silent(size_t, size_t) {}

void print_progress(size_t done, size_t all) {
  constexpr size_t kWidth = 40;
  const size_t full = all > 0 ? kWidth * done / all : kWidth;
  std::fprintf(stderr, "\rprofiling [%s%s] %zu/%zu%s", std::string(full, '#').c_str(),
               std::string(kWidth - full, '.').c_str(), done, all, done == all ? "\n" : "");
  std::fflush(stderr);
}

// A parent that sends its request on stdin waits for the answer. If the parent is killed, this process must end, too,
// instead of using the machine.
void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

// For an answer on stdout: until then, stdout is redirected to stderr, because verbose libraries print to stdout.
int keep_stdout() {
  const int kept = dup(STDOUT_FILENO);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw std::runtime_error("cannot keep standard output for the answer");
  return kept;
}

int fail(int code, const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  return code;
}

// After the answer is written. The destructors of cuDNN's libraries would take a seventh of the time of a process that
// measures nothing, and the system takes back what they would free.
[[noreturn]] void end() {
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  plimsoll::backend::settle_environment(argv);  // as a trainer does
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  std::string input, output, device, otherwise;
  bool measure = true, describe = false, dump = false, hold = false, progress = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--no-measure") measure = false;
    else if (argument == "--describe") describe = true;
    else if (argument == "--progress") progress = true;
    else if (argument == "--dump-device-props") dump = true;
    else if (argument == "--hold-device") hold = true;  // for measure_overheads()
    else if (argument == "--device-props" && i + 1 < argc) device = argv[++i];
    else if (argument == "--else-device-props" && i + 1 < argc) otherwise = argv[++i];
    else if (argument == "--help") return std::printf(kHelp, program.c_str(), program.c_str(), program.c_str()), 0;
    else if (argument == "-o" && i + 1 < argc) output = argv[++i];
    else if (input.empty() && (argument == "-" || argument[0] != '-')) input = argument;
    else return fail(2, "unexpected argument '" + argument + "'; --help lists the options");
  }
  try {
    if (hold) return plimsoll::profile::hold_device(), 0;
    if (dump) {
      std::cout << plimsoll::profile::description_of_device() << "\n";
      return 0;
    }
    if (device.empty() && !otherwise.empty() && !plimsoll::profile::device_is_here()) device = otherwise;
    if (!device.empty()) {
      plimsoll::profile::use_described_device(device);
      measure = false;
    }
    if (describe) {
      std::cout << plimsoll::profile::describe().dump() << std::endl;
      end();
    }
    if (input.empty() || output.empty()) return fail(2, "needs TASKS.json and -o PROFILE.json");
    const int answer = output == "-" ? keep_stdout() : -1;
    std::ifstream file;
    if (input != "-") file.open(input);
    else end_with_parent();
    std::istream& in = input == "-" ? std::cin : file;
    if (!in) return fail(3, "cannot read '" + input + "'");
    const nlohmann::json tasks = nlohmann::json::parse(in);
    const nlohmann::json result = plimsoll::profile::profile(tasks, measure, progress ? print_progress : silent);
    std::ofstream out;
    if (answer < 0) out.open(output);
    else if (!std::cout.flush() || dup2(answer, STDOUT_FILENO) < 0) return fail(7, "cannot write to standard output");
    std::ostream& to = answer < 0 ? out : std::cout;
    to << result.dump() << "\n";
    if (!to.flush()) return fail(7, "cannot write '" + output + "'");
    end();
  } catch (const nlohmann::json::exception& error) {
    return fail(3, "'" + input + "' is not what this profiler reads: " + error.what());
  } catch (const std::exception& error) {
    return fail(8, error.what());
  }
}
