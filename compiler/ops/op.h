// What Plimsoll knows about an operator. Its whole definition is one file, compiler/ops/<op>.cpp, which ends with its
// table:
//
//   const Op op_Relu{.name = "Relu", .infer = …, .forward = …, .backward = …, .layout = …, .samples = …};
//
// ops.def has a line for each operator. A missing file is a link error that names it.
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
#include "compiler/ops/progression.h"
#include "compiler/ops/slot.h"
#include "compiler/ops/task_builder.h"

namespace plimsoll {

// How an operator handles activations whose layout is not plain (network/layout.h assigns the layouts).
enum class LayoutRule {
  plain,        // every operand is plain
  elementwise,  // any layout, the same for all four-dimensional operands: the operator sees memory as a flat array
  channels,     // any layout, the same for data inputs and outputs; knows the channel axis (pools, batch normalization)
  blocks,       // the same, but not channels last
  any,          // each operand may be blocked or not (convolution); channels last applies to all operands or none
};

// How inputs relate if an exporter hard-coded the number of samples of its example (network/simplify/node_inputs.h).
enum class SamplesRule {
  apart,       // each input on its own
  broadcast,   // one sample of an input is broadcast to all samples of another
  beside,      // inputs have equally many samples; an input with one sample is repeated
  first_input  // input 0 is multiplied by weights, or written or read by indices, sample by sample
};

// In which precision an operator's results are stored, if the precision is bf16, or likewise fp16
// (network/precision.h). Every kernel computes in f32, whatever its operands' type; products multiply in bf16 and add
// in f32.
enum class PrecisionRule {
  follows,   // bf16 if a real input is
  products,  // bf16; the inputs of Op::factors are cast to it
  rows,      // bf16: rows of a table, which stays f32 if it is trained
  single,    // f32: losses, sums over samples, functions that enlarge relative errors
};

// Where the elements of the outputs come from, for analyses that follow a value through the nodes of a model.
enum class Elements {
  computed,
  tested,    // booleans
  shown,     // those of input 0, in another shape or type: nodes that read the output read input 0, or a part of it
  joined,    // those of all inputs, one after another
  selected,  // those of an input, selected by other inputs, repeated, or with padding
};

// What is known of the result of Op::evaluate if inputs contain sample numbers (arange(N)). It is evaluated for one
// sample and for two (network/simplify/fold_alike.h).
enum class SampleNumbers {
  unknown,     // nothing: the result could depend on the number of samples in any way
  kept,        // all: the operator moves the numbers, adds to them, or selects by them
  only_shape,  // only the shape: the elements compare sample numbers with others
};

// What axis 1 of the first output is, seen from the first activation that the node reads (network/class_axis.h).
enum class AxesRule {
  kept,       // the same axis, if the ranks and the first two dimensions are equal
  regrouped,  // the same axis, if the first two dimensions and the number of elements are equal
  changed,    // not known to be the same
  channels,   // the channels that this node makes
};

// A small instance of an operator, for the tests that iterate over the registry: gradients against finite differences,
// every backend against the host, in-place and recomputation claims. A constant without dimensions and elements
// represents an omitted optional input.
struct SampleInput {
  Dims dims = {};
  ValueKind kind = ValueKind::intermediate;  // intermediate (differentiated), parameter, statistic or constant
  std::vector<double> constant = {};         // of a constant; integral if `type` is i64
  DataType type = DataType::f32;
  double low = -1, high = 1;                 // random data is drawn from [low, high); integers for integer types
  bool frozen = false;                       // of a parameter: not differentiated
};

struct Sample {
  std::string name = {};
  std::vector<SampleInput> inputs = {};
  std::map<std::string, NodeAttribute> attributes = {};
  NodeMarks marks = {};
  int opset = 20;
  int outputs = 1;
  bool check_gradient = true;  // false if a kink or a random mask makes finite differences meaningless
};

// An output whose elements are moved from the first input: along axis i of the output, element k is element start[i] +
// step[i] · k along axis axis[i] of the input; elements outside the input are `fill`. Samples are not moved.
struct Moves {
  std::vector<int64_t> axis, start, step;
  double fill = 0;
};

// An output whose elements are first, first + step, … along one axis of the first input, `count` of them, and all along
// the other axes. Of one element, the axis may be left out.
struct AxisPart {
  size_t axis = 0;
  int64_t first = 0, step = 1, count = 0;
};

// The rows of an output, along its first dimension, as rows of inputs.
struct InputRows {
  size_t input = 0;
  int64_t first = 0, count = 0;
};
struct RowsOfInputs {
  std::vector<InputRows> rows = {};
  bool in_front = false;  // the output has a further dimension of 1 before that of the rows
};

// Opset 28 changes the meaning of operators that are read here.
inline constexpr int kNewestOpset = 27;

inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

struct Op {
  std::string_view name;
  int first_opset = 1;
  int last_opset = kNewestOpset;  // 0, like first_opset: Plimsoll's own operator, in no model
  bool of_onnx() const { return last_opset > 0; }

