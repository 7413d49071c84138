#include "compiler/network/simplify/progression.h"

#include <algorithm>
#include <string_view>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

using Known = std::optional<KnownValue>;
using Ints = std::vector<int64_t>;

struct Progression {
  Dims dims = {};
  int64_t first = 0;
  Ints steps = {};  // one per dimension
};

bool depends_on_batch(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
}

// The progression of the elements, if they form one that does not contain the batch.
std::optional<Progression> progression_of(const KnownValue* known) {
  if (!known || known->real() || known->ints.empty() || known->ints[0].batch || !known->probes.empty())
    return std::nullopt;
  Progression found{.dims = known->dims, .first = known->ints[0].value, .steps = known->steps};
  if (!found.steps.empty()) return found;
  found.steps.assign(found.dims.size(), 0);
  if (known->splat()) return found;
  Ints strides(found.dims.size(), 1);
  for (size_t axis = found.dims.size(); axis-- > 0;) {
    if (axis + 1 < found.dims.size()) strides[axis] = strides[axis + 1] * found.dims[axis + 1].value;
    if (found.dims[axis].value > 1)
      found.steps[axis] = known->ints[static_cast<size_t>(strides[axis])].value - found.first;
  }
  for (size_t flat = 0; flat < known->ints.size(); ++flat) {
    int64_t expected = found.first, rest = static_cast<int64_t>(flat);
    for (size_t axis = 0; axis < found.dims.size(); ++axis) {
      expected += rest / strides[axis] * found.steps[axis];
      rest %= strides[axis];
    }
    if (known->ints[flat] != Dim{expected}) return std::nullopt;
  }
  // The same for each sample: a progression within a sample restarts with the next.
  for (size_t axis = 0; axis < found.dims.size(); ++axis)
    if (found.dims[axis].batch && found.steps[axis] != 0) return std::nullopt;
  return found;
}

// The elements of one sample if all samples are equal; otherwise the first element and the steps.
Known known_of(Progression from, ElementType element) {
  bool alike = true;
  int64_t count = 1;
  for (size_t axis = 0; axis < from.dims.size() && alike; ++axis) {
    const auto more = checked_mul(count, from.dims[axis].value);
    alike = more && *more <= kKnownLimit && (!from.dims[axis].batch || from.steps[axis] == 0);
    count = more.value_or(0);
  }
  const bool grows = std::any_of(from.steps.begin(), from.steps.end(), [](int64_t step) { return step != 0; });
  if (alike && grows) {
    KnownValue known{.element = element, .dims = from.dims};
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t item = from.first, rest = flat;
      for (size_t axis = from.dims.size(); axis-- > 0;) {
        int64_t grown = 0;
        if (__builtin_mul_overflow(rest % from.dims[axis].value, from.steps[axis], &grown) ||
            __builtin_add_overflow(item, grown, &item))
          return std::nullopt;
        rest /= from.dims[axis].value;
      }
      known.ints.push_back({item});
    }
    return known;
  }
  KnownValue known{.element = element, .dims = std::move(from.dims), .ints = {{from.first}}};
  if (grows) known.steps = std::move(from.steps);
  return known;
}

// 0, step, 2·step, … below a multiple of the batch that is a multiple of the step.
Known fold_range(const std::vector<KnownInput>& inputs) {
  for (const KnownInput& input : inputs)
    if (!input.known || input.known->real() || input.known->elements() != 1) return std::nullopt;
  if (inputs.size() != 3) return std::nullopt;
  const Dim start = inputs[0].known->integer(0), limit = inputs[1].known->integer(0),
            step = inputs[2].known->integer(0);
  if (start != Dim{0} || !limit.batch || step.batch || step.value <= 0 || limit.value % step.value != 0)
    return std::nullopt;
  return known_of({.dims = {{limit.value / step.value, true}}, .steps = {step.value}}, inputs[0].known->element);
}

// NumPy's broadcasting, also for batch dimensions. The step along a broadcast dimension is 0.
std::optional<Progression> broadcast_to(const Progression& from, const Dims& to) {
  if (from.dims.size() > to.size()) return std::nullopt;
  Progression wide{.dims = to, .first = from.first, .steps = Ints(to.size(), 0)};
  for (size_t i = 0, behind = to.size() - from.dims.size(); i < from.dims.size(); ++i)
    if (from.dims[i] == to[behind + i]) wide.steps[behind + i] = from.steps[i];
    else if (from.dims[i] != Dim{1}) return std::nullopt;
  return wide;
}

std::optional<Dims> common_dims(const Dims& a, const Dims& b) {
  Dims common(std::max(a.size(), b.size()), Dim{1});
  for (const Dims* shape : {&a, &b})
    for (size_t i = 0, behind = common.size() - shape->size(); i < shape->size(); ++i) {
      Dim& dim = common[behind + i];
      if (dim == Dim{1}) dim = (*shape)[i];
      else if ((*shape)[i] != Dim{1} && (*shape)[i] != dim) return std::nullopt;
    }
  return common;
}

