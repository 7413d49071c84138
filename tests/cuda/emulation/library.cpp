// Computes what NVIDIA's libraries compute, as plain loops, so that whole trainers run on the emulation. These are
// stand-ins: they say nothing about cuDNN or cuBLASLt. They are launched like kernels, to keep their position in the
// streams.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/ops/attention_cudnn.h"
#include "runtime/cuda/ops/bias.h"
#include "runtime/cuda/ops/broadcast.h"
#include "runtime/cuda/ops/matmul.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

// Then the backend widens them.
void need_f32(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.access != Access::absent && is_narrow(operand.tensor.type))
      throw KernelError("the stand-in takes f32 only");
}

void need_default(std::string_view algorithm) {
  if (!algorithm.empty() && algorithm != Algorithm{}.name)
    throw KernelError("the stand-in has no algorithm '" + std::string(algorithm) + "'");
}

// One thread does everything. It is followed by the backend's own kernels: bias, ReLU, accumulation of a gradient.
using After = std::function<void(const RunContext&, std::byte* const*, std::byte*)>;

std::unique_ptr<Kernel> alone(std::function<void(std::byte* const*)> body, size_t slots, After after = {}) {
  using Slots = std::array<std::byte*, 8>;
  struct Task {
    std::function<void(std::byte* const*)> body;
  };
  const auto task = std::make_shared<Task>(Task{std::move(body)});
  return cuda::kernel([=](const RunContext& context, std::byte* const* operands, std::byte* workspace) {
    Slots held{};
    std::copy_n(operands, slots, held.begin());
    held[slots] = workspace;
    emulation::issue_kernel(cuda::launch_config("stand-in", 1, 32, context), [task, held] {
      if (threadIdx.x == 0) task->body(held.data());
    });
    if (after) after(context, operands, workspace);
  });
}

int64_t depth(const TensorDesc& desc) { return desc.rank() == 5 ? desc.dim(2) : 1; }

// The offset of an element: in the order of the dimensions, or with the second one last. For two spatial dimensions the
// depth is 1.
int64_t place(const TensorDesc& desc, int64_t i, int64_t j, int64_t d, int64_t k, int64_t l) {
  if (desc.layout == Layout::nhwc) return ((i * desc.dim(2) + k) * desc.dim(3) + l) * desc.dim(1) + j;
  const size_t rank = desc.rank();
  return (((i * desc.dim(1) + j) * depth(desc) + d) * desc.dim(rank - 2) + k) * desc.dim(rank - 1) + l;
}

// visit(offset in x, offset in w, offset in y) for every product of a convolution of x by w to y.
template <class Visit>
void for_products(const ConvAttrs& a, const TensorDesc& x, const TensorDesc& w, const TensorDesc& y, Visit visit) {
  const int64_t inputs = w.dim(1), outputs = y.dim(1) / a.group;
  const size_t last = a.strides.size() - 1, rows = x.rank() - 2, columns = x.rank() - 1;
  const bool deep = x.rank() == 5;
  for (int64_t n = 0; n < y.dim(0); ++n)
    for (int64_t o = 0; o < y.dim(1); ++o)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t e = 0; e < depth(y); ++e)
          for (int64_t h = 0; h < y.dim(rows); ++h)
            for (int64_t v = 0; v < y.dim(columns); ++v)
              for (int64_t q = 0; q < depth(w); ++q)
                for (int64_t r = 0; r < w.dim(rows); ++r)
                  for (int64_t s = 0; s < w.dim(columns); ++s) {
                    const int64_t layer = deep ? e * a.strides[0] - a.pads[0] + q * a.dilations[0] : 0;
                    const int64_t row = h * a.strides[last - 1] - a.pads[last - 1] + r * a.dilations[last - 1];
                    const int64_t column = v * a.strides[last] - a.pads[last] + s * a.dilations[last];
                    if (layer < 0 || layer >= depth(x) || row < 0 || row >= x.dim(rows) || column < 0 ||
                        column >= x.dim(columns))
                      continue;
                    const int64_t channel = o / outputs * inputs + i;
                    visit(place(x, n, channel, layer, row, column), place(w, o, i, q, r, s), place(y, n, o, e, h, v));
                  }
}

std::vector<double> zeros(const TensorDesc& desc) { return std::vector<double>(static_cast<size_t>(desc.elements())); }
double& of(std::vector<double>& sums, int64_t i) { return sums[static_cast<size_t>(i)]; }

void put_all(const std::vector<double>& sums, float* to) {
  for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i]);
}

cuda::Planes planes_of(const TensorDesc& y) {
  int64_t plane = 1;
  for (size_t axis = 2; axis < y.rank(); ++axis) plane *= y.dim(axis);
  return {y.dim(0), y.dim(1), plane, y.layout == Layout::nhwc};
}

