#include "tools/plimsoll/option_table.h"

#include <algorithm>

#include "compiler/costs/device.h"
#include "compiler/costs/embedded_devices.h"
#include "compiler/driver/pass_names.h"
#include "compiler/report/csv.h"
#include "models/zoo.h"
#include "passes/policies.h"
#include "tools/plimsoll/planning_options.h"
#include "tools/plimsoll/suggestions.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

// Options whose values are names from another table.
std::vector<std::string> looked_up(const std::string& option) {
  std::vector<std::string> names;
  if (option == "policy")
    for (const Policy& policy : all_policies()) names.emplace_back(policy.name);
  if (option == "costs") {
    names = {"modelled", "profiled"};
    for (const EmbeddedFile& file : device_files()) {
      const std::string_view stem = file.path.substr(file.path.rfind('/') + 1);
      names.emplace_back(stem.substr(0, stem.rfind('.')));
    }
  }
  if (option == "stop-after" || option == "print-after")
    for (const PassName& pass : pass_names()) names.emplace_back(pass.name);
  if (option == "print-after") names.emplace_back("all");
  if (option == "target") names = {"host", "cuda"};
  if (option == "precision") names = {"fp32", "tf32", "bf16", "fp16"};
  if (option == "optimizer-state") names = {"fp32", "bf16", "int8"};
  if (option == "rules") names = {"true", "superneurons", "modnn", "dymem", "vdnn", "chen"};
  if (option == "layout") names = {"auto", "plain", "nChw8c", "nChw16c", "nchw", "nhwc"};
  return names;
}

// Reads the values of an option of this type; false: the option has another type.
template <class Value, class Parser = cl::parser<Value>>
bool tell_meanings(cl::Option& option, const std::vector<std::string>& values, std::vector<std::string>& meanings) {
  auto* const typed = dynamic_cast<cl::opt<Value, false, Parser>*>(&option);
  if (!typed) return false;
  for (const std::string& value : values)
    for (unsigned i = 0; i < typed->getParser().getNumOptions(); ++i)
      if (typed->getParser().getOption(i) == value) meanings.push_back(typed->getParser().getDescription(i).str());
  return meanings.size() == values.size();
}

std::vector<std::string> meanings_of(cl::Option& option, const std::vector<std::string>& values) {
  std::vector<std::string> meanings;
  const bool told = tell_meanings<LossKind, LossParser>(option, values, meanings) ||
                    tell_meanings<OptimizerKind>(option, values, meanings) ||
                    tell_meanings<Assume>(option, values, meanings) || tell_meanings<Modes>(option, values, meanings) ||
                    tell_meanings<BatchNorm>(option, values, meanings) ||
                    tell_meanings<Attention>(option, values, meanings) ||
                    tell_meanings<LossForm>(option, values, meanings) ||
                    tell_meanings<Recurrence>(option, values, meanings) ||
                    tell_meanings<CsvTable>(option, values, meanings);
  return told ? meanings : std::vector<std::string>();
}

bool takes_a_file(const std::string& value) {
  return value.find("FILE") != std::string::npos || value.find("DIR") != std::string::npos || value == "SOURCE";
}

}  // namespace

bool is_own(const cl::SubCommand& command, const cl::Option& option) {
  return option.Subs.count(&command) > 0 && option.getOptionHiddenFlag() == cl::NotHidden;
}

// LLVM reports them only for options without a name ("-O1"), so the name is removed during the call.
std::vector<std::string> enumerated(cl::Option& option) {
  llvm::SmallVector<llvm::StringRef, 16> found;
  const llvm::StringRef name = option.ArgStr;
  option.ArgStr = "";
  option.getExtraOptionNames(found);
  option.ArgStr = name;
  std::vector<std::string> names;
  for (const llvm::StringRef one : found)
    if (!one.empty()) names.push_back(one.str());
  return names;
}

std::vector<std::string> words_of(const std::string& command) {
  if (command == "completion") return {"bash", "zsh", "fish"};
  std::vector<std::string> names;
  if (command == "model")
    for (const ZooModel& model : zoo_models()) names.emplace_back(model.name);
  return names;
}

std::vector<std::string> values_of(cl::Option& option) {
  std::vector<std::string> values = enumerated(option);
  return values.empty() ? looked_up(option.ArgStr.str()) : values;
}

std::vector<CommandRow> option_table(const Commands& commands) {
  std::vector<CommandRow> table;
  for (const auto& command : commands) {
    // "what it does: an example"
    const std::string text = command->sub.getDescription().str();
    const size_t colon = text.find(": plimsoll ");
    CommandRow row{.name = command->sub.getName().str(),
                   .summary = text.substr(0, colon),
                   .example = colon == std::string::npos ? "" : text.substr(colon + 2),
                   .words = words_of(command->sub.getName().str())};
    if (command->takes_trainer_flags)
      for (const std::string& flag : trainer_flags()) row.of_trainer.push_back("--" + flag);
    for (const cl::Option* positional : command->sub.PositionalOpts)
      row.positional.push_back(positional->HelpStr.str());
    for (const auto& entry : command->sub.OptionsMap) {
      cl::Option& option = *entry.second;
      if (option.ArgStr.empty() || !is_own(command->sub, option)) continue;
      std::vector<std::string> values = values_of(option), meanings = meanings_of(option, values);
      std::string value = option.ValueStr.str();
      if (value.empty() && !values.empty()) value = "VALUE";
      if (value.empty() && option.getValueExpectedFlag() == cl::ValueRequired) value = "VALUE";
      const bool file = takes_a_file(value);
      const bool joined = !value.empty() && option.getValueExpectedFlag() == cl::ValueOptional;
      row.options.push_back(
          {.name = option.ArgStr.str(),
           .value = std::move(value),
           .description = option.HelpStr.str(),
           .meanings = std::move(meanings),
           .values = std::move(values),
           .file = file,
           .needed = option.getNumOccurrencesFlag() == cl::Required || option.getNumOccurrencesFlag() == cl::OneOrMore,
           .joined = joined});
    }
    std::sort(row.options.begin(), row.options.end(),
              [](const OptionRow& a, const OptionRow& b) { return a.name < b.name; });
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace plimsoll