// a + sign · b
std::optional<Progression> sum(const Progression& a, const Progression& b, int64_t sign) {
  const auto dims = common_dims(a.dims, b.dims);
  if (!dims) return std::nullopt;
  std::optional<Progression> left = broadcast_to(a, *dims), right = broadcast_to(b, *dims);
  if (!left || !right) return std::nullopt;
  const auto add = [&](int64_t& to, int64_t what) {
    return !__builtin_mul_overflow(what, sign, &what) && !__builtin_add_overflow(to, what, &to);
  };
  if (!add(left->first, right->first)) return std::nullopt;
  for (size_t i = 0; i < left->steps.size(); ++i)
    if (!add(left->steps[i], right->steps[i])) return std::nullopt;
  return left;
}

// One factor must be the same number everywhere.
std::optional<Progression> product(const Progression& a, const Progression& b) {
  const auto grows = [](const Progression& p) {
    return std::any_of(p.steps.begin(), p.steps.end(), [](int64_t step) { return step != 0; });
  };
  const Progression &factor = grows(a) ? b : a, &other = grows(a) ? a : b;
  const auto dims = common_dims(a.dims, b.dims);
  std::optional<Progression> scaled = dims && !grows(factor) ? broadcast_to(other, *dims) : std::nullopt;
  if (!scaled || __builtin_mul_overflow(scaled->first, factor.first, &scaled->first)) return std::nullopt;
  for (int64_t& step : scaled->steps)
    if (__builtin_mul_overflow(step, factor.first, &step)) return std::nullopt;
  return scaled;
}

// The target's dimensions may differ only in those of size 1.
std::optional<Progression> reshaped(const Progression& from, const KnownValue* target) {
  if (!target || target->real() || !target->elements() || target->dims.size() != 1) return std::nullopt;
  Progression to{.first = from.first};
  size_t next = 0;
  const auto skip = [&] { while (next < from.dims.size() && from.dims[next] == Dim{1}) ++next; };
  for (size_t i = 0; i < static_cast<size_t>(*target->elements()); ++i) {
    const Dim entry = target->integer(i);
    skip();
    if (entry == Dim{1} || (entry == Dim{-1} && next == from.dims.size())) {
      to.dims.push_back({1});
      to.steps.push_back(0);
    } else if (next < from.dims.size() && (entry == from.dims[next] || entry == Dim{-1})) {
      to.dims.push_back(from.dims[next]);
      to.steps.push_back(from.steps[next++]);
    } else {
      return std::nullopt;
    }
  }
  skip();
  return next == from.dims.size() ? std::optional(to) : std::nullopt;
}

// The axes of Unsqueeze (in the result) or of Squeeze, as the opset defines them.
std::optional<Ints> axes_of(const ModelNode& node, const std::vector<KnownInput>& inputs, size_t rank) {
  Ints axes;
  if (const ModelAttribute* given = find_attribute(node, "axes")) {
    axes.assign(given->integers().begin(), given->integers().end());
  } else {
    const KnownValue* known = inputs.size() > 1 ? inputs[1].known : nullptr;
    if (!known || known->real() || !known->elements() || known->depends_on_batch()) return std::nullopt;
    for (size_t i = 0; i < static_cast<size_t>(*known->elements()); ++i) axes.push_back(known->integer(i).value);
  }
  const int64_t dims = static_cast<int64_t>(node.op == "Unsqueeze" ? rank + axes.size() : rank);
  for (int64_t& axis : axes) {
    if (axis < 0) axis += dims;
    if (axis < 0 || axis >= dims) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return std::nullopt;
  return axes;
}

std::optional<Progression> unsqueezed(Progression from, const Ints& axes) {
  for (const int64_t axis : axes) {
    from.dims.insert(from.dims.begin() + axis, Dim{1});
    from.steps.insert(from.steps.begin() + axis, 0);
  }
  return from;
}

std::optional<Progression> squeezed(Progression from, const Ints& axes) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (from.dims[static_cast<size_t>(*axis)] != Dim{1}) return std::nullopt;
    from.dims.erase(from.dims.begin() + *axis);
    from.steps.erase(from.steps.begin() + *axis);
  }
  return from;
}

std::optional<Progression> expanded(const Progression& from, const KnownValue* shape) {
  if (!shape || shape->real() || !shape->elements() || shape->dims.size() != 1) return std::nullopt;
  Dims wanted;
  for (size_t i = 0; i < static_cast<size_t>(*shape->elements()); ++i) wanted.push_back(shape->integer(i));
  const auto dims = common_dims(from.dims, wanted);
  return dims ? broadcast_to(from, *dims) : std::nullopt;
}

