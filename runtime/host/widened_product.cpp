#include "runtime/host/widened_product.h"

#include <algorithm>

#include "runtime/host/real.h"

namespace plimsoll::host {
namespace {

using dnnl::memory;

// The most rows, columns and inner elements of a block: oneDNN multiplies at its full rate, each widened element takes
// part in a thousand products, and the copies stay in the last cache (docs/decisions/products.md).
constexpr int64_t kBlockLength = 1024;
// Of several small matrices at once.
constexpr int64_t kMostElements = kBlockLength * kBlockLength;
// Rows and columns of a block are whole vectors.
constexpr int64_t kMultiple = 16;
constexpr int64_t kParallelElements = 16384;

// As few blocks as possible, of nearly equal length.
int64_t length_of_blocks(int64_t length, int64_t most) {
  const int64_t blocks = (length + most - 1) / most;
  const int64_t even = (length + blocks - 1) / std::max<int64_t>(blocks, 1);
  return std::min(length, (even + kMultiple - 1) / kMultiple * kMultiple);
}

int64_t f32_bytes(int64_t elements) { return cache_lines(static_cast<size_t>(elements) * sizeof(float)); }

// `count` matrices of f32, one after another, each `matrix` elements long. One matrix has two dimensions.
memory::desc matrices(int64_t count, int64_t rows, int64_t columns, int64_t matrix, int64_t row_step,
                      int64_t column_step) {
  if (count == 1) return {{rows, columns}, memory::data_type::f32, memory::dims{row_step, column_step}};
  return {{count, rows, columns}, memory::data_type::f32, memory::dims{matrix, row_step, column_step}};
}

memory::desc factor(int64_t count, int64_t rows, int64_t columns, bool transposed) {
  return matrices(count, rows, columns, rows * columns, transposed ? 1 : columns, transposed ? rows : 1);
}

// Rows of a matrix in memory that has `step` elements a row; `at`: the first element of each of `count` matrices.
void widen_rows(const uint16_t* from, const int64_t* at, int64_t count, int64_t rows, int64_t columns, int64_t step,
                float* to) {
#pragma omp parallel for schedule(static) if (count * rows * columns > kParallelElements)
  for (int64_t i = 0; i < count * rows; ++i) {
    const uint16_t* const x = from + at[i / rows] + i % rows * step;
    float* const y = to + i * columns;
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) y[j] = widened(x[j]);
  }
}

// Into matrices that follow one another, each `matrix` elements long.
void narrow_rows(const float* from, int64_t count, int64_t rows, int64_t columns, uint16_t* to, int64_t matrix,
                 int64_t step) {
#pragma omp parallel for schedule(static) if (count * rows * columns > kParallelElements)
  for (int64_t i = 0; i < count * rows; ++i) {
    const float* const x = from + i * columns;
    uint16_t* const y = to + i / rows * matrix + i % rows * step;
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) y[j] = narrowed(x[j]);
  }
}

void set_address(const memory& of, void* address) {
  dnnl::error::wrap_c_api(dnnl_memory_set_data_handle(of.get(), address), "an address was refused");
}

}  // namespace

WidenedProduct::WidenedProduct(const RepeatedProduct::Sizes& sizes)
    : WidenedProduct(sizes, sizes.adds_row ? Series{.addend = Addend{}} : Series{}) {}

WidenedProduct::WidenedProduct(const RepeatedProduct::Sizes& sizes, const Series& series)
    : sizes_(sizes),
      series_(series),
      seeded_(series_.addend.has_value()),
      rounds_(sizes.result == DataType::bf16),
      most_{.count = 1,
            .rows = length_of_blocks(sizes.rows, kBlockLength),
            .columns = length_of_blocks(sizes.columns, kBlockLength),
            .inner = length_of_blocks(sizes.inner, kBlockLength),
            .adds = false} {
  const bool whole = most_.rows == sizes.rows && most_.columns == sizes.columns && most_.inner == sizes.inner;
  const int64_t largest = std::max({sizes.rows * sizes.inner, sizes.inner * sizes.columns, sizes.rows * sizes.columns});
  if (whole && largest > 0)
    most_.count = std::clamp<int64_t>(kMostElements / largest, 1, static_cast<int64_t>(series_.a.size()));
  b_at_ = f32_bytes(most_.count * most_.rows * most_.inner);
  y_at_ = b_at_ + f32_bytes(most_.count * most_.inner * most_.columns);
  scratchpad_at_ = y_at_ + (rounds_ ? f32_bytes(most_.count * most_.rows * most_.columns) : 0);
  for_each_block([&](const Place&, const Block& block) {
    if (!products_.contains(block)) products_.emplace(block, made(block));
  });
  for (auto& [block, product] : products_) {
    product.arguments = {{DNNL_ARG_SRC, product.a.get()},
                         {DNNL_ARG_WEIGHTS, product.b.get()},
                         {DNNL_ARG_DST, product.y.get()},
                         {DNNL_ARG_SCRATCHPAD, product.scratchpad.get()}};
    for (const auto& [name, scale] : scales_) product.arguments.push_back({name, scale.get()});
  }
}

