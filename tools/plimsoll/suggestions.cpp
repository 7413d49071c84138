#include "tools/plimsoll/suggestions.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>

namespace plimsoll {
namespace {

struct Called {
  std::string_view option, given, meant;
};

constexpr Called kOptions[] = {{"", "batchsize", "batch"},
                               {"", "bs", "batch"},
                               {"", "memory", "budget"},
                               {"", "mem", "budget"},
                               {"", "maxmemory", "budget"},
                               {"", "memorylimit", "budget"},
                               {"", "memorybudget", "budget"},
                               {"", "device", "target"},
                               {"", "backend", "target"},
                               {"", "outdir", "o"},
                               {"", "outputdir", "o"},
                               {"", "out", "o"},
                               {"", "opt", "optimizer"},
                               {"", "optim", "optimizer"},
                               {"", "wd", "weight-decay"},
                               {"", "microbatch", "sub-batch"},
                               {"", "microbatchsize", "sub-batch"},
                               {"", "subbatchsize", "sub-batch"},
                               {"", "gradclip", "clip-norm"},
                               {"", "clipgradnorm", "clip-norm"},
                               {"", "maxgradnorm", "clip-norm"},
                               {"", "criterion", "loss"},
                               {"", "lossfn", "loss"},
                               {"", "posweights", "pos-weight"},
                               {"", "smoothing", "label-smoothing"},
                               {"", "frozen", "freeze"},
                               {"", "math", "precision"},
                               {"", "tf32", "precision"},
                               {"", "bf16", "precision"},
                               {"", "fp16", "precision"},
                               {"", "amp", "precision"},
                               {"", "autocast", "precision"},
                               {"", "adam8bit", "optimizer-state"},
                               {"", "8bit", "optimizer-state"},
                               {"", "statetype", "optimizer-state"},
                               {"", "quiet", "q"},
                               {"", "silent", "q"},
                               {"", "verbose", "v"},
                               {"", "timeout", "time-limit"},
                               {"", "worldsize", "ranks"},
                               {"", "npernode", "ranks"},
                               {"", "strategy", "policy"},
                               {"", "inputshape", "dim"},
                               {"", "dimension", "dim"}};

constexpr Called kValues[] = {{"loss", "crossentropy", "softmax-cross-entropy"},
                              {"loss", "crossentropyloss", "softmax-cross-entropy"},
                              {"loss", "ce", "softmax-cross-entropy"},
                              {"loss", "softmax", "softmax-cross-entropy"},
                              {"loss", "categoricalcrossentropy", "softmax-cross-entropy"},
                              {"loss", "nll", "softmax-cross-entropy"},
                              {"loss", "bce", "bce-logits"},
                              {"loss", "bcewithlogits", "bce-logits"},
                              {"loss", "bcewithlogitsloss", "bce-logits"},
                              {"loss", "binarycrossentropy", "bce-logits"},
                              {"loss", "l2", "mse"},
                              {"loss", "mseloss", "mse"},
                              {"loss", "meansquarederror", "mse"},
                              {"optimizer", "sgdmomentum", "momentum"},
                              {"optimizer", "sgdm", "momentum"},
                              {"target", "gpu", "cuda"},
                              {"target", "nvidia", "cuda"},
                              {"target", "cuda0", "cuda"},
                              {"target", "cpu", "host"},
                              {"target", "x86", "host"},
                              {"precision", "float32", "fp32"},
                              {"precision", "f32", "fp32"},
                              {"precision", "bfloat16", "bf16"},
                              {"precision", "float16", "fp16"},
                              {"precision", "half", "fp16"},
                              {"precision", "f16", "fp16"},
                              {"optimizer-state", "float32", "fp32"},
                              {"optimizer-state", "bfloat16", "bf16"},
                              {"optimizer-state", "8bit", "int8"},
                              {"costs", "measured", "profiled"},
                              {"costs", "modeled", "modelled"},
                              {"costs", "estimated", "modelled"}};

constexpr Called kVerbs[] = {{"", "build", "compile"}, {"", "generate", "compile"},  {"", "show", "inspect"},
                             {"", "info", "inspect"},  {"", "explain", "inspect"},   {"", "check", "verify"},
                             {"", "bench", "profile"}, {"", "benchmark", "profile"}, {"", "ops", "operators"},
                             {"", "zoo", "model"},     {"", "usage", "help"},        {"", "schedule", "plan"},
                             {"", "run", "train"},     {"", "fit", "train"}};

// Options of the trainer with a value, without those that commands also have. "test" is its other name of "eval-data",
// and "learning-rate" a common guess.
// tests/e2e/keep_best.sh compares the list with a trainer's --help.
constexpr std::string_view kOfTrainer[] = {
    "beta1", "beta2", "checkpoint", "checkpoint-every", "color-jitter", "cutmix", "data", "early-stop", "ema",
    "epochs", "epsilon", "eval-data", "eval-every", "group", "growth-interval", "html", "init", "init-scale", "keep",
    "keep-best", "last", "learning-rate", "lr", "lr-gamma", "lr-min", "lr-range-test", "lr-schedule", "lr-step",
    "mean", "measure-ranks", "metrics", "mixup", "normalize", "on-nan", "out", "patience", "predict", "resize",
    "save", "seed", "slack", "spill", "std", "steps", "tensorboard", "test", "trace", "warmup", "workers"};
// Options of the trainer without a value.
constexpr std::string_view kSwitchesOfTrainer[] = {
    "checkpoint-optional", "flip", "no-decay-on-norms-and-biases", "no-graph", "no-overlap", "no-shuffle",
    "random-crop", "random-resized-crop", "resume", "revalidate", "scaled-decode"};

// Lower case, without dashes and underscores.
std::string letters_of(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '-' && c != '_' && c != ':' && c != ' ')
      text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

template <size_t N>
std::optional<std::string> called_otherwise(const Called (&table)[N], std::string_view option, std::string_view given) {
  const std::string wanted = letters_of(given);
  for (const Called& row : table)
    if (row.option == option && row.given == wanted) return std::string(row.meant);
  return {};
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view given, const std::vector<std::string>& names) {
  const std::string wanted = letters_of(given);
  for (const std::string& name : names)
    if (!name.empty() && letters_of(name) == wanted) return name;
  std::optional<std::string> nearest;
  unsigned least = static_cast<unsigned>(given.size()) / 3 + 1;
  for (const std::string& name : names) {
    const unsigned distance = llvm::StringRef(name).edit_distance(llvm::StringRef(given.data(), given.size()));
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::optional<std::string> option_called(std::string_view name) { return called_otherwise(kOptions, "", name); }

bool is_of_trainer(std::string_view name) {
  return std::ranges::count(kOfTrainer, name) + std::ranges::count(kSwitchesOfTrainer, name) > 0;
}

bool takes_value_in_trainer(std::string_view name) { return std::ranges::count(kOfTrainer, name) > 0; }

std::vector<std::string> trainer_flags() {
  std::vector<std::string> names(std::begin(kOfTrainer), std::end(kOfTrainer));
  names.insert(names.end(), std::begin(kSwitchesOfTrainer), std::end(kSwitchesOfTrainer));
  std::erase(names, "learning-rate");  // a common guess for --lr
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> nearest_trainer_flag(std::string_view given) { return nearest_name(given, trainer_flags()); }

std::optional<std::string> value_called(std::string_view option, std::string_view value) {
  return called_otherwise(kValues, option, value);
}

std::optional<std::string> command_called(std::string_view name) { return called_otherwise(kVerbs, "", name); }

}  // namespace plimsoll
