// One network under construction: builder.cpp takes the nodes that stay nodes, in their order, rewritten_nodes.cpp those that
// become others, or none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/node_inputs.h"
#include "compiler/network/simplify/options.h"
#include "compiler/network/simplify/random_mask.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/network/simplify/unsupported.h"
#include "compiler/network/simplify/values.h"
#include "compiler/ops/op.h"

namespace plimsoll {

class NetworkBuilder {
 public:
  // follow: an Expand that repeats something as often as the example had samples repeats it for each sample.
  NetworkBuilder(Model& model, const SimplifyOptions& options, std::vector<std::string>& notes, bool follow)
      : model_(model), options_(options), notes_(notes), opset_(model.opset), table_(network_) {
    inputs_.set_follow(follow);
  }

  // Changes the model only if it is ok.
  Result<Network> build(const GraphOrder& order);
  // The batch of the exporter's example, where the file has it in place of a symbol.
  std::optional<int64_t> exported_batch() const { return exported_batch_; }
  // Whether anything may be repeated for the samples of the example.
  bool may_follow() const { return inputs_.may_follow(); }
  // From the inputs on, the number of samples is a number like others.
  void fix_batches() { fixes_batch_ = true; }

 private:
  void find_readers(const GraphOrder& order);
  Status add_inputs();
  Status fix_batch(const std::string& name);
  Status add_outputs();
  Status add_node(const ModelNode& source);
  void say_what_was_rewritten();
  void materialise();

  // What a node is when it stays none.
  bool is_alias(const ModelNode& source);
  std::vector<KnownInput> fold_inputs(const ModelNode& source);
  ElementType element_of(const Entry& entry) const;
  ElementType cast_to(const ModelNode& source);
  Result<bool> add_spelled(const ModelNode& source);
  // Of rows.cpp. in_front: the value has a dimension in front of its rows.
  struct RowsOf {
    std::vector<Rows> rows = {};
    bool in_front = false;
  };
  std::vector<Rows> rows_of(const std::string& name);
  RowsOf look_through(const std::string& name, int depth, int& values);
  std::optional<std::vector<int64_t>> integers_of(const ModelNode& node, const char* attribute, size_t input);
  bool leave_out_guard(const ModelNode& source);
  // Of empty.cpp.
  std::optional<std::vector<int64_t>> known_list(const ModelNode& source, size_t i);
  bool add_empty_slice(const ModelNode& source);
  std::optional<ModelNode> without_empty_parts(const ModelNode& source);
  bool absorb_pad(const ModelNode& source);
  Status add_mask(const ModelNode& source, const RandomMask& mask);
  Status add_sequence(const ModelNode& source);
  bool take_from_sequence(const ModelNode& source);

  Status add_operator(const ModelNode& source);
  Status place(const ModelNode& source, const Op& op);
  Status infer(const ModelNode& given, const Op& op);
  Status stretch_constants(const ModelNode& source);
  // Of fit_inputs.cpp.
  Status fit_inputs(ModelNode& node);
  void keep_one_sample(ModelNode& node);
  Status repeat_for_samples(ModelNode& node);
  void follow_constant(ModelNode& node);
  bool is_exported_as(Dim samples, Dim dim) const;
  std::string add_fitted(const std::string& name, KnownValue known);
  std::string stretched_to(const std::string& name, const Dims& dims);
  Status add_expand(const std::string& from, const Dims& dims, const std::string& to);
  Status add_reshape(const std::string& from, const Dims& dims, const std::string& to);
  std::string unique_name(const ModelNode& source);
  Status check_inputs(const ModelNode& source, const Op& op) const;
  Status check_outputs(const ModelNode& source) const;
  Status check_inputs_are_real(const NodeView& view, const Op& op) const;
  Status check_type(const NodeView& view, const TensorType& type) const;
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
  static constexpr int kModelOutput = -1, kWritten = -2;  // readers that are no node of the graph
  RandomMasks masks_ = {};
  std::unordered_set<std::string> guards_ = {};  // what an IsNaN made that only guards
  int guards_left_out_ = 0;
  std::unordered_set<std::string> fitted_ = {};  // values that fit_inputs() made
  int masks_followed_ = 0;
  bool fixes_batch_ = false;
  int followed_ = 0;  // nodes that read one of them because of the exported batch
  std::unordered_map<ValueTable::Index, std::vector<std::string>> sequences_ = {};  // empty: of what is not supported
  std::unordered_map<std::string, std::vector<int>> readers_ = {};
  std::unordered_map<std::string, int> maker_ = {};
  std::unordered_map<std::string, std::vector<int64_t>> absorbed_ = {};  // output of a Pad that is none → its zeros
  std::map<std::string, int> node_names_ = {};
};

}  // namespace plimsoll
