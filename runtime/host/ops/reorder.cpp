// Reorder {x, y}: the same elements in another layout.
#include "runtime/host/engine.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

class ReorderKernel final : public Kernel {
 public:
  explicit ReorderKernel(std::span<const OperandDesc> operands)
      : from_(host::unbound(host::to_dnnl(operands[0].tensor))),
        to_(host::unbound(host::to_dnnl(operands[1].tensor))),
        scratch_(host::unbound({})) {
    const dnnl::reorder::primitive_desc desc(from_, to_, host::scratchpad_by_user());
    scratch_ = host::unbound(desc.scratchpad_desc());
    workspace_bytes_ = static_cast<int64_t>(desc.scratchpad_desc().get_size());
    primitive_ = dnnl::reorder(desc);
    arguments_ = {{DNNL_ARG_FROM, from_}, {DNNL_ARG_TO, to_}, {DNNL_ARG_SCRATCHPAD, scratch_}};
  }

  int64_t workspace_bytes() const { return workspace_bytes_; }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    from_.set_data_handle(operands[0]);
    to_.set_data_handle(operands[1]);
    scratch_.set_data_handle(workspace);
    primitive_.execute(host::stream(), arguments_);
  }

 private:
  dnnl::memory from_, to_, scratch_;
  dnnl::reorder primitive_;
  host::Arguments arguments_;
  int64_t workspace_bytes_ = 0;
};

std::unique_ptr<ReorderKernel> built_reorder(std::span<const OperandDesc> operands) {
  return host::made("oneDNN has no such reorder", [&] { return std::make_unique<ReorderKernel>(operands); });
}

}  // namespace

std::vector<Algorithm> Reorder::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = built_reorder(operands)->workspace_bytes()}};
}

std::unique_ptr<Kernel> Reorder::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return built_reorder(operands);
}

}  // namespace plimsoll