  // ONNX's declaration of the operator, which the importer checks before it creates the node.
  Slots inputs = {};
  size_t required_inputs = 1;  // this many leading inputs must be present before `infer` may read them
  size_t most_outputs = 1;  // in any supported opset; kAnyNumber: the node decides, outputs are identified by position
  std::string_view unmade_output = {};  // ONNX's second output, if the kernels produce something else in its place
  AttributeRules attributes = {};
  std::string_view element_type = {};         // the attribute that names the element type of the output
  SamplesRule samples_rule = SamplesRule::apart;
  FixedList<size_t, 4> without_gradient = {};  // inputs that receive no gradient
  bool flat = false;  // or no input receives one; a `backward` of zero_gradient implies this
  bool reads_shapes = false;                   // reads only the shapes of its inputs
  bool moves_only = false;                     // moves data without computing; works for any element type
  Elements elements = Elements::computed;
  size_t typed_by = 0;  // if `elements` come from inputs: the input with the outputs' type, unless element_type says it
  SampleNumbers sample_numbers = SampleNumbers::unknown;
  AxesRule axes = AxesRule::kept;
  // Whether the output is normalized along this axis and no other, as by a Softmax. nullptr: never.
  bool (*normalizes)(const NodeView& node, size_t axis) = nullptr;
  // The first output, computed from known inputs; nullopt if it is unknown, or depends on the batch in a way that
  // `times N` cannot express (N·N, N + 1). nullptr: never evaluated.
  Known (*evaluate)(const KnownCall& call) = nullptr;
  // The same for integers that are evenly spaced along each dimension, of which one is the samples'. `first` is input 0
  // (progression.h). nullopt: the output is not evenly spaced, or not known. nullptr: never evaluated.
  std::optional<Progression> (*evaluate_spaced)(const KnownCall& call, const Progression& first) = nullptr;

  // The dimensions of the first output, if input 0 is not known, but its dimensions are. For operators whose output may
  // have no elements, which `infer` refuses. nullopt: unknown.
  std::optional<Dims> (*evaluate_dims)(const KnownCall& call) = nullptr;
  // Which rows of which inputs the output consists of; their elements need not be known. nullopt: it consists of other
  // things. nullptr: unknown for this operator.
  std::optional<RowsOfInputs> (*rows)(const KnownCall& call) = nullptr;

  // The types of all outputs. Every error in the model and every unsupported case is reported here: forward and
  // backward cannot fail.
  Result<std::vector<TensorType>> (*infer)(const NodeView& node) = nullptr;
  void (*forward)(TaskBuilder& build) = nullptr;
  // Called if some output has a gradient and some input needs one. nullptr: no gradient passes.
  void (*backward)(TaskBuilder& build) = nullptr;
  // The input that may be a tensor of integers or booleans: labels, indices, a condition. All other inputs of a kernel
  // are f32; the code that creates nodes must ensure this.
  int whole_numbers = -1;
  // Every input and output may have any type; infer checks which combinations are valid.
  bool any_type = false;
  LayoutRule layout = LayoutRule::plain;
  LayoutRule (*layout_of)(const NodeView& node) = nullptr;  // overrides `layout` if the layout depends on the node
  // The preferred layout of input `i`, a parameter, if activations have layout `images`. nullptr: plain.
  Layout (*weight_layout)(const NodeView& node, size_t i, Layout images) = nullptr;
  // The input that the node's kernels add to their result; it has the result's type. It comes after the inputs of the
  // model, and only network/fuse_additions.h sets it. -1: none.
  int addend = -1;
  // Marks other than the activation that passes may set on its nodes. `padding_index` stands for any number, `factors`
  // for any narrow type.
  NodeMarks marks = {};
  // Whether the node has kernels that apply this activation to their result, enabled by NodeMarks::activation.
  bool (*absorbs)(const NodeView& node, FusedActivation activation) = nullptr;
  // Whether the outputs are sums (or means) over samples if the inputs have samples and the outputs have none. If the
  // batch is split into rounds, such sums are accumulated over the rounds (used by training/whole_batch.h).
  bool sums_samples = false;
  // Whether the outputs are such sums if some inputs already are (`sums` says which) and no other input has samples.
  // nullptr: never.
  bool (*adds_up)(const NodeView& node, const std::vector<bool>& sums) = nullptr;
  // For a node that sums over samples: whether the sum nevertheless needs all samples at once. nullptr: never.
  bool (*wants_all_samples)(const NodeView& node) = nullptr;
  // How the output's elements are moved from the first input. nullptr or nullopt: not known to be a move.
  std::optional<Moves> (*moves)(const NodeView& node) = nullptr;
  // Which part of the first input the output is. nullptr or nullopt: not known to be a part along one axis.
  std::optional<AxisPart> (*part)(const NodeView& node) = nullptr;
  int scores = 0;  // of a loss: the input that holds the model's scores; -1: they are no tensor
  PrecisionRule precision = PrecisionRule::follows;
  // For PrecisionRule::products, and where marks.factors may be set: the inputs that are multiplied.
  FixedList<size_t, 3> factors = {};
  std::vector<Sample> (*samples)() = nullptr;
};

// For Op::adds_up: the output is linear in the first input, or in all inputs together.
inline bool adds_up_first(const NodeView&, const std::vector<bool>& sums) { return sums[0]; }
inline bool adds_up_all(const NodeView&, const std::vector<bool>& sums) {
  return std::find(sums.begin(), sums.end(), false) == sums.end();
}

// Declared here because a constant has internal linkage by default.
#define OP(name) extern const Op op_##name;
#include "compiler/ops/ops.def"
#undef OP

// nullptr: unknown.
const Op* find_op(std::string_view name);
std::span<const Op* const> all_ops();

// ONNX operators without kernels: they are folded, or rewritten as other operators (rewritten.cpp). Their tables have
// no `infer`.
std::span<const Op> rewritten_ops();

// Of either kind; nullptr: neither supported nor rewritten.
const Op* find_onnx_op(std::string_view name);

Slot slot_of(const Op& op, size_t input);
// For any name of a model's operator; Slot::data if it is unknown.
Slot slot_of(std::string_view op, size_t input);

// In any opset.
bool has_attribute(const Op& op, std::string_view name);

// False if the gradient of input `input` is absent or zero for every choice of attributes.
bool has_slope(const Op& op, size_t input);

}  // namespace plimsoll
