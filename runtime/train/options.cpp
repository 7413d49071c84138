#include "runtime/train/options.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/train/error.h"
#include "runtime/train/nearest.h"
#include "runtime/train/option_rows.h"

namespace plimsoll::train {
namespace {

const OptionRow* find_row(std::string_view name) {
  if (name == "-h") name = "--help";
  if (name == "-q") name = "--quiet";
  if (name == "--test") name = "--eval-data";
  if (name == "--ckpt-optional") name = "--checkpoint-optional";
  for (const OptionRow& row : option_rows())
    if (row.set && row.name == name) return &row;
  return nullptr;
}

// Options of `plimsoll compile` that a user may try here.
constexpr std::string_view kCompiledIn[] = {
    "--algorithms-of", "--attention", "--batch-norm", "--budget", "--class-axis",
    "--costs", "--dim", "--effort", "--freeze",
    "--frozen-statistics", "--host-budget", "--keep-fp32", "--layout",
    "--loss", "--modes", "--nesterov", "--optimizer",
    "--output", "--policy", "--precision", "--process-budget",
    "--ranks", "--target", "--threads", "--time-limit",
    "--trainable",
};

[[noreturn]] void refuse_unknown(std::string_view given, std::string_view name) {
  if (std::find(std::begin(kCompiledIn), std::end(kCompiledIn), name) != std::end(kCompiledIn))
    throw TrainerError(Exit::usage, std::string(name) + " is decided when the model is compiled: `plimsoll compile … " +
                                        std::string(name) + " …`");
  std::vector<std::string_view> names;
  for (const OptionRow& row : option_rows())
    if (row.set) names.push_back(row.name);
  const auto near = nearest(name, names, 1, name.size() / 3);
  throw TrainerError(Exit::usage, "unknown option '" + std::string(given) + "'" +
                                      (near.empty() ? "; --help lists the options"
                                                    : "\nDid you mean '" + std::string(near.front()) + "'?"));
}

}  // namespace

std::string help_text() {
  constexpr size_t kColumn = 24;
  std::string text = "usage: train [options]\n";
  for (const OptionRow& row : option_rows()) {
    if (!row.set) {
      text += "\n" + std::string(row.help) + "\n";
      continue;
    }
    std::string left = "  " + std::string(row.name) + (row.value.empty() || row.value_is_optional() ? "" : " ") +
                       std::string(row.value);
    left.resize(std::max(left.size() + 2, kColumn), ' ');
    text += left;
    for (const char c : row.help) text += c == '\n' ? "\n" + std::string(kColumn + 2, ' ') : std::string(1, c);
    text += "\n";
  }
  return text +
         "\nCtrl-C ends the run after the current iteration, saves, and exits with 130 (SIGTERM: 143); a second one "
         "ends it at once.\n";
}

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    (options.told += given) += '\n';
    const size_t equals = given.find('=');
    const std::string_view name = given.substr(0, equals);
    const OptionRow* const row = find_row(name);
    if (!row) refuse_unknown(given, name);
    names.push_back(row->name);
    std::string_view value;
    if (row->value.empty()) {
      if (equals != std::string_view::npos) throw TrainerError(Exit::usage, std::string(name) + " takes no value");
    } else if (equals != std::string_view::npos) {
      value = given.substr(equals + 1);
    } else if (!row->value_is_optional()) {
      if (i + 1 >= argc || std::string_view(argv[i + 1]).starts_with("--"))
        throw TrainerError(Exit::usage, std::string(name) + " needs a value");
      value = argv[++i];
      (options.told += value) += '\n';
    }
    row->set(options, name, value);
    for (const std::string_view option : {"--resize", "--mean", "--std", "--normalize"})
      options.images_are_given = options.images_are_given || row->name == option;
  }
  check_together(options, names);
  return options;
}

Options of_this_rank(const Options& given, bool speaks) {
  Options options = given;
  if (speaks) return options;
  options.quiet = true;
  options.json = false;
  options.metrics.clear();
  options.html.clear();
  options.tensorboard.clear();
  options.save.clear();
  options.checkpoint.clear();
  options.trace.clear();
  return options;
}

}  // namespace plimsoll::train
