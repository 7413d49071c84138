#include "compiler/network/simplify/spellings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "compiler/network/simplify/fx_node.h"
#include "compiler/network/simplify/spelling_writer.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

using spelling::Ints;
using spelling::Nodes;
using spelling::Writer;

// For one dimension: adds a leading dimension of 1.
Result<Nodes> widen(Writer& w) {
  if (w.x().size() != 3) return Nodes{};
  std::vector<std::string> inputs = {w.write("Unsqueeze", {w.input(0)}, "axes", {2})};
  const bool weighted = w.node().op.starts_with("Conv");
  if (weighted) {
    if (!w.dims(1) || w.dims(1)->size() != 3) return w.invalid("its input has three dimensions and its weight has not");
    inputs.push_back(w.write("Unsqueeze", {w.input(1)}, "axes", {2}));
    if (!w.input(2).empty()) inputs.push_back(w.input(2));
  }
  const std::string wide = w.write(w.node().op.c_str(), inputs);
  const std::map<std::string, int64_t> in_front = {
      {"kernel_shape", 1}, {"strides", 1}, {"dilations", 1}, {"output_shape", 1}, {"output_padding", 0}};
  for (const ModelAttribute& attribute : w.node().attributes) {
    const Ints& items = attribute.integers();
    if (const auto found = in_front.find(attribute.name); found != in_front.end()) {
      if (items.size() != 1)
        return w.invalid(fmt::format("{} has {}, expected 1", attribute.name,
                                     counted(static_cast<int64_t>(items.size()), "number")));
      w.set(attribute.name, {found->second, items[0]});
    } else if (attribute.name == "pads") {
      if (items.size() != 2)
        return w.invalid(fmt::format("pads has {}, expected 2", counted(static_cast<int64_t>(items.size()), "number")));
      w.set("pads", {0, items[0], 0, items[1]});
    } else {
      w.take_over(attribute);
    }
  }
  w.write("Squeeze", {wide}, "axes", {2});
  return w.finish();
}

Result<Nodes> spell_conv_transpose(Writer& w) {
  PLIMSOLL_ASSIGN(Nodes padded, spelling::output_padding(w));
  return padded.empty() ? widen(w) : padded;
}

// If the scale is 1 and the bias is 0 everywhere (PyTorch writes a GroupNorm like this, between two Reshapes):
// LayerNormalization without either. Any other InstanceNormalization is kept as it is.
Result<Nodes> spell_instance_normalization(Writer& w) {
  if (w.x().size() < 3 || !w.is_all(1, 1) || !w.is_all(2, 0)) return Nodes{};
  for (size_t i = 1; i < 3; ++i)
    if (*w.dims(i) != Dims{w.x()[1]}) return Nodes{};
  w.write("LayerNormalization", {w.input(0)});
  w.set_integer("axis", 2);
  w.set_real("epsilon", w.real("epsilon", 1e-5F));
  return w.finish();
}

// F.batch_norm without running statistics, as PyTorch's exporters write it: mean and variance are computed from x.
// Weight standardization is written this way, for a weight viewed as [1, channels, rest]: each channel is normalized
// separately.
Result<Nodes> spell_batch_normalization(Writer& w) {
  if (w.x().size() < 2 || !w.is_computed(3) || !w.is_computed(4)) return Nodes{};
  Ints behind_channels, all_but_channels = {0};
  for (int64_t axis = 2; axis < static_cast<int64_t>(w.x().size()); ++axis) {
    behind_channels.push_back(axis - 1);
    all_but_channels.push_back(axis);
  }
  const auto per_channel = [&](const std::string& x) {
    return behind_channels.empty() ? x : w.write("Unsqueeze", {x}, "axes", behind_channels);
  };
  const bool by_batch = w.integer("training_mode", 0) != 0;
  const float epsilon = w.real("epsilon", 1e-5F);
  std::string normal;
  if (by_batch && w.x().size() > 2 && !w.x()[0].batch && w.x()[0].value == 1) {
    normal = w.write("LayerNormalization", {w.input(0)});
    w.set_integer("axis", 2);
    w.set_real("epsilon", epsilon);
  } else {
    const auto mean_of = [&](const std::string& x) { return w.write("ReduceMean", {x}, "axes", all_but_channels); };
    const std::string mean = by_batch ? mean_of(w.input(0)) : per_channel(w.input(3));
    const std::string centred = w.write("Sub", {w.input(0), mean});
    const std::string variance = by_batch ? mean_of(w.write("Mul", {centred, centred})) : per_channel(w.input(4));
    normal = w.write("Div", {centred, w.write("Sqrt", {w.write("Add", {variance, w.number(epsilon)})})});
  }
  const std::string scaled = w.is_all(1, 1) ? normal : w.write("Mul", {normal, per_channel(w.input(1))});
  w.write("Add", {scaled, per_channel(w.input(2))});
  return w.finish();
}

