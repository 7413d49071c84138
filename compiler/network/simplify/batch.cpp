#include "compiler/network/simplify/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

bool looks_like_batch(std::string symbol) {
  std::transform(symbol.begin(), symbol.end(), symbol.begin(), [](unsigned char c) { return std::tolower(c); });
  return symbol == "n" || symbol == "bs" || symbol == "b" || symbol.find("batch") != std::string::npos;
}

std::vector<const DeclaredValue*> fed_inputs(const Model& model) {
  std::unordered_set<std::string_view> initializers;
  for (const auto& tensor : model.initializers) initializers.insert(tensor.name);
  std::vector<const DeclaredValue*> inputs;
  for (const auto& input : model.inputs)
    if (!initializers.contains(input.name)) inputs.push_back(&input);
  return inputs;
}

// The dimensions of an input. Several exporters write an unknown one as -1, or give all unknown ones one symbol that is
// no name.
std::vector<DeclaredDim> dims_of(const DeclaredValue& input) {
  std::vector<DeclaredDim> dims = input.dims.value_or(std::vector<DeclaredDim>{});
  for (DeclaredDim& dim : dims) {
    if (dim.size == -1) dim.size.reset();
    if (dim.symbol == "?" || dim.symbol == "None" || dim.symbol == "-1") dim.symbol.clear();
  }
  return dims;
}

// How --dim names a dimension by its place: "x:2".
std::string place_of(const DeclaredValue& input, size_t axis) { return fmt::format("{}:{}", input.name, axis); }

// The size that the user gave a dimension, by its place or by its symbol.
const std::pair<const std::string, int64_t>* given_size(const SimplifyOptions& options, const DeclaredValue& input,
                                                        size_t axis, const DeclaredDim& dim) {
  if (dim.size) return nullptr;
  for (const std::string& name : {place_of(input, axis), dim.symbol})
    if (const auto found = options.dims.find(name); !name.empty() && found != options.dims.end()) return &*found;
  return nullptr;
}

// The symbol of the batch: the one that the user says is it, or the first dimension of the first input. Not the latter
// if the user gave it a number, or if another dimension has a batch-like name and that one does not (then the model is
// sequence-first).
std::string batch_symbol(const std::vector<const DeclaredValue*>& inputs, const SimplifyOptions& options) {
  std::string first;
  for (const auto* input : inputs) {
    const std::vector<DeclaredDim> dims = dims_of(*input);
    for (size_t i = 0; i < dims.size(); ++i) {
      const std::string& symbol = dims[i].symbol;
      const auto* const given = given_size(options, *input, i, dims[i]);
      if (!symbol.empty() && given && given->second == kIsBatch) return symbol;
      if (symbol.empty() || given) continue;
      const bool leading = i == 0, like_batch = looks_like_batch(symbol);
      if (first.empty() && like_batch) return symbol;
      if (symbol.find("batch") != std::string::npos) return symbol;
      if (first.empty() && leading) first = symbol;
    }
  }
  return first;
}

// Each given number belongs to an existing dimension, and the sample dimension was not given a number.
Status check_given_dims(const std::vector<const DeclaredValue*>& inputs, const ModelInputs& found,
                        const SimplifyOptions& options) {
  std::string symbols;
  std::unordered_set<std::string> places;
  for (const auto* input : inputs) {
    const std::vector<DeclaredDim> dims = dims_of(*input);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].size) continue;
      const std::string place = place_of(*input, i);
      const std::string shown = fmt::format("'{}'", dims[i].symbol.empty() ? place : dims[i].symbol);
      if (symbols.find(shown) == std::string::npos) symbols += (symbols.empty() ? "" : ", ") + shown;
      places.insert(place);
    }
  }
  for (const auto& [name, size] : options.dims)
    if (!places.contains(name) && symbols.find("'" + name + "'") == std::string::npos)
      return Error{ExitCode::usage,
                   fmt::format("--dim {}={}: the model has no dimension of this name; {}", name,
                               size == kIsBatch ? "batch" : std::to_string(size),
                               symbols.empty() ? "it has no symbolic dimensions" : "symbolic dimensions: " + symbols)};
  const bool any = std::any_of(found.inputs.begin(), found.inputs.end(),
                               [](const ModelInput& input) { return input.type.depends_on_batch(); });
  if (!any && !options.dims.empty() && !found.inputs.empty())
    return Error{
        ExitCode::usage,
        fmt::format("--dim sets every symbolic dimension, and none is left for the batch; the model has {}", symbols)};
  return {};
}

}  // namespace

