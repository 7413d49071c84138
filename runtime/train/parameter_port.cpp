#include "runtime/train/parameter_port.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/reduced_state.h"
#include "runtime/split_weight.h"
#include "runtime/train/error.h"
#include "runtime/train/layout.h"

namespace plimsoll::train {

// Elements that are contiguous both in plain order and in memory.
struct ParameterPort::Piece {
  TensorDesc desc;    // as in memory
  int64_t begin;      // in elements, in plain order
  int64_t stored_at;  // in bytes, from the parameter's offset

  TensorDesc in_files() const {
    return {is_reduced(desc.type) ? DataType::f32 : desc.type, {desc.elements()}, Layout::plain};
  }
  int64_t at() const { return begin * bytes_of(in_files().type); }
};

namespace {

constexpr int64_t kPieceElements = int64_t{1} << 20;
static_assert(kPieceElements % kBlockElements == 0);

float* floats(std::vector<std::byte>& bytes) { return reinterpret_cast<float*>(bytes.data()); }

// A blocked layout splits the first dimension into blocks of 8 or 16 at most. So a multiple of 16 rows is contiguous;
// in 8 bits, a multiple of 256 rows begins with a scale as well.
int64_t rows_in_a_piece(const TensorDesc& desc) {
  const int64_t unit = is_in_blocks(desc.type) ? kBlockElements : 16;
  TensorDesc rows = desc;
  rows.dims[0] = unit;
  return unit * std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, rows.padded_elements()));
}

template <class Visit>
void for_each_piece(const TensorDesc& desc, const Visit& visit) {
  if (desc.layout == Layout::plain) {
    const int64_t elements = desc.elements();
    for (int64_t begin = 0; begin < elements; begin += kPieceElements)
      visit({.desc = {desc.type, {std::min(kPieceElements, elements - begin)}, Layout::plain},
             .begin = begin,
             .stored_at = bytes_of(desc.type, begin)});
    return;
  }
  const int64_t step = rows_in_a_piece(desc), per_row = desc.elements() / desc.dim(0);
  int64_t stored_at = 0;
  for (int64_t row = 0; row < desc.dim(0); row += step) {
    TensorDesc rows = desc;
    rows.dims[0] = std::min(step, desc.dim(0) - row);
    visit({.desc = rows, .begin = row * per_row, .stored_at = stored_at});
    stored_at += rows.bytes();
  }
}

}  // namespace

ParameterPort::ParameterPort(const Program& program, const backend::Arena& arena, const backend::HostPool* pool)
    : arena_(arena), pool_(pool) {
  int64_t plain = 0, laid_out = 0, stored = 0;
  for (const ProgramParameter& parameter : program.parameters)
    for_each_piece(parameter.desc, [&](const Piece& piece) {
      const TensorDesc& desc = piece.desc;
      const bool reduced = is_reduced(desc.type);
      plain = std::max(plain, piece.in_files().bytes());
      if (desc.layout != Layout::plain)
        laid_out = std::max(laid_out, reduced ? 4 * desc.padded_elements() : desc.bytes());
      if (reduced) stored = std::max(stored, (parameter.low_offset < 0 ? 1 : 2) * desc.bytes());
    });
  plain_.resize(static_cast<size_t>(plain));
  laid_out_.resize(static_cast<size_t>(laid_out));
  stored_.resize(static_cast<size_t>(stored));
}

// The host pool is host memory or a file.
void ParameterPort::copy_from(bool in_host_pool, int64_t from, std::byte* to, int64_t bytes) {
  if (!in_host_pool) backend::copy_out(nullptr, to, arena_.data() + from, bytes);
  else if (const std::byte* const memory = pool_->data()) std::memcpy(to, memory + from, static_cast<size_t>(bytes));
  else pool_->fetch(from, to, bytes);
}

void ParameterPort::copy_to(bool in_host_pool, int64_t to, const std::byte* from, int64_t bytes) {
  if (!in_host_pool) backend::copy_in(nullptr, arena_.data() + to, from, bytes);
  else if (std::byte* const memory = pool_->data()) std::memcpy(memory + to, from, static_cast<size_t>(bytes));
  else pool_->store(to, from, bytes);
}

