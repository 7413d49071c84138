// One network under construction. builder.cpp adds the nodes that stay, in order; rewritten_nodes.cpp handles those
// that become other nodes, or none. Each kind of rewriting is a separate function (fit_inputs.h, rows.h, empty.h,
// nan_guard.h, padding.h, random_mask.h, sequences.h, node_checks.h), which knows the values but not the builder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/fit_inputs.h"
#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/node_inputs.h"
#include "compiler/network/simplify/options.h"
#include "compiler/network/simplify/random_mask.h"
#include "compiler/network/simplify/sample_indices.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/network/simplify/unsupported.h"
#include "compiler/network/simplify/values.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/ops/op.h"

namespace plimsoll {

class NetworkBuilder {
 public:
  // The arguments must outlive this.
  NetworkBuilder(Model& model, const WeightUses& weights, const SimplifyOptions& options,
                 std::vector<std::string>& notes, Follow follow)
      : model_(model), options_(options), notes_(notes), opset_(model.opset), table_(network_, weights) {
    inputs_.set_follow(follow);
  }

  // Changes the model only on success.
  Result<Network> build(const GraphOrder& order);
  // The batch of the exporter's example, if the file has a number instead of a symbol.
  std::optional<int64_t> exported_batch() const { return exported_batch_; }
  // Whether anything may be repeated for the samples of the example.
  bool may_follow() const { return inputs_.may_follow(); }
  // Instead of reporting an If whose condition is known, conditions() has it afterwards.
  void find_conditions() { finds_conditions_ = true; }
  const std::unordered_map<int, bool>& conditions() const { return conditions_; }
  // After the inputs, the number of samples is an ordinary number.
  void fix_batches() { fixes_batch_ = true; }

 private:
  Status add_inputs();
  Status fix_batch(const std::string& name);
  Status add_outputs();
  Status add_node(const ModelNode& source);
  void say_what_was_rewritten();
  void materialise();

  // Handles nodes that are rewritten or removed.
  Result<bool> add_spelled(const ModelNode& source);
  Result<bool> leave_out_guard(const ModelNode& source);
  Status add_written(const std::vector<ModelNode>& nodes);
  Result<bool> divide_by_samples(const ModelNode& source);
  Status check_divisor(const ModelNode& source);
  bool absorb_pad(const ModelNode& source);
  Status add_mask(const ModelNode& source, const RandomMask& mask);
  Status add_steps_of(const ModelNode& source, const RandomMask& mask);
  Status add_sequence(const ModelNode& source);
  bool take_from_sequence(const ModelNode& source);
  bool know_of_samples(const ModelNode& source);
  bool know_pieces(const ModelNode& source);
  bool know(const ModelNode& source);
  bool know_condition(const ModelNode& source, int index);
  Status limit_known(const ModelNode& source);
  bool leave_in_order(const ModelNode& source);
  bool leave_to_readers(const ModelNode& source);

  Status add_operator(const ModelNode& source);
  ModelNode with_mode(const ModelNode& source);
  Status place(const ModelNode& source, const Op& op);
  Status infer(const ModelNode& given, const Op& op);
  std::optional<int64_t> padding_of(const ModelNode& source) const;
  Status write_in_front(const std::vector<ModelNode>& nodes);
  std::string unique_name(const ModelNode& source);
  bool is_blocked(const ModelNode& source);
  bool computes_shapes(const ModelNode& source);
  void give_up(const ModelNode& source, bool of_shapes);

  Model& model_;
  const SimplifyOptions& options_;
  std::vector<std::string>& notes_;
  const int64_t opset_;
  Network network_ = {};
  ValueTable table_;
  NodeInputs inputs_{table_};
  Unsupported unsupported_ = {};
  std::optional<int64_t> exported_batch_ = {};
  RandomMasks masks_ = {};
  std::unordered_map<std::string, const ModelNode*> guards_ =
      {};  // by the output of an IsNaN that serves only as a guard
  std::unordered_map<std::string, int64_t> sample_counts_ = {};  // real numbers: this many times the number of samples
  int guards_left_out_ = 0;
  FittedInputs fitted_ = {};
  int masks_followed_ = 0;
  bool fixes_batch_ = false, finds_conditions_ = false;
  std::unordered_map<int, bool> conditions_ = {};  // by node
  int64_t written_elements_ = 0;  // of constants that replace operators
  int64_t known_elements_ = 0;    // of what the nodes so far have computed
  ValueTable::Index counted_ = 0;  // values before this one have been looked at
  // empty: the sequence is not supported
  std::unordered_map<ValueTable::Index, std::vector<std::string>> sequences_ = {};
  std::unordered_map<std::string, SampleIndices> sample_indices_ = {};  // of values that are not nodes
  GraphUses uses_ = {};
  // output of a Pad that was removed → its padding
  std::unordered_map<std::string, std::vector<int64_t>> absorbed_ = {};
  std::map<std::string, int> node_names_ = {};
};

}  // namespace plimsoll