std::optional<Count> count_of(const Dims& dims) {
  Count count;
  for (const Dim dim : dims) {
    const auto product = checked_mul(count.value, dim.value);
    if (!product || (count.batch && dim.batch)) return std::nullopt;
    count = {*product, count.batch || dim.batch};
  }
  return count;
}

Result<ModelInputs> find_inputs(const Model& model, const SimplifyOptions& options) {
  const auto inputs = fed_inputs(model);
  const std::string symbol = batch_symbol(inputs, options);
  ModelInputs found;
  std::vector<std::string> open;  // symbolic dimensions without a number
  for (const auto* input : inputs) {
    const auto invalid = [&](const std::string& what) {
      return Error{ExitCode::invalid_model, fmt::format("input '{}': {}", input->name, what)};
    };
    if (!input->is_tensor)
      return Error{ExitCode::unsupported,
                   fmt::format("input '{}' is not a tensor but a sequence, map or optional", input->name)};
    const auto element = data_type_of(input->type);
    if (!element)
      return Error{ExitCode::unsupported, fmt::format("input '{}' is {}; inputs may be f32, i32, i64, u8 or bool",
                                                      input->name, element_name(input->type))};
    if (!input->dims) return invalid("has no shape; run onnx.shape_inference or export with a sample input");
    if (input->dims->size() > static_cast<size_t>(kMaxRank))
      return Error{ExitCode::unsupported, fmt::format("input '{}' has {} dimensions; at most {} are supported",
                                                      input->name, input->dims->size(), kMaxRank)};
    TensorType type{.type = *element};
    const std::vector<DeclaredDim> dims = dims_of(*input);
    bool batch_given = false;  // of this input
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto* const given = given_size(options, *input, i, dims[i]);
      batch_given = batch_given || (given && given->second == kIsBatch);
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      const DeclaredDim& dim = dims[i];
      const std::string& name = dim.symbol;
      const auto* const given = given_size(options, *input, i, dim);
      if (dim.size && *dim.size <= 0) return invalid(fmt::format("dimension {} is {}", i, *dim.size));
      if (given && given->second == kIsBatch) {
        type.dims.push_back(kBatch);
      } else if (given) {
        if (given->second <= 0)
          return Error{ExitCode::usage,
                       fmt::format("--dim {}={}: a dimension must be positive", given->first, given->second)};
        type.dims.push_back({given->second});
      } else if (!dim.size && (name.empty() ? i == 0 && !batch_given : name == symbol)) {
        type.dims.push_back(kBatch);
      } else if (dim.size && i == 0 && symbol.empty() && !batch_given &&
                 (!found.exported_batch || *found.exported_batch == *dim.size)) {
        found.exported_batch = *dim.size;
        type.dims.push_back(kBatch);
      } else if (dim.size) {
        type.dims.push_back({*dim.size});
      } else if (i == 0 && !looks_like_batch(symbol)) {
        type.dims.push_back(kBatch);
      } else {
        const std::string shown =
            name.empty() ? fmt::format("'{}' (dimension {} of input '{}', which has no name)", place_of(*input, i), i,
                                       input->name)
                         : fmt::format("'{}' (dimension {} of input '{}')", name, i, input->name);
        open.push_back(shown);
        type.dims.push_back({1});
      }
    }
    if (std::count_if(type.dims.begin(), type.dims.end(), [](Dim dim) { return dim.batch; }) > 1)
      return invalid(fmt::format("more than one dimension depends on the batch: {}", to_string(type.dims)));
    const auto count = count_of(type.dims);
    const auto total = count ? checked_mul(count->value, count->batch ? options.batch : 1) : std::nullopt;
    if (!total || *total > kElementLimit)
      return invalid(fmt::format("{} at batch {} has too many elements", to_string(type.dims), options.batch));
    found.inputs.push_back({input->name, type});
  }
  if (open.empty()) {
    PLIMSOLL_TRY(check_given_dims(inputs, found, options));
    return found;
  }
  Error error{ExitCode::usage,
              "the model has symbolic dimensions besides the batch; give each a size, for example --dim NAME=128"};
  const bool nameless =
      std::any_of(open.begin(), open.end(), [](const std::string& dim) { return dim.ends_with("no name)"); });
  error.notes = std::move(open);
  if (nameless) error.notes.push_back("--dim NAME=batch says that a dimension is the number of samples");
  return error;
}

}  // namespace plimsoll
