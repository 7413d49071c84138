#include "runtime/train/options.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "runtime/train/error.h"

namespace plimsoll::train {

const char* const kHelp =
    "usage: train [options]\n"
    "\n"
    "  --data SOURCE     what to train on (default synthetic):\n"
    "                      npy:X.npy,Y.npy   one file per input of the model, in its order, labels last\n"
    "                      cifar10:DIR       data_batch_1.bin … of CIFAR-10's binary version\n"
    "                      mnist:DIR         train-images-idx3-ubyte and train-labels-idx1-ubyte\n"
    "                      synthetic[:SEED]  random samples\n"
    "  --test SOURCE     evaluate on this after each epoch; cifar10 and mnist take their test files\n"
    "  --epochs N        passes over the data (default 1)\n"
    "  --steps N         stop after N iterations\n"
    "  --lr X            learning rate (default 0.01)\n"
    "  --seed N          of the order of the samples and of random layers (default 0)\n"
    "  --no-shuffle      samples in the order of the data\n"
    "  --init file       first weights from the model file (default)\n"
    "  --init he:SEED    weight matrices and filters drawn after He et al., all else from the model file\n"
    "  --model FILE      the model file, instead of the one beside the sources\n"
    "  --save FILE       write the model with the trained weights\n"
    "  --spill DIR       tensors that wait outside the arena do so in a file there, not in memory\n"
    "  --no-graph        on a GPU: launch step by step, not as one CUDA graph; for profilers and debuggers\n"
    "  --metrics FILE    one JSON object per iteration and line\n"
    "  --on-nan stop     end with an error, saving nothing, when the loss is no finite number (default)\n"
    "  --on-nan ignore   go on\n"
    "  --quiet           print errors only\n"
    "\n"
    "An epoch has as many iterations as there are whole batches; samples left over wait for the next epoch's order.\n"
    "Ctrl-C ends after the iteration at hand, saves, and exits with 10.\n";

namespace {

template <class T>
T number(std::string_view option, std::string_view text, T least) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !std::isfinite(static_cast<double>(value)))
    throw TrainerError(Exit::usage, std::string(option) + " takes a number of at least " +
                                        (std::is_floating_point_v<T> ? "0" : std::to_string(least)) + ", not '" +
                                        std::string(text) + "'");
  return value;
}

bool stops(std::string_view what) {
  if (what == "stop" || what == "ignore") return what == "stop";
  throw TrainerError(Exit::usage, "--on-nan takes stop or ignore, not '" + std::string(what) + "'");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    const size_t equals = given.find('=');
    const std::string_view option = given.substr(0, equals);
    const auto value = [&]() -> std::string_view {
      if (equals != std::string_view::npos) return given.substr(equals + 1);
      if (i + 1 >= argc) throw TrainerError(Exit::usage, std::string(option) + " needs a value");
      return argv[++i];
    };
    const auto flag = [&] {
      if (equals != std::string_view::npos) throw TrainerError(Exit::usage, std::string(option) + " takes no value");
      return true;
    };
    if (option == "--data") options.data = value();
    else if (option == "--test") options.test = value();
    else if (option == "--epochs") options.epochs = number<int64_t>(option, value(), 1);
    else if (option == "--steps") options.steps = number<int64_t>(option, value(), 1);
    else if (option == "--lr") options.learning_rate = number<double>(option, value(), 0);
    else if (option == "--seed") options.seed = number<uint64_t>(option, value(), 0);
    else if (option == "--no-shuffle") options.shuffle = !flag();
    else if (option == "--init") options.init = value();
    else if (option == "--model") options.model = value();
    else if (option == "--save") options.save = value();
    else if (option == "--metrics") options.metrics = value();
    else if (option == "--spill") options.spill = value();
    else if (option == "--on-nan") options.stop_on_nan = stops(value());
    else if (option == "--no-graph") options.graph = !flag();
    else if (option == "--quiet") options.quiet = flag();
    else if (option == "--help" || option == "-h") options.help = flag();
    else throw TrainerError(Exit::usage, "unknown option '" + std::string(given) + "'; --help lists the options");
  }
  return options;
}

}  // namespace plimsoll::train
