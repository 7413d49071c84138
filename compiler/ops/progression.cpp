#include "compiler/ops/progression.h"

#include <algorithm>

#include "compiler/ops/dims.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

bool grows(const Progression& p) {
  return std::any_of(p.steps.begin(), p.steps.end(), [](int64_t step) { return step != 0; });
}

}  // namespace

std::optional<Progression> progression_of(const KnownValue* known) {
  if (!known || known->real() || known->ints.empty() || known->ints[0].batch || !known->probes.empty())
    return std::nullopt;
  Progression found{
      .element = known->element, .dims = known->dims, .first = known->ints[0].value, .steps = known->steps};
  if (!found.steps.empty()) return found;
  found.steps.assign(found.dims.size(), 0);
  if (known->splat()) return found;
  std::vector<int64_t> strides(found.dims.size(), 1);
  for (size_t axis = found.dims.size(); axis-- > 0;) {
    if (axis + 1 < found.dims.size()) strides[axis] = strides[axis + 1] * found.dims[axis + 1].value;
    const Dim next = found.dims[axis].value > 1 ? known->ints[static_cast<size_t>(strides[axis])] : Dim{found.first};
    if (__builtin_sub_overflow(next.value, found.first, &found.steps[axis])) return std::nullopt;
  }
  const auto expected = list_elements(found);
  if (!expected || expected->size() != known->ints.size()) return std::nullopt;
  for (size_t flat = 0; flat < known->ints.size(); ++flat)
    if (known->ints[flat] != Dim{(*expected)[flat]}) return std::nullopt;
  // The same for each sample: a progression within a sample restarts with the next.
  for (size_t axis = 0; axis < found.dims.size(); ++axis)
    if (found.dims[axis].batch && found.steps[axis] != 0) return std::nullopt;
  return found;
}

std::optional<std::vector<int64_t>> list_elements(const Progression& from) {
  int64_t count = 1;
  for (const Dim dim : from.dims) {
    const auto more = checked_mul(count, dim.value);
    if (!more || *more > kKnownLimit) return std::nullopt;
    count = *more;
  }
  std::vector<int64_t> items;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t item = from.first, rest = flat;
    for (size_t axis = from.dims.size(); axis-- > 0;) {
      int64_t grown = 0;
      if (__builtin_mul_overflow(rest % from.dims[axis].value, from.steps[axis], &grown) ||
          __builtin_add_overflow(item, grown, &item))
        return std::nullopt;
      rest /= from.dims[axis].value;
    }
    items.push_back(item);
  }
  return items;
}

Known known_of(Progression from) {
  bool alike = true;
  int64_t count = 1;
  for (size_t axis = 0; axis < from.dims.size() && alike; ++axis) {
    const auto more = checked_mul(count, from.dims[axis].value);
    alike = more && *more <= kKnownLimit && (!from.dims[axis].batch || from.steps[axis] == 0);
    count = more.value_or(0);
  }
  if (alike && grows(from)) {
    const auto items = list_elements(from);
    if (!items) return std::nullopt;
    KnownValue known{.element = from.element, .dims = from.dims};
    for (const int64_t item : *items) known.ints.push_back({item});
    return known;
  }
  KnownValue known{.element = from.element, .dims = from.dims, .ints = {{from.first}}};
  if (grows(from)) known.steps = std::move(from.steps);
  return known;
}

namespace spaced {

std::optional<Progression> reshaped(const Progression& from, Dims to) {
  Progression made{.element = from.element, .dims = std::move(to), .first = from.first};
  size_t next = 0;
  const auto skip = [&] {
    while (next < from.dims.size() && from.dims[next] == Dim{1}) ++next;
  };
  for (const Dim dim : made.dims) {
    skip();
    if (dim == Dim{1}) made.steps.push_back(0);
    else if (next < from.dims.size() && dim == from.dims[next]) made.steps.push_back(from.steps[next++]);
    else return std::nullopt;
  }
  skip();
  return next == from.dims.size() ? std::optional(made) : std::nullopt;
}

// The step along a broadcast dimension is 0.
std::optional<Progression> broadcast(const Progression& from, const Dims& to) {
  if (from.dims.size() > to.size()) return std::nullopt;
  Progression wide{
      .element = from.element, .dims = to, .first = from.first, .steps = std::vector<int64_t>(to.size(), 0)};
  for (size_t i = 0, behind = to.size() - from.dims.size(); i < from.dims.size(); ++i)
    if (from.dims[i] == to[behind + i]) wide.steps[behind + i] = from.steps[i];
    else if (from.dims[i] != Dim{1}) return std::nullopt;
  return wide;
}

std::optional<Progression> sum(const Progression& a, const Progression& b, int64_t sign) {
  const Result<Dims> dims = dims::broadcast(a.dims, b.dims);
  if (!dims.ok()) return std::nullopt;
  std::optional<Progression> left = broadcast(a, *dims), right = broadcast(b, *dims);
  if (!left || !right) return std::nullopt;
  const auto add = [&](int64_t& to, int64_t what) {
    return !__builtin_mul_overflow(what, sign, &what) && !__builtin_add_overflow(to, what, &to);
  };
  if (!add(left->first, right->first)) return std::nullopt;
  for (size_t i = 0; i < left->steps.size(); ++i)
    if (!add(left->steps[i], right->steps[i])) return std::nullopt;
  return left;
}

std::optional<Progression> product(const Progression& a, const Progression& b) {
  const Progression &factor = grows(a) ? b : a, &other = grows(a) ? a : b;
  const Result<Dims> dims = dims::broadcast(a.dims, b.dims);
  std::optional<Progression> scaled = dims.ok() && !grows(factor) ? broadcast(other, *dims) : std::nullopt;
  if (!scaled || __builtin_mul_overflow(scaled->first, factor.first, &scaled->first)) return std::nullopt;
  for (int64_t& step : scaled->steps)
    if (__builtin_mul_overflow(step, factor.first, &step)) return std::nullopt;
  return scaled;
}

}  // namespace spaced
}  // namespace plimsoll