void ParameterPort::fetch(const ProgramParameter& parameter, const Piece& piece) {
  const TensorDesc& desc = piece.desc;
  const bool plain = desc.layout == Layout::plain, reduced = is_reduced(desc.type);
  std::vector<std::byte>& there = plain ? plain_ : laid_out_;
  std::byte* const to = reduced ? stored_.data() : there.data();
  const int64_t bytes = desc.bytes(), elements = desc.padded_elements();
  copy_from(parameter.in_host_pool, parameter.offset + piece.stored_at, to, bytes);
  if (parameter.low_offset >= 0) {
    copy_from(parameter.low_in_host_pool, parameter.low_offset + piece.stored_at, to + bytes, bytes);
    const auto* const high = reinterpret_cast<const uint16_t*>(to);
    const auto* const low = reinterpret_cast<const int16_t*>(to + bytes);
    for (int64_t i = 0; i < elements; ++i) floats(there)[i] = split::joined(high[i], low[i]);
  } else if (reduced) reduced::to_f32(desc.type, to, elements, floats(there));
  if (!plain) to_plain(desc, floats(laid_out_), floats(plain_));
}

void ParameterPort::store(const ProgramParameter& parameter, const Piece& piece) {
  const TensorDesc& desc = piece.desc;
  const bool plain = desc.layout == Layout::plain, reduced = is_reduced(desc.type);
  if (!plain) to_blocked(desc, floats(plain_), floats(laid_out_));
  std::vector<std::byte>& there = plain ? plain_ : laid_out_;
  const int64_t bytes = desc.bytes(), elements = desc.padded_elements();
  if (parameter.low_offset >= 0) {
    auto* const high = reinterpret_cast<uint16_t*>(stored_.data());
    auto* const low = reinterpret_cast<int16_t*>(stored_.data() + bytes);
    for (int64_t i = 0; i < elements; ++i) {
      const uint32_t bits = split::bits_to_split(floats(there)[i]);
      high[i] = split::high_of(bits);
      low[i] = split::low_of(bits);
    }
    copy_to(parameter.low_in_host_pool, parameter.low_offset + piece.stored_at, stored_.data() + bytes, bytes);
  } else if (reduced) reduced::from_f32(desc.type, floats(there), elements, stored_.data());
  const std::byte* const from = reduced ? stored_.data() : there.data();
  copy_to(parameter.in_host_pool, parameter.offset + piece.stored_at, from, bytes);
  backend::finish(nullptr);  // the buffers are reused
}

void ParameterPort::read(const ProgramParameter& parameter, const See& see) {
  for_each_piece(parameter.desc, [&](const Piece& piece) {
    const std::span<std::byte> values = std::span(plain_).first(static_cast<size_t>(piece.in_files().bytes()));
    if (parameter.is_rounded() && from_file_) from_file_(parameter, piece.at(), values);
    else fetch(parameter, piece);
    see(piece.at(), values);
  });
}

void ParameterPort::read_as_in_file(const ProgramParameter& parameter, const See& see) {
  if (parameter.file_type == FileType::same) return read(parameter, see);
  read(parameter, [&](int64_t at, std::span<const std::byte> values) {
    if (const std::optional<float> large = too_large_for(parameter.file_type, values))
      throw TrainerError(Exit::invalid_model,
                         "'" + std::string(parameter.name) + "' holds " + std::to_string(*large) +
                             ", and the model's file has it in f16, which ends at 65504: the model is not saved. A "
                             "checkpoint has it in f32 (--checkpoint)");
    const auto bytes = static_cast<size_t>(bytes_in_file(parameter.file_type, static_cast<int64_t>(values.size())));
    const std::span<std::byte> in_file = std::span(plain_).first(bytes);
    narrow(parameter.file_type, values, in_file);  // in place
    see(bytes_in_file(parameter.file_type, at), in_file);
  });
}

void ParameterPort::write(const ProgramParameter& parameter, const Fill& fill) {
  for_each_piece(parameter.desc, [&](const Piece& piece) {
    fill(piece.at(), std::span(plain_).first(static_cast<size_t>(piece.in_files().bytes())));
    store(parameter, piece);
  });
}

void ParameterPort::update(const ProgramParameter& parameter, const Fill& change) {
  for_each_piece(parameter.desc, [&](const Piece& piece) {
    fetch(parameter, piece);
    change(piece.at(), std::span(plain_).first(static_cast<size_t>(piece.in_files().bytes())));
    store(parameter, piece);
  });
}

}  // namespace plimsoll::train
