#include "compiler/ops/op.h"

#include <array>

namespace plimsoll {
namespace {

constexpr std::array kAllOps = {
#define OP(name) &op_##name,
#include "compiler/ops/ops.def"
#undef OP
};

}  // namespace

const Op* find_op(std::string_view name) {
  for (const Op* op : kAllOps)
    if (op->name == name) return op;
  return nullptr;
}

std::span<const Op* const> all_ops() { return kAllOps; }

}  // namespace plimsoll
