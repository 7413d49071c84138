#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ops/op.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Whether tf2onnx wrote a recurrent layer of Keras as this loop.
bool is_loop_of_keras(const ModelNode& node);

// Collects everything in a model that Plimsoll does not support, to report it at once: operators with the number of
// their nodes and the names of the first ones, then the unsupported features of single nodes.
class Unsupported {
 public:
  static constexpr size_t kMessagesShown = 50;

  // `op`: a supported operator that the model's opset excludes. `advice`: what to do about this node, or empty.
  void add_operator(const ModelNode& node, const Op* op, std::string advice = {});
  bool takes_advice() const { return advice_.size() < kMessagesShown; }  // more than that is not shown
  void add_message(std::string message) { messages_.push_back(std::move(message)); }
  Status status(int64_t opset) const;

 private:
  struct Group {
    std::string title = {};
    int nodes = 0;
    std::string first = {};
  };
  std::vector<Group> groups_ = {};
  std::map<std::string, size_t> group_of_ = {};
  std::vector<std::string> messages_ = {};
  std::vector<std::string> advice_ = {};
  bool by_onnxruntime_ = false;  // one of the operators is one that onnxruntime's optimizer writes
  bool has_backward_pass_ = false;  // one is an operator of onnxruntime's training graphs
  bool in_blocks_ = false;       // one reads weights in an order that onnxruntime has chosen for a processor
  bool of_tensorflow_ = false;   // one is an operator of TensorFlow that tf2onnx has not converted
  bool loop_of_keras_ = false;   // one is a loop in which tf2onnx writes a recurrent layer
  bool quantized_ = false;       // one computes in 8 bits, or converts from or to them
  bool classical_ = false;       // one is of ai.onnx.ml
};

}  // namespace plimsoll