WidenedProduct::Product WidenedProduct::made(const Block& block) {
  const memory::desc a = factor(block.count, block.rows, block.inner, sizes_.transpose_a),
                     b = factor(block.count, block.inner, block.columns, sizes_.transpose_b),
                     y = rounds_ ? factor(block.count, block.rows, block.columns, false)
                                 : matrices(block.count, block.rows, block.columns, sizes_.rows * sizes_.columns,
                                            sizes_.columns, 1);
  dnnl::primitive_attr attr = scratchpad_by_user();
  if (series_.alpha != 1) scales_ = scale_product(engine(), attr, series_.alpha);
  if (block.adds) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attr.set_post_ops(sum);
  }
  const auto desc = preferred(describe_all<dnnl::matmul>(engine(), attr, a, b, y), DataType::f32);
  scratchpad_bytes_ = std::max(scratchpad_bytes_, cache_lines(desc.scratchpad_desc().get_size()));
  return {.primitive = dnnl::matmul(desc),
          .a = unbound(a),
          .b = unbound(b),
          .y = unbound(y),
          .scratchpad = unbound(desc.scratchpad_desc()),
          .arguments = {}};
}

template <class Visit>
void WidenedProduct::for_each_block(Visit visit) const {
  const int64_t products = static_cast<int64_t>(series_.a.size());
  Place at{};
  for (at.first = 0; at.first < products; at.first += most_.count)
    for (at.column = 0; at.column < sizes_.columns; at.column += most_.columns)
      for (at.row = 0; at.row < sizes_.rows; at.row += most_.rows)
        for (at.inner = 0; at.inner < sizes_.inner; at.inner += most_.inner)
          visit(at, Block{.count = std::min(most_.count, products - at.first),
                          .rows = std::min(most_.rows, sizes_.rows - at.row),
                          .columns = std::min(most_.columns, sizes_.columns - at.column),
                          .inner = std::min(most_.inner, sizes_.inner - at.inner),
                          .adds = at.inner > 0 || sizes_.accumulates || seeded_});
}

void WidenedProduct::begin(const void* b, std::byte* workspace, const void* addend) {
  b_ = static_cast<const std::byte*>(b);
  addend_ = static_cast<const std::byte*>(addend);
  workspace_ = workspace;
}

// y: the first element of the block, in rows of the result or of the block.
void WidenedProduct::seed(const Place& at, const Block& block, float* y) const {
  const Addend& c = *series_.addend;
  const int64_t step = rounds_ ? block.columns : sizes_.columns,
                matrix = rounds_ ? block.rows * block.columns : sizes_.rows * sizes_.columns,
                column_step = c.column_step;
  const float by = c.factor;
  by_real(c.type, [&](auto zero) {
    using C = decltype(zero);
#pragma omp parallel for schedule(static) if (block.count * block.rows * block.columns > kParallelElements)
    for (int64_t i = 0; i < block.count * block.rows; ++i) {
      const int64_t of = i / block.rows, row = i % block.rows;
      const C* const from = reinterpret_cast<const C*>(addend_) + c.at[static_cast<size_t>(at.first + of)] +
                            (at.row + row) * c.row_step + at.column * column_step;
      float* const to = y + of * matrix + row * step;
      for (int64_t j = 0; j < block.columns; ++j) to[j] = by * static_cast<float>(from[j * column_step]);
    }
  });
}

void WidenedProduct::run(const void* a, void* y) {
  float* const a_block = reinterpret_cast<float*>(workspace_);
  float* const b_block = reinterpret_cast<float*>(workspace_ + b_at_);
  const auto *const a_all = static_cast<const uint16_t*>(a), *const b_all = reinterpret_cast<const uint16_t*>(b_);
  const int64_t a_step = sizes_.transpose_a ? sizes_.rows : sizes_.inner,
                b_step = sizes_.transpose_b ? sizes_.inner : sizes_.columns;
  Place a_has{-1, 0, 0, 0}, b_has{-1, 0, 0, 0};
  for_each_block([&](const Place& at, const Block& block) {
    if (a_has.first != at.first || a_has.row != at.row || a_has.inner != at.inner) {
      const int64_t* const firsts = series_.a.data() + at.first;
      if (sizes_.transpose_a)
        widen_rows(a_all + at.inner * a_step + at.row, firsts, block.count, block.inner, block.rows, a_step, a_block);
      else
        widen_rows(a_all + at.row * a_step + at.inner, firsts, block.count, block.rows, block.inner, a_step, a_block);
      a_has = at;
    }
    if (b_has.first != at.first || b_has.column != at.column || b_has.inner != at.inner) {
      const int64_t* const firsts = series_.b.data() + at.first;
      if (sizes_.transpose_b)
        widen_rows(b_all + at.column * b_step + at.inner, firsts, block.count, block.columns, block.inner, b_step,
                   b_block);
      else
        widen_rows(b_all + at.inner * b_step + at.column, firsts, block.count, block.inner, block.columns, b_step,
                   b_block);
      b_has = at;
    }
    const int64_t place = (at.first * sizes_.rows + at.row) * sizes_.columns + at.column;
    float* const sum = rounds_ ? reinterpret_cast<float*>(workspace_ + y_at_) : static_cast<float*>(y) + place;
    if (seeded_ && at.inner == 0) seed(at, block, sum);
    const Product& product = products_.at(block);
    set_address(product.a, a_block), set_address(product.b, b_block), set_address(product.y, sum);
    set_address(product.scratchpad, workspace_ + scratchpad_at_);
    dnnl::error::wrap_c_api(dnnl_primitive_execute(product.primitive.get(), stream().get(),
                                                   static_cast<int>(product.arguments.size()),
                                                   product.arguments.data()),
                            "a matrix product failed");
    if (rounds_ && at.inner + block.inner == sizes_.inner)
      narrow_rows(sum, block.count, block.rows, block.columns, static_cast<uint16_t*>(y) + place,
                  sizes_.rows * sizes_.columns, sizes_.columns);
  });
}

}  // namespace plimsoll::host