Result<Nodes> spell_selu(Writer& w) {
  const std::string bent = w.write("Elu", {w.input(0)});
  w.set_real("alpha", w.real("alpha", 1.67326319217681884765625F));
  const std::string gamma = w.number(w.real("gamma", 1.05070102214813232421875F));
  w.write("Mul", {bent, gamma});
  return w.finish();
}

// Max, then Min: for integers (the length of a text, at least 1), and for bounds that are learned or computed.
Result<Nodes> spell_clip(Writer& w) {
  const bool whole = spelling::of_whole_numbers(w);
  const auto given = [&](size_t i) { return !w.input(i).empty(); };
  const auto by_tensor = [&](size_t i) { return given(i) && (whole || !w.known(i)); };
  if (!whole && !by_tensor(1) && !by_tensor(2)) return Nodes{};
  std::string clipped = w.input(0);
  if (by_tensor(1)) clipped = w.write("Max", {clipped, w.input(1)});
  else if (given(1)) clipped = w.write("Clip", {clipped, w.input(1)});
  if (by_tensor(2)) clipped = w.write("Min", {clipped, w.input(2)});
  else if (given(2)) clipped = w.write("Clip", {clipped, "", w.input(2)});
  if (clipped == w.input(0)) w.write("Identity", {clipped});
  return w.finish();
}

Result<Nodes> spell_global_max_pool(Writer& w) {
  if (w.x().size() < 3) return w.invalid("its input is " + to_string(w.x()) + ", expected [N, C, spatial…]");
  Ints window;
  for (size_t axis = 2; axis < w.x().size(); ++axis) window.push_back(w.x()[axis].value);
  const bool series = window.size() == 1;
  const std::string x = series ? w.write("Unsqueeze", {w.input(0)}, "axes", {2}) : w.input(0);
  if (series) window.insert(window.begin(), 1);
  const std::string y = w.write("MaxPool", {x}, "kernel_shape", window);
  if (series) w.write("Squeeze", {y}, "axes", {2});
  return w.finish();
}

// [N, C·b·b, H, W] ↔ [N, C, H·b, W·b]
Result<Nodes> spell_depth_and_space(Writer& w) {
  const bool to_space = w.node().op == "DepthToSpace";
  const int64_t block = w.integer("blocksize", 0), squared = block > 0 && block < 1 << 15 ? block * block : 0;
  if (w.x().size() != 4 || squared == 0) return w.invalid(fmt::format("blocks of {} in {}", block, to_string(w.x())));
  const int64_t channels = w.x()[1].value, height = w.x()[2].value, width = w.x()[3].value;
  if (to_space ? channels % squared != 0 : height % block != 0 || width % block != 0)
    return w.invalid(fmt::format("{} cannot be divided into blocks of {}", to_string(w.x()), block));
  const bool depth_first = w.text("mode", "DCR") == "DCR";
  Ints apart, order, together;
  if (to_space) {
    const int64_t fewer = channels / squared;
    apart = depth_first ? Ints{0, block, block, fewer, height, width} : Ints{0, fewer, block, block, height, width};
    order = depth_first ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3};
    together = {0, fewer, height * block, width * block};
  } else {
    apart = {0, channels, height / block, block, width / block, block};
    order = {0, 3, 5, 1, 2, 4};
    together = {0, channels * squared, height / block, width / block};
  }
  const std::string pieces = w.write("Reshape", {w.input(0)}, "shape", apart);
  const std::string moved = w.write("Transpose", {pieces}, "perm", order);
  w.write("Reshape", {moved}, "shape", together);
  return w.finish();
}

// "...ij,...jk->...ik" with a letter for each dimension that the dots stand for, if both operands have as many of them.
std::string without_dots(const Writer& w, const std::string& equation) {
  constexpr std::string_view kDots = "...", kLetters = "ABCDEFGH";
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow ||
      std::any_of(equation.begin(), equation.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    return equation;
  std::string terms[] = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1),
                         equation.substr(arrow + 2)};
  size_t count = 0;
  for (size_t i = 0; i < 2; ++i) {
    const Dims* dims = w.dims(i);
    const size_t letters = terms[i].size() - kDots.size();
    if (!dims || terms[i].find(kDots) == std::string::npos || letters > dims->size()) return equation;
    if (i == 1 && dims->size() - letters != count) return equation;
    count = dims->size() - letters;
  }
  if (count > kLetters.size()) return equation;
  for (std::string& term : terms)
    if (const size_t dots = term.find(kDots); dots != std::string::npos)
      term.replace(dots, kDots.size(), kLetters.substr(0, count));
  return fmt::format("{},{}->{}", terms[0], terms[1], terms[2]);
}

