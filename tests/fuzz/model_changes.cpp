#include "tests/fuzz/model_changes.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/ops/op.h"

namespace plimsoll::fuzz {
namespace {

using Random = std::minstd_rand;

size_t below(Random& random, size_t count) { return count == 0 ? 0 : random() % count; }

// Numbers at which shapes and indices break.
int64_t odd_number(Random& random) {
  constexpr std::array<int64_t, 16> kNumbers = {0,
                                                1,
                                                -1,
                                                2,
                                                3,
                                                -2,
                                                4,
                                                7,
                                                8,
                                                16,
                                                255,
                                                65536,
                                                int64_t{1} << 31,
                                                int64_t{1} << 62,
                                                std::numeric_limits<int64_t>::max(),
                                                std::numeric_limits<int64_t>::min()};
  return kNumbers[below(random, below(random, 3) == 0 ? kNumbers.size() : 10)];
}

float odd_real(Random& random) {
  constexpr std::array<float, 8> kReals = {
      0, 1, -1, 0.5F, 1e-30F, 3e38F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  return kReals[below(random, kReals.size())];
}

const std::vector<std::string>& operators() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Op* op : all_ops()) all.emplace_back(op->name);
    for (const std::string_view name : folded_operators()) all.emplace_back(name);
    for (const std::string_view name : spelled_operators()) all.emplace_back(name);
    return all;
  }();
  return names;
}

std::string any_name(const onnx::GraphProto& graph, Random& random) {
  switch (below(random, 3)) {
    case 0:
      if (graph.initializer_size() > 0)
        return graph.initializer(static_cast<int>(below(random, graph.initializer_size()))).name();
      [[fallthrough]];
    case 1:
      if (graph.node_size() > 0) {
        const onnx::NodeProto& node = graph.node(static_cast<int>(below(random, graph.node_size())));
        if (node.output_size() > 0) return node.output(static_cast<int>(below(random, node.output_size())));
      }
      [[fallthrough]];
    default:
      return graph.input_size() > 0 ? graph.input(static_cast<int>(below(random, graph.input_size()))).name() : "";
  }
}

void change_attribute(onnx::AttributeProto& attribute, Random& random) {
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      attribute.set_i(odd_number(random));
      break;
    case onnx::AttributeProto::FLOAT:
      attribute.set_f(odd_real(random));
      break;
    case onnx::AttributeProto::INTS:
      if (attribute.ints_size() > 0 && below(random, 3) > 0)
        attribute.set_ints(static_cast<int>(below(random, attribute.ints_size())), odd_number(random));
      else if (below(random, 2) == 0)
        attribute.add_ints(odd_number(random));
      else
        attribute.clear_ints();
      break;
    case onnx::AttributeProto::STRING:
      attribute.set_s(below(random, 2) == 0 ? "" : "SAME_UPPER");
      break;
    default:
      attribute.set_type(onnx::AttributeProto::INT);
  }
}

void change_node(onnx::GraphProto& graph, onnx::NodeProto& node, Random& random) {
  switch (below(random, 8)) {
    case 0:
      node.set_op_type(operators()[below(random, operators().size())]);
      break;
    case 1:
    case 2:
      if (node.input_size() > 0)
        node.set_input(static_cast<int>(below(random, node.input_size())), any_name(graph, random));
      break;
    case 3:
      node.add_input(below(random, 2) == 0 ? "" : any_name(graph, random));
      break;
    case 4:
      if (node.input_size() > 0) node.mutable_input()->RemoveLast();
      break;
    case 5:
      if (node.attribute_size() > 0)
        change_attribute(*node.mutable_attribute(static_cast<int>(below(random, node.attribute_size()))), random);
      break;
    case 6:
      if (node.attribute_size() > 0)
        node.mutable_attribute()->DeleteSubrange(static_cast<int>(below(random, node.attribute_size())), 1);
      break;
    default:
      node.add_output("another" + std::to_string(below(random, 4)));
  }
}

void change_tensor(onnx::TensorProto& tensor, Random& random) {
  switch (below(random, 4)) {
    case 0:
      if (tensor.dims_size() > 0)
        tensor.set_dims(static_cast<int>(below(random, tensor.dims_size())), odd_number(random));
      break;
    case 1:
      tensor.add_dims(1);
      break;
    case 2:
      tensor.set_data_type(static_cast<int>(1 + below(random, 16)));
      break;
    default:
      if (tensor.data_type() == onnx::TensorProto::INT64 && tensor.raw_data().size() >= sizeof(int64_t)) {
        const int64_t number = odd_number(random);
        const size_t at = below(random, tensor.raw_data().size() / sizeof number) * sizeof number;
        tensor.mutable_raw_data()->replace(at, sizeof number, reinterpret_cast<const char*>(&number), sizeof number);
      } else if (!tensor.raw_data().empty()) {
        (*tensor.mutable_raw_data())[below(random, tensor.raw_data().size())] = static_cast<char>(random());
      }
  }
}

void change_input(onnx::ValueInfoProto& input, Random& random) {
  onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
  if (below(random, 4) == 0)
    type.set_elem_type(static_cast<int>(1 + below(random, 16)));
  else if (below(random, 4) == 0)
    type.mutable_shape()->add_dim()->set_dim_value(odd_number(random));
  else if (type.shape().dim_size() > 0)
    type.mutable_shape()
        ->mutable_dim(static_cast<int>(below(random, type.shape().dim_size())))
        ->set_dim_value(odd_number(random));
}

}  // namespace

void change(onnx::ModelProto& model, Random& random) {
  onnx::GraphProto& graph = *model.mutable_graph();
  const auto any_node = [&] { return static_cast<int>(below(random, graph.node_size())); };
  const size_t kind = below(random, 16);
  if (kind < 9 && graph.node_size() > 0) {
    change_node(graph, *graph.mutable_node(any_node()), random);
  } else if (kind < 12 && graph.initializer_size() > 0) {
    change_tensor(*graph.mutable_initializer(static_cast<int>(below(random, graph.initializer_size()))), random);
  } else if (kind == 12 && graph.input_size() > 0) {
    change_input(*graph.mutable_input(static_cast<int>(below(random, graph.input_size()))), random);
  } else if (kind == 13 && graph.node_size() > 1) {
    graph.mutable_node()->DeleteSubrange(any_node(), 1);
  } else if (kind == 14 && graph.node_size() > 0) {
    const onnx::NodeProto copy = graph.node(any_node());
    *graph.add_node() = copy;
  } else if (model.opset_import_size() > 0) {
    model.mutable_opset_import(0)->set_version(static_cast<int64_t>(7 + below(random, 20)));
  }
}

}  // namespace plimsoll::fuzz
