#include "compiler/ir/text_types.h"

#include <fmt/format.h>

#include <limits>

#include "compiler/ir/text_fields.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

// A blocked layout requires the dimensions that it blocks, and pads each by at most 15.
void check_size(TextCursor& cursor, const TensorType& type, int64_t batch) {
  constexpr int64_t kMostPadding = 15;
  if (type.layout != Layout::plain && type.rank() < 4)
    return cursor.fail(fmt::format("layout {} needs four dimensions", name_of(type.layout)));
  int64_t bytes = bytes_of(type.type, 1);
  int batches = 0;
  bool fits = true;
  for (const Dim& dim : type.dims) {
    batches += dim.batch;
    const int64_t size = checked_mul(dim.value, dim.batch ? batch : 1).value_or(-1);
    fits = fits && size >= 0 && size <= std::numeric_limits<int64_t>::max() - kMostPadding;
    bytes = fits ? checked_mul(bytes, size + kMostPadding).value_or(-1) : -1;
    fits = bytes >= 0;
  }
  if (!fits) cursor.fail(fmt::format("{} does not fit 63 bits at batch {}", to_string(type), batch));
  else if (batches > 1) cursor.fail(fmt::format("{} depends on the batch in two dimensions", to_string(type)));
}

}  // namespace

TensorType read_type(TextCursor& cursor, int64_t batch) {
  TensorType type;
  const std::string word = cursor.word();
  size_t at = 0;
  while (at < kDataTypeNames.size() && kDataTypeNames[at] != word) ++at;
  if (at == kDataTypeNames.size())
    cursor.fail(fmt::format("'{}'; expected one of {}", word, fmt::join(kDataTypeNames, ", ")));
  else type.type = static_cast<DataType>(at);
  cursor.expect("[");
  while (!cursor.error() && !cursor.accept("]")) {
    if (!type.dims.empty()) cursor.expect(",");
    if (cursor.accept("N")) {
      type.dims.push_back(kBatch);
    } else {
      const int64_t value = read_count(cursor, 0);
      type.dims.push_back({value, cursor.accept("N")});
    }
    if (type.dims.size() > static_cast<size_t>(kMaxRank))
      cursor.fail(fmt::format("a tensor has {} dimensions at most", kMaxRank));
  }
  if (cursor.accept(":")) {
    const std::string layout = cursor.word();
    size_t known = 0;
    while (known < kLayoutNames.size() && kLayoutNames[known] != layout) ++known;
    if (known == kLayoutNames.size()) cursor.fail(fmt::format("'{}' is not a layout", layout));
    else type.layout = static_cast<Layout>(known);
  }
  if (!cursor.error()) check_size(cursor, type, batch);
  return type;
}

}  // namespace plimsoll
