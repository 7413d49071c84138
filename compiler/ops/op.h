// What Plimsoll knows of an operator. Its whole meaning is one file, compiler/ops/<op>.cpp, that ends with its table:
//
//   const Op op_Relu{.name = "Relu", .infer = …, .forward = …, .backward = …, .layout = …, .samples = …};
//
// ops.def has a line for each; the linker names a file that was forgotten.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/ops/attribute_rule.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/slot.h"
#include "compiler/ops/task_builder.h"

namespace plimsoll {

// How an operator gets along with activations that are not plain (network/layout.h decides who gets which).
enum class LayoutRule {
  plain,        // every operand plain
  elementwise,  // any layout, one for all four-dimensional operands: the memory is a flat array to it
  channels,     // any layout, one for data inputs and outputs; knows where the channel is (pools, batch normalization)
  any,          // each operand may be blocked or not for itself (convolution); channels last they are all, or none
};

// How inputs get along whose number of samples an exporter wrote down for its example (network/simplify/node_inputs.h).
enum class SamplesRule {
  apart,       // each input by itself
  broadcast,   // one sample of an input serves all samples of another
  beside,      // inputs have equally many: one that is there once is repeated
  first_input  // input 0 goes through weights sample by sample
};

// A small instance of an operator, for the tests that walk the registry: gradients against finite differences, every
// backend against the host, the in-place and run-again claims.
// A constant without dimensions and elements stands for an optional input that is left out.
struct SampleInput {
  Dims dims = {};
  ValueKind kind = ValueKind::intermediate;  // intermediate (differentiated), parameter, statistic or constant
  std::vector<double> constant = {};         // of constants; integral when `type` is i64
  DataType type = DataType::f32;
  double low = -1, high = 1;                 // random data is drawn from [low, high); whole numbers of integer types
};

struct Sample {
  std::string name = {};
  std::vector<SampleInput> inputs = {};
  std::map<std::string, NodeAttribute> attributes = {};
  NodeMarks marks = {};
  int opset = 20;
  int outputs = 1;
  bool check_gradient = true;  // false where a kink or a random mask makes finite differences meaningless
};

// An output that is elements of the first input, moved: along axis i of the output, element k is element start[i] + step[i] · k along
// axis axis[i] of the input; what lies outside is `fill`. Samples stay where they are.
struct Moves {
  std::vector<int64_t> axis, start, step;
  double fill = 0;
};

// Opset 28 changes what operators mean that are read here.
inline constexpr int kNewestOpset = 27;

inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

struct Op {
  std::string_view name;
  int first_opset = 1;
  int last_opset = kNewestOpset;  // 0, as the first: Plimsoll's own, in no model
  bool of_onnx() const { return last_opset > 0; }

  // What ONNX says of it, which an importer asks before the node is made.
  Slots inputs = {};
  size_t required_inputs = 1;  // the first so many must be there before `infer` may look at them
  size_t most_outputs = 1;     // in any opset that is read; kAnyNumber: as many as the node has, told by their places
  std::string_view unmade_output = {};  // what ONNX's second output is, where kernels make another thing there
  AttributeRules attributes = {};
  std::string_view element_type = {};         // the attribute that names the type of the elements that it makes
  SamplesRule samples_rule = SamplesRule::apart;
  FixedList<size_t, 4> without_gradient = {};  // inputs through which none flows
  bool flat = false;                           // or through no input; a `backward` of zero_gradient says so, too
  bool reads_shapes = false;                   // of its inputs, and nothing else
  bool moves_only = false;                     // nothing is computed: what is made is what was read, of any type
  // The first output, of inputs that are known; nullopt where it is not known, or depends on the batch in a way that `times N` cannot
  // express (N·N, N + 1). nullptr: never.
  Known (*evaluate)(const KnownCall& call) = nullptr;

  // Types of all outputs. Every error of the model or of what we support is found here: forward and backward cannot fail.
  Result<std::vector<TensorType>> (*infer)(const NodeView& node) = nullptr;
  void (*forward)(TaskBuilder& build) = nullptr;
  // Called when some output has a gradient and some input wants one. nullptr: no gradient passes.
  void (*backward)(TaskBuilder& build) = nullptr;
  // The input that may lie in the arena as whole numbers or booleans: labels, indices, a condition. What a kernel reads else is f32,
  // and whoever makes nodes sees to it.
  int whole_numbers = -1;
  // Every input and output may be of any type, and infer says which go together.
  bool any_type = false;
  LayoutRule layout = LayoutRule::plain;
  LayoutRule (*layout_of)(const NodeView& node) = nullptr;  // instead of `layout`, where it depends on the node
  // How input `i`, a parameter, had best lie beside activations in `images`. nullptr: plain.
  Layout (*weight_layout)(const NodeView& node, size_t i, Layout images) = nullptr;
  // The input that the node's kernels add to their result, a tensor like that: behind those that a model gives it, and only ever given
  // by network/fuse_additions.h. -1: there is none.
  int addend = -1;
  // Marks that passes may give its nodes, beside that of a Relu. `padding_index` is any number.
  NodeMarks marks = {};
  // True when the node has kernels that end in a Relu, switched on by NodeMarks::relu (fused_relu.h).
  bool (*absorbs_relu)(const NodeView& node) = nullptr;
  // Whether an output that depends on samples by a sum over them alone (or a mean) is what this makes: of a batch that goes through in
  // rounds, the rounds' shares then add up (training/whole_batch.h, which asks). Where the inputs have samples and the outputs none:
  bool sums_samples = false;
  // and where inputs are such sums already, `sums` telling which, and no other input has samples. nullptr: it never is.
  bool (*adds_up)(const NodeView& node, const std::vector<bool>& sums) = nullptr;
  // Of a node that sums samples all the same: whether the sum wants all of them at once. nullptr: it never does.
  bool (*wants_all_samples)(const NodeView& node) = nullptr;
  // Where the output is elements of the first input. nullptr, nothing: not known to be.
  std::optional<Moves> (*moves)(const NodeView& node) = nullptr;
  std::vector<Sample> (*samples)() = nullptr;
};

// For Op::adds_up: twice as much of the first input, or of all of them, is twice as much of the output.
inline bool adds_up_first(const NodeView&, const std::vector<bool>& sums) { return sums[0]; }
inline bool adds_up_all(const NodeView&, const std::vector<bool>& sums) {
  return std::find(sums.begin(), sums.end(), false) == sums.end();
}

// Declared here, for a constant would otherwise stay within its file.
#define OP(name) extern const Op op_##name;
#include "compiler/ops/ops.def"
#undef OP

// nullptr: unknown.
const Op* find_op(std::string_view name);
std::span<const Op* const> all_ops();

// Operators of ONNX that have no kernels: they are folded, or spelled out by others (rewritten.cpp). Their tables have no `infer`.
std::span<const Op> rewritten_ops();

// Of either kind; nullptr: neither read nor rewritten.
const Op* find_onnx_op(std::string_view name);

// Of any operator; data where it is unknown.
Slot slot_of(std::string_view op, size_t input);

// False where the gradient of input `input` is none or zero, whatever the attributes.
bool has_slope(const Op& op, size_t input);

}  // namespace plimsoll