// The whole input, as exporters write a colon.
bool slices_nothing(const std::vector<KnownInput>& inputs) {
  const auto are_all = [&](size_t i, bool (*holds)(int64_t)) {
    if (i >= inputs.size() || !inputs[i].known) return i > 2;  // axes, which do not matter, and steps may be omitted
    const KnownValue& known = *inputs[i].known;
    return !known.real() && known.elements() && known.steps.empty() &&
           std::all_of(known.ints.begin(), known.ints.end(),
                       [&](Dim item) { return !item.batch && holds(item.value); });
  };
  constexpr auto from_first = [](int64_t start) { return start == 0; };
  constexpr auto to_last = [](int64_t end) { return end == INT64_MAX; };
  constexpr auto each = [](int64_t step) { return step == 1; };
  return are_all(1, from_first) && are_all(2, to_last) && are_all(4, each);
}

}  // namespace

Known fold_progression(const ModelNode& node, const std::vector<KnownInput>& inputs) {
  const std::string_view op = node.op;
  if (inputs.empty() || !inputs[0].known || inputs[0].known->real()) return std::nullopt;
  if (op == "Range") return fold_range(inputs);
  const ElementType element = inputs[0].known->element;
  const KnownValue* second = inputs.size() > 1 ? inputs[1].known : nullptr;
  const bool of_samples = std::any_of(inputs.begin(), inputs.end(), [](const KnownInput& input) {
    return input.known && depends_on_batch(input.known->dims);
  });
  const bool to_samples = op == "Expand" && second &&
                          std::any_of(second->ints.begin(), second->ints.end(), [](Dim dim) { return dim.batch; });
  const auto first = of_samples || to_samples ? progression_of(inputs[0].known) : std::nullopt;
  if (!first) return std::nullopt;
  std::optional<Progression> made;
  if (op == "Identity" || (op == "Slice" && slices_nothing(inputs))) made = first;
  if (op == "Expand") made = expanded(*first, second);
  if (op == "Reshape") made = reshaped(*first, second);
  if (op == "Cast") {
    const ModelAttribute* to = find_attribute(node, "to");
    if (!to || (to->element() != ElementType::i64 && to->element() != ElementType::i32)) return std::nullopt;
    return known_of(*first, to->element());
  }
  if (op == "Unsqueeze" || op == "Squeeze") {
    const auto axes = axes_of(node, inputs, first->dims.size());
    if (axes) made = op == "Unsqueeze" ? unsqueezed(*first, *axes) : squeezed(*first, *axes);
  }
  if (op == "Add" || op == "Sub" || op == "Mul") {
    const auto other = progression_of(second);
    if (other) made = op == "Mul" ? product(*first, *other) : sum(*first, *other, op == "Add" ? 1 : -1);
  }
  return made && depends_on_batch(made->dims) ? known_of(std::move(*made), element) : std::nullopt;
}

bool PicksOfEachSample::all() const {
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] != static_cast<int64_t>(i)) return false;
  return static_cast<int64_t>(at.size()) == length;
}

std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices) {
  if (indices.steps.empty() || !samples.batch || !indices.dims[0].batch) return std::nullopt;
  PicksOfEachSample picks{
      .groups = indices.dims[0], .length = indices.steps[0], .dims = {indices.dims.begin() + 1, indices.dims.end()}};
  if (picks.length <= 0 || checked_mul(picks.groups.value, picks.length) != samples.value ||
      depends_on_batch(picks.dims))
    return std::nullopt;
  int64_t count = 1;
  for (const Dim dim : picks.dims) {
    const auto more = checked_mul(count, dim.value);
    if (!more || *more > kKnownLimit) return std::nullopt;
    count = *more;
  }
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t at = indices.ints[0].value, rest = flat;
    for (size_t axis = picks.dims.size(); axis-- > 0;) {
      int64_t grown = 0;
      if (__builtin_mul_overflow(rest % picks.dims[axis].value, indices.steps[axis + 1], &grown) ||
          __builtin_add_overflow(at, grown, &at))
        return std::nullopt;
      rest /= picks.dims[axis].value;
    }
    if (at < 0 || at >= picks.length) return std::nullopt;  // in another sample
    picks.at.push_back(at);
  }
  return picks;
}

std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices, int64_t exported_batch) {
  if (!samples.batch || indices.real() || !indices.steps.empty() || indices.depends_on_batch() ||
      indices.dims.empty() || indices.dims[0] != Dim{exported_batch} || *indices.elements() > kKnownLimit)
    return std::nullopt;
  PicksOfEachSample picks{
      .groups = kBatch, .length = samples.value, .dims = {indices.dims.begin() + 1, indices.dims.end()}};
  const int64_t count = *indices.elements() / exported_batch;
  for (int64_t flat = 0; flat < *indices.elements(); ++flat) {
    const int64_t sample = flat / count, at = indices.integer(static_cast<size_t>(flat)).value - sample * samples.value;
    if (at < 0 || at >= samples.value) return std::nullopt;
    if (sample == 0) picks.at.push_back(at);
    else if (picks.at[static_cast<size_t>(flat % count)] != at) return std::nullopt;
  }
  // With one exported sample, a subset of its elements may also be a subset of all samples.
  return exported_batch > 1 || picks.all() ? std::optional(picks) : std::nullopt;
}

}  // namespace plimsoll
