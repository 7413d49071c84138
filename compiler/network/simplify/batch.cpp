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

// The symbol of the batch: the first dimension of the first input, unless the user gave it a number, or another
// dimension has a batch-like name and that one does not (then the model is sequence-first).
std::string batch_symbol(const std::vector<const DeclaredValue*>& inputs, const SimplifyOptions& options) {
  std::string first;
  for (const auto* input : inputs)
    for (size_t i = 0; input->dims && i < input->dims->size(); ++i) {
      const std::string& symbol = (*input->dims)[i].symbol;
      if (symbol.empty() || options.dims.contains(symbol)) continue;
      const bool leading = i == 0, like_batch = looks_like_batch(symbol);
      if (first.empty() && like_batch) return symbol;
      if (symbol.find("batch") != std::string::npos) return symbol;
      if (first.empty() && leading) first = symbol;
    }
  return first;
}

// The number of elements per sample, and whether the batch is among the dimensions.
struct Count { int64_t value = 1; bool batch = false; };

std::optional<Count> count_of(const Dims& dims) {
  Count count;
  for (const Dim dim : dims) {
    const auto product = checked_mul(count.value, dim.value);
    if (!product || (count.batch && dim.batch)) return std::nullopt;
    count = {*product, count.batch || dim.batch};
  }
  return count;
}

// Each given number belongs to an existing dimension, and the sample dimension was not given a number.
Status check_given_dims(const std::vector<const DeclaredValue*>& inputs, const ModelInputs& found,
                        const SimplifyOptions& options) {
  std::string symbols;
  for (const auto* input : inputs)
    for (size_t i = 0; input->dims && i < input->dims->size(); ++i)
      if (const std::string shown = "'" + (*input->dims)[i].symbol + "'";
          shown != "''" && symbols.find(shown) == std::string::npos)
        symbols += (symbols.empty() ? "" : ", ") + shown;
  for (const auto& [name, size] : options.dims)
    if (symbols.find("'" + name + "'") == std::string::npos)
      return Error{ExitCode::usage,
                   fmt::format("--dim {}={}: the model has no dimension of this name; {}", name, size,
                               symbols.empty() ? "it has no symbolic dimensions" : "symbolic dimensions: " + symbols)};
  const bool any = std::any_of(found.inputs.begin(), found.inputs.end(),
                               [](const ModelInput& input) { return input.type.depends_on_batch(); });
  if (!any && !options.dims.empty() && !found.inputs.empty())
    return Error{
        ExitCode::usage,
        fmt::format("--dim sets every symbolic dimension, and none is left for the batch; the model has {}", symbols)};
  return {};
}

// Of a Reshape whose target has the samples of the example in a number: where they are merged with dimensions in front
// of them. [T,N,8] → [TN,8] with or without equal dimensions in front of T; [T,2N,4] → [TN,8], as heads of an attention
// become channels again. nullopt: nowhere.
std::optional<size_t> entry_of_merged(const Dims& x, size_t axis, const std::vector<Dim>& target, int64_t batch) {
  for (size_t i = 0, equal = 0; i < target.size() && equal < axis; ++i, ++equal) {
    int64_t steps = 1;
    for (size_t j = equal; j < axis; ++j) steps *= x[j].value;  // at most the number of elements
    const int64_t of_sample = target[i].value % batch == 0 ? target[i].value / batch : 0;
    if (steps > 1 && (of_sample == steps || of_sample == steps * x[axis].value)) return i;
    if (target[i] != x[equal]) return std::nullopt;
  }
  return std::nullopt;
}

// The inverse of entry_of_merged, for rows in front: [TN,8] → [T,N,8], also with a multiple of N. nullopt: no entry is
// a multiple of the batch where the rows of one sample end.
std::optional<size_t> entry_of_split(const Dims& x, const std::vector<Dim>& target, int64_t batch) {
  if (x.empty() || !x[0].batch || x[0].value == 1) return std::nullopt;
  int64_t steps = 1;
  for (size_t i = 0; i < target.size() && target[i].value > 0; ++i) {
    if (steps == x[0].value && i > 0) return target[i].value % batch == 0 ? std::optional(i) : std::nullopt;
    if (target[i].value > x[0].value / steps) return std::nullopt;
    steps *= target[i].value;
  }
  return std::nullopt;
}

