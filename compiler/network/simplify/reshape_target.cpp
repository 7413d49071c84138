#include "compiler/network/simplify/reshape_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/batch.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

bool has(const std::vector<int64_t>& rows, int64_t steps) {
  return std::find(rows.begin(), rows.end(), steps) != rows.end();
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

// An example of one sample, behind other dimensions that are merged or split: where as many elements are in front of an
// equal entry. [6,4,N] → [24,N], [4,N,3] → [2,2,N,3].
std::optional<size_t> entry_at_same_place(const Dims& x, size_t axis, const std::vector<Dim>& target) {
  int64_t front = 1, before = 1;  // at most the number of elements of x
  for (size_t i = 0; i < axis; ++i) front *= x[i].value;
  for (size_t i = 0; i < target.size() && target[i].value > 0; before *= target[i++].value) {
    if (front > 1 && before == front) return target[i].value == x[axis].value ? std::optional(i) : std::nullopt;
    if (target[i].value > front / before) break;
  }
  return std::nullopt;
}

// The same where no entry is equal: any entry may hold the sample. Either it stays behind the same dimensions and takes
// parts of those that follow, [T,N,32] → [T,4N,8], as attention splits its heads. Or it is merged with the T steps in
// front of it, [T,N,4,8] → [TN,32]; this is assumed only of a model that splits heads. nullopt: neither, or one cannot
// tell.
std::optional<size_t> entry_of_one(const Dims& x, size_t axis, const std::vector<Dim>& target, const MergedRows& rows) {
  int64_t front = 1, behind = 1, all = 1;  // at most the number of elements of x
  for (size_t i = 0; i < x.size(); ++i) (i < axis ? front : behind) *= x[i].value;
  for (const Dim dim : target) {
    const auto product = dim.value > 0 ? checked_mul(all, dim.value) : std::nullopt;
    if (!product) return std::nullopt;
    all = *product;
  }
  if (all != front * behind || has(rows.of_steps, x[axis].value)) return std::nullopt;

  std::optional<size_t> merged;
  int64_t before = 1;  // elements of the entries in front of i
  for (size_t i = 0; i < target.size() && front % before == 0; before *= target[i++].value) {
    const bool same_one = i < axis && target[i] == Dim{1} && x[i] == Dim{1};
    if (same_one || behind % (all / before / target[i].value) != 0) continue;
    if (before == front && i + 1 < target.size())
      return i == axis && std::equal(x.begin(), x.begin() + static_cast<int64_t>(axis), target.begin())
                 ? std::optional(i)
                 : std::nullopt;
    if (before * target[i].value == front) merged = i;
  }
  return rows.splits_heads ? merged : std::nullopt;
}

// A target without the batch as a symbol, of a model that was exported for a fixed batch.
struct NumberTarget {
  const Dims& x;
  const std::vector<Dim>& target;
  int64_t elements = 0;              // per sample
  int64_t rest = 0;                  // the product of the entries that are numbers
  std::optional<size_t> open = {};   // the entry -1
  int64_t batch = 0;                 // of the example
  size_t axis = 0;                   // of the batch in x

  bool same_before() const {
    return axis < target.size() && std::equal(x.begin(), x.begin() + static_cast<int64_t>(axis), target.begin());
  }
  bool stays_there() const {
    return same_before() && !target[axis].batch && target[axis].value == x[axis].value * batch;
  }

  // The elements in front of the batch in x.
  int64_t front() const {
    int64_t steps = 1;
    for (size_t i = 0; i < axis; ++i) steps *= x[i].value;  // at most the number of elements
    return steps;
  }

  // Whether the open entry may hold the samples of an example of one: the elements in front of it are in front of the
  // samples in x, too, which they are not in [N,4,12,8] → [4,-1,8]. Nor if a first entry of 1 can be the sample.
  bool open_may_hold() const {
    int64_t before = 1;
    for (size_t i = 0; i < *open; ++i) before *= target[i].value;  // a divisor of `rest`
    return before > 0 && front() % before == 0 && (axis > 0 || target[0] != Dim{1});
  }

  // Whether the numbers of elements agree if entry i holds the samples.
  bool fits(size_t i) const {
    const auto all = checked_mul(rest / target[i].value, target[i].value / batch);
    return all && *all > 0 && elements % *all == 0 && (open || *all == elements);
  }

  // The first entries split the rows in front: [64N,5] → [16N,4,1,5].
  bool splits_rows() const {
    int64_t rows = 1;
    for (size_t i = 0; i < target.size() && target[i].value > 0 && target[i].value <= x[0].value / rows; ++i)
      rows *= target[i].value;
    return x[0].value > 1 && rows == x[0].value;
  }

  // At the position of the batch, merged with or split from the dimensions that follow: [N,4,8] → [4N,8],
  // [4N,8] → [N,4,8]. With a batch of one, any number is a multiple of it, so the number must be a product of existing
  // dimensions.
  bool merged_behind() const {
    if (!same_before() || target[axis].value <= 0 || target[axis].value % batch != 0) return false;
    const int64_t merged = target[axis].value / batch;
    bool parts = merged == 1;
    int64_t product = 1;
    for (size_t i = axis; i < x.size(); ++i) {
      product *= x[i].value;  // at most the number of elements
      parts = parts || product == merged;
    }
    // Without parts, only if the target has no entry that may be the sample itself, or splits the rows of a sample.
    const bool has_one = std::find(target.begin(), target.end(), Dim{1}) != target.end();
    const bool closed = !open || !open_may_hold();
    const bool in_front = axis == 0 && closed && (batch > 1 || splits_rows() || !has_one);
    return parts ? batch > 1 || closed : (!open && batch > 1) || in_front;
  }
};

// The entry that holds the samples, if there is one.
struct Found {
  std::optional<size_t> entry = {};
  bool ambiguous = false;
};

// Adds to `rows` what is merged.
Found entry_of_samples(const NumberTarget& of, MergedRows& rows) {
  const Dims& x = of.x;
  const std::vector<Dim>& target = of.target;
  const size_t axis = of.axis;
  const bool stays = of.stays_there();
  // The samples behind other dimensions are merged with those, and split from them again.
  if (axis > 0 && of.batch > 1)
    if (const auto merged = entry_of_merged(x, axis, target, of.batch); merged && of.fits(*merged)) {
      rows.of_steps.push_back(target[*merged].value / of.batch);
      return {merged};
    }
  if (axis > 0 && of.batch == 1 && !stays)
    if (const auto entry = entry_at_same_place(x, axis, target); entry && of.fits(*entry)) return {entry};
  if (axis > 0 && of.batch == 1 && !stays) {
    std::vector<Dim> filled = target;  // as in the example
    if (of.open && of.elements % of.rest == 0) filled[*of.open] = {of.elements / of.rest};
    if (const auto entry = entry_of_one(x, axis, filled, rows)) {
      if (*entry == axis) rows.splits_heads = true;
      else rows.of_steps.push_back(filled[*entry].value);
      return {entry};
    }
  }
  const bool may_be_of_steps = std::any_of(rows.of_steps.begin(), rows.of_steps.end(),
                                           [&](int64_t steps) { return x[axis].value % steps == 0; });
  if (may_be_of_steps && of.batch > 1 && !stays)
    if (const auto split = entry_of_split(x, target, of.batch)) {
      if (target[0].value == of.batch) return {.ambiguous = true};  // or [4N,8] → [N,4,8]
      if (of.fits(*split)) return {split};
    }
  // Rows of an example of one sample: [TN,8] → [T,N,8] or [1,T,N,8]. That they are [N,T,8] would be another order, but
  // not if the entry of the samples is open: exporters write -1 for a size that depends on the batch.
  if (of.batch == 1 && x.size() == 2 && x[0].batch && has(rows.of_steps, x[0].value)) {
    const auto steps = std::ranges::find_if(target, [](Dim dim) { return dim != Dim{1}; }) - target.begin();
    const size_t at = static_cast<size_t>(steps) + 1;
    const bool behind_steps = at + 1 < target.size() && target[at - 1].value == x[0].value;
    if (behind_steps && of.open == at && of.elements == of.rest) return {at};
    const bool split = behind_steps && target[at].value == 1 && of.fits(at);
    if (split ? has(rows.of_samples, x[0].value) : !stays) return {.ambiguous = true};
    if (split) return {at};
  }
  if (stays && of.fits(axis)) return {axis};
  return {of.merged_behind() && of.fits(axis) ? std::optional(axis) : std::nullopt};
}

// Whether a Reshape leaves out the dimensions of 1 in front of the samples, and nothing else: [1,N,3,8] → [N,3,8].
bool squeezes_front(const NumberTarget& of) {
  if (of.axis == 0 || of.front() != 1 || of.stays_there() || of.target.empty()) return false;
  const auto samples = of.x.begin() + static_cast<int64_t>(of.axis);
  return of.target[0] == Dim{samples->value * of.batch} &&
         std::equal(samples + 1, of.x.end(), of.target.begin() + 1, of.target.end());
}

// Tools merge a Squeeze with the Reshape that follows it. Dimensions of 1 in front of the samples then do not count:
// [1,N,3,8] → [3N,8].
Found entry_behind_ones(const NumberTarget& of, MergedRows& rows) {
  if (squeezes_front(of)) return {0};
  const Found found = entry_of_samples(of, rows);
  const bool open_holds = of.open && of.open_may_hold();
  if (found.entry || found.ambiguous || open_holds || of.axis == 0 || of.front() != 1) return found;
  const Dims behind(of.x.begin() + static_cast<int64_t>(of.axis), of.x.end());
  return entry_of_samples({.x = behind,
                           .target = of.target,
                           .elements = of.elements,
                           .rest = of.rest,
                           .open = of.open,
                           .batch = of.batch},
                          rows);
}

}  // namespace

