#include "compiler/ir/tensor_type.h"

#include <fmt/format.h>

#include "compiler/support/status.h"

namespace plimsoll {

TensorDesc TensorType::at(int64_t samples) const {
  PLIMSOLL_CHECK(dims.size() <= static_cast<size_t>(kMaxRank), "rank above kMaxRank");
  TensorDesc desc{.type = type, .layout = layout};
  for (const Dim& dim : dims) desc.dims.push_back(dim.at(samples));
  return desc;
}

// Planning a deep network asks this millions of times, and making a TensorDesc takes several times as long.
int64_t TensorType::bytes(int64_t samples) const {
  if (layout != Layout::plain && layout != Layout::nhwc) return at(samples).bytes();
  int64_t elements = 1;
  for (const Dim& dim : dims) elements *= dim.at(samples);
  return bytes_of(type, elements);
}

bool TensorType::depends_on_batch() const {
  for (const Dim& dim : dims)
    if (dim.batch) return true;
  return false;
}

Affine TensorType::elements() const {
  const int64_t n = at(1).elements();
  return depends_on_batch() ? Affine{0, n} : Affine{n, 0};
}

namespace {

std::string to_string(const Dim& dim) {
  if (!dim.batch) return fmt::format("{}", dim.value);
  return dim.value == 1 ? "N" : fmt::format("{}N", dim.value);
}

std::string with_layout(std::string text, Layout layout) {
  return layout == Layout::plain ? text : fmt::format("{}:{}", text, name_of(layout));
}

}  // namespace

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (const Dim& dim : dims) text += (text.size() > 1 ? "," : "") + to_string(dim);
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return with_layout(fmt::format("{}{}", name_of(type.type), to_string(type.dims)), type.layout);
}

void append(std::string& text, const TensorDesc& desc) {
  text += name_of(desc.type);
  text += '[';
  for (size_t i = 0; i < desc.rank(); ++i) {
    if (i > 0) text += ',';
    const fmt::format_int size(desc.dim(i));
    text.append(size.data(), size.size());
  }
  text += ']';
  if (desc.layout == Layout::plain) return;
  text += ':';
  text += name_of(desc.layout);
}

std::string to_string(const TensorDesc& desc) {
  std::string text;
  append(text, desc);
  return text;
}

}  // namespace plimsoll