// "bij,bjk->bik": letters in both operands and the result are batch dimensions; letters in both operands only are
// summed over. One letter (or none) each for rows, columns and the sum is a matrix product. Here: the product of two or
// more matrices; every other equation is in spellings_einsum.cpp.
Result<Nodes> spell_einsum(Writer& w) {
  std::string equation;
  for (const char c : w.text("equation", ""))
    if (c != ' ') equation += c;
  equation = without_dots(w, equation);
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (w.node().inputs.size() != 2 || comma == std::string::npos || arrow == std::string::npos || comma > arrow ||
      equation.find('.') != std::string::npos)
    return spelling::einsum(w, equation);
  const std::string a = equation.substr(0, comma), b = equation.substr(comma + 1, arrow - comma - 1),
                    y = equation.substr(arrow + 2);
  if (!w.dims(1) || a.size() != w.dims(0)->size() || b.size() != w.dims(1)->size())
    return w.invalid(fmt::format("'{}' does not match its inputs", equation));
  const auto has = [](const std::string& letters, char c) { return letters.find(c) != std::string::npos; };
  std::string batch, summed, rows, columns;
  for (size_t i = 0; i < a.size(); ++i) {
    const char c = a[i];
    const bool stretched = has(b, c) && (*w.dims(0))[i] != (*w.dims(1))[b.find(c)];
    if (stretched || std::count(a.begin(), a.end(), c) != 1) return spelling::einsum(w, equation);
    if (has(y, c)) (has(b, c) ? batch : rows) += c;
    else if (has(b, c)) summed += c;
    else return spelling::einsum(w, equation);
  }
  for (const char c : b) {
    if (std::count(b.begin(), b.end(), c) != 1) return spelling::einsum(w, equation);
    if (has(a, c)) continue;
    if (!has(y, c)) return spelling::einsum(w, equation);
    columns += c;
  }
  if (rows.size() != 1 || columns.size() != 1 || summed.size() != 1) return spelling::einsum(w, equation);
  const auto arranged = [&](const std::string& name, const std::string& from, const std::string& to) {
    if (from == to) return name;
    Ints order;
    for (const char c : to) order.push_back(static_cast<int64_t>(from.find(c)));
    return w.write("Transpose", {name}, "perm", order);
  };
  const std::string left = arranged(w.input(0), a, batch + rows + summed),
                    right = arranged(w.input(1), b, batch + summed + columns);
  arranged(w.write("MatMul", {left, right}), batch + rows + columns, y);
  return w.finish();
}

// alpha · Elu(x / alpha)
Result<Nodes> spell_celu(Writer& w) {
  const float alpha = w.real("alpha", 1);
  if (!(alpha > 0)) return w.unsupported(fmt::format("alpha is {}; only alpha > 0 is supported", alpha));
  std::string x = w.input(0);
  if (alpha != 1) {
    const std::string divisor = w.number(alpha);
    x = w.write("Div", {x, divisor});
  }
  x = w.write("Elu", {x});
  if (alpha != 1) {
    const std::string factor = w.number(alpha);
    w.write("Mul", {x, factor});
  }
  return w.finish();
}

Result<Nodes> spell_tan(Writer& w) {
  const std::string sine = w.write("Sin", {w.input(0)}), cosine = w.write("Cos", {w.input(0)});
  w.write("Div", {sine, cosine});
  return w.finish();
}

// Max and Min of any number of operands; the operator takes two. Dynamo's exporter writes Tensor.clamp() by numbers as
// Max and Min: where x is equal to a bound, PyTorch's gradient is zero, as that of Clip. That of Max is shared.
Result<Nodes> spell_extreme(Writer& w) {
  const size_t count = w.node().inputs.size();
  for (size_t i = 0; i < count; ++i)
    if (w.input(i).empty()) return w.invalid(fmt::format("operand {} is missing", i));
  const KnownValue* bound = count == 2 ? w.known(1) : nullptr;
  const bool is_lower = w.node().op == "Max";
  if (bound && bound->real() && bound->elements() == 1 && is_clamp_by_number(w.node(), is_lower)) {
    const std::string number = w.number(static_cast<float>(bound->reals[0]));
    w.write("Clip", is_lower ? std::vector{w.input(0), number} : std::vector{w.input(0), std::string(), number});
    return w.finish();
  }
  if (count == 2) return spelling::number_of_more_axes(w);
  if (count == 1) w.write("Identity", {w.input(0)});
  std::string so_far = w.input(0);
  for (size_t i = 1; i < count; ++i) so_far = w.write(w.node().op.c_str(), {so_far, w.input(i)});
  return w.finish();
}

