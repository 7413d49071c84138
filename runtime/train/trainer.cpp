#include "runtime/train/trainer.h"

#include <cstdio>
#include <filesystem>
#include <new>

#include "runtime/backend.h"
#include "runtime/dist/ranks.h"
#include "runtime/train/error.h"
#include "runtime/train/loop.h"
#include "runtime/train/options.h"
#include "runtime/train/predict.h"

namespace plimsoll::train {
namespace {

// In the generated directory; or next to the program, if it was moved.
std::string model_file(const std::string& trainer_directory) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const std::string here = trainer_directory + "/model.onnx";
  if (fs::exists(here, unknown)) return here;
  const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path beside = self.parent_path() / "model.onnx";
  return !unknown && fs::exists(beside, unknown) ? beside.string() : here;
}

int fail(Exit code, const char* what) {
  std::fflush(stdout);
  if (*what != '\0') std::fprintf(stderr, "error: %s\n", what);  // "": another rank prints the error
  return static_cast<int>(code);
}

}  // namespace

int main(const Program& program, const char* trainer_directory, int argc, char** argv) {
  backend::settle_environment(argv);
  try {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      std::fputs(help_text().c_str(), stdout);
      return 0;
    }
    const std::string model = options.model.empty() ? model_file(trainer_directory) : options.model;
    return static_cast<int>(options.predict.empty() ? train(program, options, model)
                                                    : predict(program, options, model));
  } catch (const TrainerError& error) {
    return fail(error.code, error.what());
  } catch (const dist::RanksError& error) {
    return fail(Exit::environment, error.what());
  } catch (const KernelError& error) {
    return fail(Exit::environment, error.what());
  } catch (const backend::HostPoolError& error) {
    return fail(Exit::unwritable_output, error.what());
  } catch (const backend::DeviceError& error) {
    return fail(Exit::environment, error.what());
  } catch (const backend::NoMemory& error) {
    return fail(Exit::budget, error.what());
  } catch (const std::bad_alloc&) {
    const std::string pool = program.host_pool_bytes == 0
                                 ? ""
                                 : " and " + std::to_string(program.host_pool_bytes) +
                                       " of the host pool, which --spill puts on a disk";
    return fail(Exit::budget, ("this machine does not have the planned " + std::to_string(program.arena_bytes) +
                               " bytes" + pool).c_str());
  } catch (const std::exception& error) {
    return fail(Exit::internal, error.what());
  }
}

}  // namespace plimsoll::train
