// The values of a network under construction, by their names in the ONNX model.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/ops/slot.h"

namespace plimsoll {

// What a name of the graph refers to. A value enters the network when a node reads it, as data, as a constant, or both.
struct Entry {
  std::string name = {};
  const ModelTensor* initializer = nullptr;
  std::optional<KnownValue> known = {};
  bool unsupported = false;  // its maker is unsupported; of nodes that depend on it only the operator names are checked
  bool perhaps_known = false;  // a shape, or computed from shapes: it would be known if its maker's inputs had types
  ValueId data = {};
  ValueId constant = {};
};

class ValueTable {
 public:
  using Index = size_t;

  // An initializer that no gradient reaches (the table of a causal mask) is never trained. Its role for its readers
  // takes precedence over its name and elements. The arguments must outlive this.
  ValueTable(Network& network, const WeightUses& weights) : network_(network), weights_(weights) {}

  Index define(const std::string& name);
  void alias(const std::string& name, Index index) { by_name_[name] = index; }
  Index find(const std::string& name) const { return by_name_.at(name); }
  bool has(const std::string& name) const { return by_name_.contains(name); }
  Entry& operator[](Index index) { return entries_[index]; }
  Index size() const { return entries_.size(); }

  // Of exponents and bounds without a role: whether one with a name of its own may be a parameter. TorchScript's
  // exporter marks no parameters; where the file marks them, all others are constants.
  void set_unmarked_numbers_may_be_learned(bool may) { unmarked_numbers_may_be_learned_ = may; }

  // Whether all float initializers of one element without a role are constants: tf2onnx names what a layer reads from a
  // variable, and numbers in the code have names of every kind ("Gelu/mul_2/x:0", "lstm/zeros/Const:0").
  void set_unmarked_numbers_are_constants(bool are) { unmarked_numbers_are_constants_ = are; }

  // Float initializers of one element without a role that are constants, because of what reads them.
  void set_constants(std::unordered_set<std::string> names) { constants_ = std::move(names); }

  // A new value of the network; its name is made unique.
  ValueId add(Value value);

  // The dimensions if known; nullptr for values that depend on an unsupported node.
  const Dims* dims(Index index);
  // The values that the compiler may evaluate with. Float initializers are excluded, because they may be trained.
  const KnownValue* known(Index index);
  // The same for the bound of a Clip or an exponent. Float initializers count as constants unless they may be
  // parameters: a mark or a role says so, or their name is that of a module's attribute.
  const KnownValue* known_number(Index index);
  // The same for an input that is not data, as the window of an STFT: there float initializers count as constants
  // unless a mark or a role says that they are parameters.
  const KnownValue* known_unless_parameter(Index index);
  // The same for an input that is never trained: there all float initializers count as constants.
  const KnownValue* known_constant(Index index);

  // The value as data of a kernel: an activation, or a parameter or statistic made of an initializer or known value.
  // Errors: unsupported (element type, elements that depend on the batch), invalid_model.
  Result<ValueId> as_data(Index index, Slot slot);
  // Before: known_constant(index) has at most kKnownLimit elements and does not depend on the batch.
  ValueId as_constant(Index index);
  ValueId add_constant(const std::string& name, const KnownValue& known);

  // Known values that became parameters: the model gets an initializer for each.
  const std::vector<Index>& materialised() const { return materialised_; }

 private:
  bool is_constant(const ModelTensor& initializer);
  bool may_be_learned(const ModelTensor& number);

  Network& network_;
  const WeightUses& weights_;
  bool unmarked_numbers_may_be_learned_ = false;
  bool unmarked_numbers_are_constants_ = false;
  std::unordered_set<std::string> constants_ = {};
  std::unordered_map<const ModelTensor*, bool> is_mask_ = {};  // cached results, because the test reads every element
  // Constants that became parameters, by a hash of their elements.
  std::unordered_map<size_t, std::vector<Index>> same_ = {};
  std::deque<Entry> entries_ = {};  // a deque, so that references stay valid
  std::deque<Dims> initializer_dims_ = {};  // by index, for entries with an initializer
  std::unordered_map<std::string, Index> by_name_ = {};
  std::unordered_set<std::string> value_names_ = {};
  std::vector<Index> materialised_ = {};
  int64_t materialised_bytes_ = 0;
};

}  // namespace plimsoll
