#include "compiler/network/simplify/operator_advice.h"

#include <algorithm>

#include "compiler/network/simplify/unsupported.h"

namespace plimsoll {
namespace {

constexpr std::string_view kSelectsByData =
    "the number of elements that a mask selects, as in scores[mask], depends on data, and a plan has fixed sizes: keep "
    "all elements, and give those that do not count a label that the loss ignores (-100), or the factor 0 in the loss";

constexpr std::string_view kUnique =
    "the number of different values (Unique) depends on data, and a plan has fixed sizes: count them outside of the "
    "model, or count integers below k with F.one_hot(x, k).sum(…)";

constexpr std::string_view kMoved =
    "the compiler has no deformable convolution (DeformConv): sample each position of the kernel with F.grid_sample, "
    "and add up a 1 x 1 convolution of each";

constexpr std::string_view kLoop =
    "the compiler does not unroll loops (Loop, Scan), because a plan has a fixed list of tasks: export the steps one "
    "by one. PyTorch's exporters do so for a Python loop over a fixed number of steps, outside of torch.jit.script. "
    "Export with fixed sizes, and without torch.while_loop and scan";

constexpr std::string_view kDet =
    "the compiler has no determinant (Det): export with plimsoll.export, which writes that of a small matrix by its "
    "elements, or write it as in m[:, 0, 0] * m[:, 1, 1] - m[:, 0, 1] * m[:, 1, 0]";

constexpr std::string_view kMaxUnpool =
    "the compiler has no MaxUnpool: upsample with F.interpolate or nn.ConvTranspose2d instead of nn.MaxUnpool2d";

constexpr std::string_view kBoxes =
    "the number of boxes that NonMaxSuppression keeps depends on data, and no gradient flows through it: export the "
    "outputs that the loss reads, or choose one of them with --output";

constexpr std::string_view kRegions =
    "the compiler has no RoiAlign and no MaxRoiPool: sample each region with F.grid_sample and a grid of its own";

constexpr std::string_view kDraws =
    "the compiler has no Multinomial: plimsoll.export writes torch.multinomial by other operators; or draw the "
    "classes, which have no gradient, outside of the model and give them as an input";

constexpr std::string_view kBits =
    "the compiler has no bitwise operators: use logical_and, logical_or, logical_xor and logical_not of booleans";

constexpr std::string_view kSequences =
    "the compiler does not hold lists of tensors whose length depends on data: fill the list in Python code outside of "
    "torch.jit.script, and join it with torch.stack or torch.cat";

constexpr std::string_view kTexts =
    "the compiler does not process strings: let the program that writes the data convert them to numbers";

struct OperatorAdvice {
  std::string_view op = {};
  std::string_view text = {};
};

constexpr OperatorAdvice kOperatorAdvice[] = {
    {"NonZero", kSelectsByData},
    {"Compress", kSelectsByData},
    {"Unique", kUnique},
    {"DeformConv", kMoved},
    {"Loop", kLoop},
    {"Scan", kLoop},
    {"Det", kDet},
    {"MaxUnpool", kMaxUnpool},
    {"NonMaxSuppression", kBoxes},
    {"RoiAlign", kRegions},
    {"MaxRoiPool", kRegions},
    {"Multinomial", kDraws},
    {"BitShift", kBits},
    {"BitwiseAnd", kBits},
    {"BitwiseNot", kBits},
    {"BitwiseOr", kBits},
    {"BitwiseXor", kBits},
    {"SequenceEmpty", kSequences},
    {"SequenceConstruct", kSequences},
    {"SequenceInsert", kSequences},
    {"SequenceErase", kSequences},
    {"SequenceLength", kSequences},
    {"SequenceAt", kSequences},
    {"ConcatFromSequence", kSequences},
    {"RegexFullMatch", kTexts},
    {"StringConcat", kTexts},
    {"StringNormalizer", kTexts},
    {"StringSplit", kTexts},
    {"TfIdfVectorizer", kTexts},
};

}  // namespace

std::string_view advice_on_operator(const ModelNode& node) {
  if (!is_of_onnx(node) || is_loop_of_keras(node)) return {};
  const auto* const found = std::ranges::find(kOperatorAdvice, std::string_view(node.op), &OperatorAdvice::op);
  return found == std::end(kOperatorAdvice) ? std::string_view() : found->text;
}

}  // namespace plimsoll