std::string target_text(const std::vector<Dim>& target) { return to_string(Dims(target)); }

}  // namespace

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
    for (size_t i = 0; i < input->dims->size(); ++i) {
      const DeclaredDim& dim = (*input->dims)[i];
      const std::string& name = dim.symbol;
      const auto given = dim.size || name.empty() ? options.dims.end() : options.dims.find(name);
      if (dim.size && *dim.size <= 0) return invalid(fmt::format("dimension {} is {}", i, *dim.size));
      if (given != options.dims.end()) {
        if (given->second <= 0)
          return Error{ExitCode::usage, fmt::format("--dim {}={}: a dimension must be positive", name, given->second)};
        type.dims.push_back({given->second});
      } else if (!dim.size && (name.empty() ? i == 0 : name == symbol)) {
        type.dims.push_back(kBatch);
      } else if (dim.size && i == 0 && symbol.empty() &&
                 (!found.exported_batch || *found.exported_batch == *dim.size)) {
        found.exported_batch = *dim.size;
        type.dims.push_back(kBatch);
      } else if (dim.size) {
        type.dims.push_back({*dim.size});
      } else if (i == 0 && !looks_like_batch(symbol)) {
        type.dims.push_back(kBatch);
      } else {
        const std::string shown =
            name.empty()
                ? fmt::format(
                      "dimension {} of input '{}', which has neither name nor size: export the model with a size", i,
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
  error.notes = std::move(open);
  return error;
}

ReshapeTarget reshape_target(const Dims& x, const std::vector<Dim>& target, bool zero_copies,
                             std::optional<int64_t> exported_batch, const std::vector<int64_t>& merged_steps) {
  const auto fail = [&](std::string_view why) {
    return ReshapeTarget{.error = fmt::format("cannot reshape {} to {}: {}", to_string(x), target_text(target), why)};
  };
  const auto elements = count_of(x);
  if (!elements) return fail("the number of elements is not a multiple of the batch");

  // The entries of the target: the batch as a symbol, the open entry, and the product of the rest.
  std::optional<size_t> symbol, open;
  int64_t rest = 1;
  bool stays = false;  // the batch is copied from x
  ReshapeTarget result;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim dim = target[i];
    const bool copied = dim == Dim{0} && zero_copies;
    result.entries.push_back(dim.value);
    if (copied) {
      if (i >= x.size()) return fail(fmt::format("entry {} copies a dimension that does not exist", i));
      dim = x[i];
    }
    if (dim.batch) {
      if (symbol || stays) return fail("the batch appears twice");
      if (copied) stays = true;
      else symbol = i;
    } else if (dim.value == -1) {
      if (open) return fail("two entries are -1");
      open = i;
    } else {
      const auto product = dim.value < 0 ? std::nullopt : checked_mul(rest, dim.value);
      if (!product) return fail("the target is negative or too large");
      rest = *product;
    }
  }

  if (stays) return result;
  if (symbol) {
    const auto product = checked_mul(rest, target[*symbol].value);
    if (!elements->batch || !product || *product == 0 || elements->value % *product != 0 ||
        (!open && elements->value != *product))
      return fail("the numbers of elements differ");
    if (open) result.entries[*open] = elements->value / *product;
    result.entries[*symbol] = -1;
    return result;
  }
  if (!elements->batch || !exported_batch || rest == 0) return result;

  // Numbers only. In an export for a fixed batch, one of them may be the batch, or a multiple of it.
  const int64_t batch = *exported_batch;
  const auto replace = [&](size_t i) {
    const int64_t times = target[i].value / batch;
    const auto all = checked_mul(rest / target[i].value, times);
    if (!all || *all == 0 || elements->value % *all != 0 || (!open && *all != elements->value)) return false;
    if (open) result.entries[*open] = elements->value / *all;
    result.entries[i] = -1;
    result.rewritten = true;
    return true;
  };
  const auto ambiguous = [&] {
    return fail(
        fmt::format("it was exported for a batch of {}, and it is ambiguous which entry is the batch; export with a "
                    "dynamic batch: dynamic_shapes=({{0: 'batch'}},), or dynamic_axes={{'input': {{0: 'batch'}}}} with "
                    "dynamo=False",
                    batch));
  };
  const size_t axis =
      static_cast<size_t>(std::find_if(x.begin(), x.end(), [](Dim dim) { return dim.batch; }) - x.begin());
  const bool same_before =
      axis < target.size() && std::equal(x.begin(), x.begin() + static_cast<int64_t>(axis), target.begin());
  const bool stays_there = same_before && !target[axis].batch && target[axis].value == x[axis].value * batch;
  // The samples behind other dimensions are merged with those, and split from them again.
  if (const auto merged = axis > 0 && batch > 1 ? entry_of_merged(x, axis, target, batch) : std::nullopt;
      merged && replace(*merged)) {
    result.merged_steps = target[*merged].value / batch;
    return result;
  }
  const bool may_be_of_steps =
      std::any_of(merged_steps.begin(), merged_steps.end(), [&](int64_t steps) { return x[axis].value % steps == 0; });
  if (const auto split =
          may_be_of_steps && batch > 1 && !stays_there ? entry_of_split(x, target, batch) : std::nullopt) {
    if (target[0].value == batch) return ambiguous();  // or [4N,8] → [N,4,8]
    if (replace(*split)) return result;
  }
  // Either it is at the position of the batch,
  if (stays_there && replace(axis)) return result;
  // or there, merged with or split from the dimensions that follow: [N,4,8] → [4N,8], [4N,8] → [N,4,8]. With a batch of
  // one, any number is a multiple of it, so the number must be a product of existing dimensions.
  if (same_before && target[axis].value > 0 && target[axis].value % batch == 0) {
    const int64_t merged = target[axis].value / batch;
    bool parts = merged == 1;
    int64_t product = 1;
    for (size_t i = axis; i < x.size(); ++i) {
      product *= x[i].value;  // at most the number of elements
      parts = parts || product == merged;
    }
    if ((open ? batch > 1 && parts : batch > 1 || parts) && replace(axis)) return result;
  }
  if (open) return result;  // the open entry takes the batch; the operator checks divisibility
  return ambiguous();
}

}  // namespace plimsoll
