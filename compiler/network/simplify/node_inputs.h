// A node's inputs as the network represents them: data, a constant known to the compiler, or nothing.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/network/simplify/reshape_target.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// What means the samples where the file has the number of the example's.
enum class Follow {
  nothing,
  repeats,    // an Expand of a value to that number
  constants,  // also constants that are repeated that often
};

class NodeInputs {
 public:
  explicit NodeInputs(ValueTable& table) : table_(table) {}

  // The batch that was written into the model, if it was exported with a fixed one.
  void set_exported_batch(std::optional<int64_t> batch) { exported_batch_ = batch; }
  std::optional<int64_t> exported_batch() const { return exported_batch_; }

  void set_follow(Follow follow) { follow_ = follow; }
  bool follow() const { return follow_ != Follow::nothing; }
  bool follows_constants() const { return follow_ == Follow::constants; }
  bool may_follow() const { return may_follow_; }
  // Records that something that may be followed was found.
  void meet() { may_follow_ = true; }

  // Whether [rows·N, …] may be the rows of each step instead of each sample.
  bool are_of_steps(int64_t rows) const {
    return std::find(rows_.of_steps.begin(), rows_.of_steps.end(), rows) != rows_.of_steps.end();
  }

  // Input i of the node; an invalid id if it is omitted, or equals the operator's default. Errors: unsupported
  // (elements that depend on the batch, of a type without kernels), invalid_model.
  Result<ValueId> add(const ModelNode& source, size_t i);

  // The number of Reshape targets that contained a hard-coded batch.
  int reshapes_rewritten() const { return reshapes_rewritten_; }
  int expands_rewritten() const { return expands_rewritten_; }

 private:
  bool picks_rows_at_random(const ModelNode& source, const KnownValue& known);
  Result<ValueId> add_reshape_target(const ModelNode& source, const KnownValue& known);
  KnownValue expand_target(const ModelNode& source, KnownValue known);
  Result<ValueId> add_resize_target(const ModelNode& source, KnownValue known);
  Result<ValueId> add_batch_constant(const ModelNode& source, size_t i, KnownValue known);
  std::optional<size_t> slice_axis(const ModelNode& source, size_t j, size_t rank);

  ValueTable& table_;
  std::optional<int64_t> exported_batch_ = {};
  int reshapes_rewritten_ = 0, expands_rewritten_ = 0;
  Follow follow_ = Follow::nothing;
  bool may_follow_ = false;
  MergedRows rows_ = {};
};

}  // namespace plimsoll