ReshapeTarget reshape_target(const Dims& x, const std::vector<Dim>& target, bool zero_copies,
                             std::optional<int64_t> exported_batch, MergedRows& rows) {
  const auto fail = [&](std::string_view why) {
    return ReshapeTarget{
        .error = fmt::format("cannot reshape {} to {}: {}", to_string(x), to_string(Dims(target)), why)};
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

  const NumberTarget numbers{
      .x = x,
      .target = target,
      .elements = elements->value,
      .rest = rest,
      .open = open,
      .batch = *exported_batch,
      .axis = static_cast<size_t>(std::find_if(x.begin(), x.end(), [](Dim dim) { return dim.batch; }) - x.begin())};
  const Found found = entry_behind_ones(numbers, rows);
  if (found.entry && found.entry != open) {
    const Dim dim = target[*found.entry];
    if (open) result.entries[*open] = elements->value / (rest / dim.value * (dim.value / numbers.batch));
    result.entries[*found.entry] = -1;
    result.rewritten = true;
  } else if (!open || found.ambiguous) {  // an open entry takes the batch; the operator checks divisibility
    return fail(
        fmt::format("it was exported for a batch of {}, and it is ambiguous which entry is the batch; export with a "
                    "dynamic batch: dynamic_shapes=({{0: 'batch'}},), or dynamic_axes={{'input': {{0: 'batch'}}}} with "
                    "dynamo=False",
                    numbers.batch));
  }
  if (x.size() - numbers.axis > 2 && target.size() == 2 && numbers.batch == 1 && numbers.front() == 1)
    rows.of_samples.push_back(open == std::optional<size_t>(0) ? elements->value / rest : target[0].value);
  if (numbers.axis > 0 && open == std::optional<size_t>(0) && elements->value / rest == numbers.front())
    rows.of_steps.push_back(numbers.front());
  return result;
}

}  // namespace plimsoll