void check_shapes(const TensorDesc& x, const TensorDesc& w, const TensorDesc& y, const ConvAttrs& a) {
  bool fits = x.dim(1) == w.dim(1) * a.group && y.dim(1) == w.dim(0);
  const size_t spatial = x.rank() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = (w.dim(2 + i) - 1) * a.dilations[i] + 1;
    fits = fits && y.dim(2 + i) == (x.dim(2 + i) + a.pads[i] + a.pads[spatial + i] - reach) / a.strides[i] + 1;
  }
  if (!fits) throw KernelError("shapes that do not fit each other");
  if (x.layout != y.layout || w.layout != y.layout) throw KernelError("a convolution between layouts");
}

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

// {x, w, b, y}
std::vector<Algorithm> ConvForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> o) {
  need_f32(o);
  check_shapes(o[0].tensor, o[1].tensor, o[3].tensor, attrs);
  return {{}};
}

std::unique_ptr<Kernel> ConvForward::make(const Attrs& attrs, std::span<const OperandDesc> o,
                                          std::string_view algorithm) {
  need_default(algorithm);
  const TensorDesc& result = o[3].tensor;
  return alone(
      [attrs, x = o[0].tensor, w = o[1].tensor, y = o[3].tensor](std::byte* const* at) {
    std::vector<double> sums = zeros(y);
    for_products(attrs, x, w, y, [&](int64_t i, int64_t j, int64_t k) {
      of(sums, k) += double{cuda::in(at, 0)[i]} * double{cuda::in(at, 1)[j]};
    });
    put_all(sums, cuda::out(at, 3));
      },
      o.size(),
      [planes = planes_of(result), relu = attrs.relu](const RunContext& context, std::byte* const* at, std::byte*) {
    if (at[2] || relu) cuda::add_bias(context, cuda::out(at, 3), cuda::in(at, 2), relu, planes);
  });
}

// {w, dy, dx, addend?}
std::vector<Algorithm> ConvBackwardData::algorithms(const Attrs&, std::span<const OperandDesc> o) {
  need_f32(o);
  return {{}};
}

std::unique_ptr<Kernel> ConvBackwardData::make(const Attrs& attrs, std::span<const OperandDesc> o,
                                               std::string_view algorithm) {
  need_default(algorithm);
  const bool adds = o.size() > 3 && o[3].access != Access::absent;
  return alone(
      [attrs, adds, w = o[0].tensor, y = o[1].tensor, x = o[2].tensor](std::byte* const* at) {
    std::vector<double> sums = zeros(x);
    for (size_t i = 0; adds && i < sums.size(); ++i) sums[i] = double{cuda::in(at, 3)[i]};
    for_products(attrs, x, w, y, [&](int64_t i, int64_t j, int64_t k) {
      of(sums, i) += double{cuda::in(at, 0)[j]} * double{cuda::in(at, 1)[k]};
    });
    put_all(sums, cuda::out(at, 2));
      },
      o.size());
}

// {x, dy, dw, db}   workspace: the sums of a bias, then dw if it accumulates
std::vector<Algorithm> ConvBackwardWeights::algorithms(const Attrs&, std::span<const OperandDesc> o) {
  need_f32(o);
  const bool bias = o[3].access != Access::absent, adds = cuda::adds(o[2]);
  return {{.workspace_bytes = (bias ? aligned(cuda::bias_gradient_workspace(planes_of(o[1].tensor))) : 0) +
                              (adds ? o[2].tensor.bytes() : 0)}};
}

std::unique_ptr<Kernel> ConvBackwardWeights::make(const Attrs& attrs, std::span<const OperandDesc> o,
                                                  std::string_view algorithm) {
  need_default(algorithm);
  const bool adds = cuda::adds(o[2]), adds_bias = cuda::adds(o[3]), bias = o[3].access != Access::absent;
  const cuda::Planes planes = planes_of(o[1].tensor);
  const int64_t made_at = bias ? aligned(cuda::bias_gradient_workspace(planes)) : 0;
  return alone(
      [=, x = o[0].tensor, y = o[1].tensor, w = o[2].tensor](std::byte* const* at) {
    if (!at[2]) return;
    std::vector<double> sums = zeros(w);
    for_products(attrs, x, w, y, [&](int64_t i, int64_t j, int64_t k) {
      of(sums, j) += double{cuda::in(at, 0)[i]} * double{cuda::in(at, 1)[k]};
    });
    put_all(sums, adds ? reinterpret_cast<float*>(at[4] + made_at) : cuda::out(at, 2));
      },
      o.size(),
      [=, n = o[2].tensor.elements()](const RunContext& context, std::byte* const* at, std::byte* workspace) {
    if (adds)
      cuda::add_to<float, float>(context, cuda::out(at, 2), reinterpret_cast<const float*>(workspace + made_at), n);
    if (at[3])
      cuda::bias_gradient<float>(context, cuda::in(at, 1), cuda::out(at, 3), adds_bias,
                                 reinterpret_cast<float*>(workspace), planes);
  });
}