// The sum of x over the axes of the node, given as an attribute or an input.
std::string write_sum(Writer& w, const std::string& x) {
  std::vector<std::string> summed = {x};
  if (!w.input(1).empty()) summed.push_back(w.input(1));
  const std::string sum = w.write("ReduceSum", summed);
  for (const ModelAttribute& attribute : w.node().attributes) w.take_over(attribute);
  return sum;
}

Result<Nodes> spell_reduce_l1(Writer& w) {
  write_sum(w, w.write("Abs", {w.input(0)}));
  return w.finish();
}

Result<Nodes> spell_reduce_log_sum(Writer& w) {
  w.write("Log", {write_sum(w, w.input(0))});
  return w.finish();
}

// √ Σ x² with PyTorch's gradient at zero, which is 0. The bound is the smallest normal number: below it the gradient of
// √ would divide by zero.
Result<Nodes> spell_reduce_l2(Writer& w) {
  const bool root = w.node().op == "ReduceL2";
  const std::string sum = write_sum(w, w.write("Mul", {w.input(0), w.input(0)}));
  if (!root) return w.finish();
  const std::string least = w.number(std::numeric_limits<float>::min());
  w.write("Sqrt", {w.write("Clip", {sum, least})});
  return w.finish();
}

using SpellingRule = Result<Nodes> (*)(Writer&);

const std::map<std::string_view, SpellingRule>& spelling_rules() {
  static const std::map<std::string_view, SpellingRule> table = {
      {"Add", spelling::number_of_more_axes},
      {"AffineGrid", spelling::affine_grid},
      {"Attention", spelling::attention},
      {"AveragePool", widen},
      {"BatchNormalization", spell_batch_normalization},
      {"Celu", spell_celu},
      {"Clip", spell_clip},
      {"Col2Im", spelling::col2im},
      {"Conv", widen},
      {"ConvTranspose", spell_conv_transpose},
      {"DFT", spelling::fourier_transform},
      {"STFT", spelling::fourier_transforms_of_frames},
      {"DepthToSpace", spell_depth_and_space},
      {"Div", spelling::number_of_more_axes},
      {"Einsum", spell_einsum},
      {"Gather", spelling::gather},
      {"CastLike", spelling::cast_like},
      {"Resize", spelling::resize},
      {"RandomNormalLike", spelling::random_like},
      {"RandomUniformLike", spelling::random_like},
      {"GatherND", spelling::gather_nd},
      {"GRU", spelling::recurrent},
      {"GlobalMaxPool", spell_global_max_pool},
      {"InstanceNormalization", spell_instance_normalization},
      {"IsInf", spelling::is_infinite},
      {"IsNaN", spelling::is_nan},
      {"LSTM", spelling::recurrent},
      {"Max", spell_extreme},
      {"MaxPool", widen},
      {"Min", spell_extreme},
      {"Mod", spelling::remainder},
      {"Mul", spelling::number_of_more_axes},
      {"Pow", spelling::number_of_more_axes},
      {"Pad", spelling::pad},
      {"RNN", spelling::recurrent},
      {"ReduceL1", spell_reduce_l1},
      {"ReduceL2", spell_reduce_l2},
      {"ReduceLogSum", spell_reduce_log_sum},
      {"ReduceMax", spelling::reduce_extreme},
      {"ReduceMin", spelling::reduce_extreme},
      {"ReduceSumSquare", spell_reduce_l2},
      {"ReduceSum", spelling::reduce_sum},
      {"RotaryEmbedding", spelling::rotary_embedding},
      {"ScatterND", spelling::scatter_nd},
      {"Selu", spell_selu},
      {"SoftmaxCrossEntropyLoss", spelling::class_loss_of_probabilities},
      {"SpaceToDepth", spell_depth_and_space},
      {"Sub", spelling::number_of_more_axes},
      {"Tan", spell_tan},
      {"TensorScatter", spelling::tensor_scatter},
      {"Tile", spelling::tile},
      {"Trilu", spelling::triangle},
      {"Upsample", spelling::upsample},
  };
  return table;
}

}  // namespace

Result<Nodes> spell_out(const Spelling& spelling) {
  Writer writer(spelling);
  return spelling_rules().at(spelling.node.op)(writer);
}

bool has_spelling(std::string_view op) { return spelling_rules().contains(op); }

std::vector<std::string_view> spelled_operators() {
  std::vector<std::string_view> names;
  for (const auto& [name, rule] : spelling_rules()) names.push_back(name);
  return names;
}

}  // namespace plimsoll