// {x, w, b, y}: dx of a convolution whose dy is x, and a bias.
std::vector<Algorithm> ConvTransposeForward::algorithms(const Attrs&, std::span<const OperandDesc> o) {
  need_f32(o);
  return {{}};
}

std::unique_ptr<Kernel> ConvTransposeForward::make(const Attrs& attrs, std::span<const OperandDesc> o,
                                                   std::string_view algorithm) {
  need_default(algorithm);
  return alone([attrs, x = o[0].tensor, w = o[1].tensor, y = o[3].tensor](std::byte* const* at) {
    std::vector<double> sums = zeros(y);
    for_products(attrs, y, w, x, [&](int64_t i, int64_t j, int64_t k) {
      of(sums, i) += double{cuda::in(at, 0)[k]} * double{cuda::in(at, 1)[j]};
    });
    put_all(sums, cuda::out(at, 3));
  }, o.size(), [planes = planes_of(o[3].tensor)](const RunContext& context, std::byte* const* at, std::byte*) {
    if (at[2]) cuda::add_bias(context, cuda::out(at, 3), cuda::in(at, 2), false, planes);
  });
}

// {a, b, c, y}: leading dimensions broadcast.
std::vector<Algorithm> MatMul::algorithms(const Attrs&, std::span<const OperandDesc> o) {
  need_f32(o);
  return {{}};
}

namespace {

// y += alpha · op(a) · op(b), or y = …
class Product final : public Kernel {
 public:
  Product(const MatMulAttrs& attrs, std::span<const OperandDesc> o, int64_t row_of_a = 0)
      : attrs_(attrs), y_(o[3].tensor), c_(o[2].tensor), addend_(o[2].access != Access::absent) {
    const bool adds = cuda::adds(o[3]) || addend_;
    product_ = alone([=, a = o[0].tensor, b = o[1].tensor, y = o[3].tensor](std::byte* const* at) {
      const size_t rank = y.rank();
      const int64_t m = y.dim(rank - 2), n = y.dim(rank - 1), k = a.dim(attrs.transpose_a ? rank - 2 : rank - 1);
      const int64_t step = row_of_a > 0 ? row_of_a : a.dim(rank - 1);  // from a row of a to the next
      TensorDesc whole = y, left = a, right = b;
      for (TensorDesc* desc : {&whole, &left, &right}) desc->dims[rank - 1] = desc->dims[rank - 2] = 1;
      const Loops<3> batches = loops_over<3>({whole, left, right});
      for (int64_t batch = 0; batch < batches.count(0); ++batch) {
        const float* const p = cuda::in(at, 0) + batches.offset(1, batch, 0) * m * k;
        const float* const q = cuda::in(at, 1) + batches.offset(2, batch, 0) * k * n;
        for (int64_t i = 0; i < m * n; ++i) {
          const int64_t row = i / n, column = i % n;
          double sum = 0;
          for (int64_t j = 0; j < k; ++j)
            sum += double{p[attrs.transpose_a ? j * step + row : row * step + j]} *
                   double{q[attrs.transpose_b ? column * k + j : j * n + column]};
          float& to = cuda::out(at, 3)[batch * m * n + i];
          to = static_cast<float>(sum * attrs.alpha) + (adds ? to : 0);
        }
      }
    }, o.size());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    if (addend_) cuda::seed_with(context, operands[3], y_, operands[2], c_, static_cast<float>(attrs_.beta));
    product_->run(context, operands, workspace);
  }

 private:
  MatMulAttrs attrs_;
  TensorDesc y_, c_;
  bool addend_;
  std::unique_ptr<Kernel> product_;
};

}  // namespace

std::unique_ptr<Kernel> MatMul::make(const Attrs& attrs, std::span<const OperandDesc> o, std::string_view algorithm) {
  need_default(algorithm);
  return std::make_unique<Product>(attrs, o);
}

std::unique_ptr<Kernel> cuda::product_of_parts(const MatMulAttrs& attrs, std::span<const OperandDesc> o,
                                               std::string_view algorithm, int64_t, int64_t row_of_a) {
  need_default(algorithm);
  return std::make_unique<Product>(attrs, o, row_of_a);
}

namespace cuda {

std::vector<Algorithm> with_cudnn_attention(std::vector<Algorithm> own, const AttentionAttrs&,
                                            std::span<const OperandDesc>, bool) {
  return own;
}

std::unique_ptr<Kernel> cudnn_attention(const AttentionAttrs&, std::span<const OperandDesc>, bool,
                                        std::string_view algorithm) {
  throw KernelError("there is no cuDNN here for '" + std::string(algorithm) + "'");
}

}  // namespace cuda
}  // namespace plimsoll
