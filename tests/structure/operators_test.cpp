// An operator's meaning is in its own file under compiler/ops. Everything else asks the operator's table, so that a new
// operator needs no other edit. The exceptions below are about certain operators by nature.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kOpsRoot = PLIMSOLL_SOURCE_DIR;

// Files that may name operators, and why. The name of a folder or of a file without its extension; a * at the end
// stands for any rest.
const std::map<std::string, std::string> kMayName = {
    {"import/export", "writes what a trained model computes in evaluation: no dropout, running statistics"},
    {"network/attention", "a pattern: spelled-out attention"},
    {"network/class_axis", "a Transpose after the scores moves the axis of the classes"},
    {"network/composites", "a table of patterns"},
    {"network/pattern", "matches patterns; Add and Mul take their operands in either order"},
    {"network/fuse", "a pattern: a Relu after another node"},
    {"network/fuse_additions", "a pattern: an addition after another node"},
    {"network/evaluated_dropout", "about Dropout and the modes that a file states for it"},
    {"network/frozen_statistics", "about BatchNormalization"},
    {"network/merged_turns", "a pattern: two transpositions in one"},
    {"network/modes", "about BatchNormalization"},
    {"network/linear_cross_entropy", "a pattern: a product before the loss"},
    {"network/loss", "makes the losses that the user names"},
    {"network/output_form", "a pattern: an activation before the loss, and what turns its result"},
    {"network/own_loss", "a pattern: the loss as the last node of a model"},
    {"network/row_order", "a Reshape and a Flatten keep the elements in one sequence"},
    {"network/standardized_weights", "a pattern: the normalization of a weight"},
    {"network/unexpanded", "a pattern: an Expand before what broadcasts"},
    {"network/two_classes", "a pattern: the probabilities of two classes from one score"},
    {"network/simplify/builder", "Constant, and operators without kernels that it takes apart: sequences, Pad"},
    {"network/simplify/exporter_numbers", "the names that exporters give to Constant nodes"},
    {"network/simplify/findings", "a pattern: convolutions whose batch normalizations were folded"},
    {"network/simplify/findings_tensorflow", "patterns: a bias after a layer, a batch normalization that is computed"},
    {"network/simplify/fit_inputs", "makes the nodes that repeat an input for each sample"},
    {"network/simplify/lift_weights", "a pattern: weights that are written as Constant nodes"},
    {"network/simplify/listed_sequences", "a pattern: tensors that are listed and taken from the list"},
    {"network/simplify/nan_guard", "a pattern: a Where that replaces NaN"},
    {"network/simplify/onnxruntime*", "replaces operators of onnxruntime by those of ONNX"},
    {"network/simplify/operator_advice", "what to use instead of operators without kernels"},
    {"network/simplify/padding", "a pattern: a Pad before a convolution or a pool"},
    {"network/simplify/random_mask", "a pattern: a random mask"},
    {"network/simplify/rewritten_nodes", "a pattern: a division by the number of samples"},
    {"network/simplify/sample_counts", "a pattern: a mean over samples, spelled out"},
    {"network/simplify/sample_indices", "a pattern: indices of samples and of elements within them"},
    {"network/simplify/sample_order", "a pattern: samples sorted by a number, and put back"},
    {"network/simplify/spelling_writer", "makes the nodes that replace an operator"},
    {"network/simplify/spellings*", "each rule replaces certain operators by others"},
    {"network/simplify/values", "the names that exporters give to constants"},
    {"network/simplify/weight_roles", "patterns: a bias, a scale, an epsilon, the table of an embedding"},
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  INFO(path.string());
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> operator_names() {
  std::set<std::string> names;
  const auto add = [&](const char* path, const char* pattern) {
    const std::string text = text_of(kOpsRoot / path);
    const std::regex name(pattern);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match)
      names.insert((*match)[1]);
  };
  add("compiler/ops/ops.def", R"(OP\((\w+)\))");
  add("compiler/ops/rewritten.cpp", R"re(\.name = "(\w+)")re");
  return names;
}

// The operators that a source names, in no node or kernel that it makes. An Identity may carry a mark of its exporter,
// so any code may name it.
std::set<std::string> named_in(const std::string& source, const std::set<std::string>& operators) {
  static const std::regex literal(R"re((\.(op|kernel) = |//[^\n]*)?"(\w+)")re");
  std::set<std::string> named;
  for (std::sregex_iterator match(source.begin(), source.end(), literal), end; match != end; ++match)
    if (!(*match)[1].matched && (*match)[3] != "Identity" && operators.contains((*match)[3])) named.insert((*match)[3]);
  return named;
}

// The exception that covers a file; empty: none.
std::string exception_of(const fs::path& path) {
  std::string name = fs::relative(path, kOpsRoot / "compiler").replace_extension().generic_string();
  if (kMayName.contains(name)) return name;
  for (const auto& [exception, why] : kMayName)
    if (exception.ends_with('*') && name.starts_with(exception.substr(0, exception.size() - 1))) return exception;
  return "";
}

}  // namespace

TEST_CASE("names of operators are found in comparisons and lists, not in nodes that a source makes") {
  const std::set<std::string> all = operator_names();
  CHECK(all.size() > 120);
  CHECK(all.contains("Reshape"));
  CHECK(all.contains("LSTM"));
  CHECK(named_in(R"(if (node.op == "Conv") {})", all) == std::set<std::string>{"Conv"});
  CHECK(named_in(R"(constexpr std::array kMoves = {"Slice", "Tile"};)", all) == std::set<std::string>{"Slice", "Tile"});
  CHECK(named_in(R"(Node{.op = "Transpose"}; // like "Slice"
      if (node.op == "Identity" || find_attribute(node, "axis")) {})",
                 all)
            .empty());
}

TEST_CASE("what is general names no operator") {
  const std::set<std::string> all = operator_names();
  std::vector<fs::path> files = {kOpsRoot / "compiler/ops/task_builder.cpp"};
  for (const char* folder : {"compiler/import", "compiler/network", "compiler/training"})
    for (const auto& entry : fs::recursive_directory_iterator(kOpsRoot / folder))
      if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h") files.push_back(entry.path());
  CHECK(files.size() > 100);
  std::set<std::string> used;
  for (const fs::path& path : files) {
    const std::set<std::string> named = named_in(text_of(path), all);
    if (named.empty()) continue;
    const std::string exception = exception_of(path);
    INFO(path.string() << " names " << *named.begin() << "; ask its table (compiler/ops/op.h)");
    CHECK(exception != "");
    used.insert(exception);
  }
  for (const auto& [exception, why] : kMayName) {
    INFO(exception << " names no operator any more");
    CHECK(used.contains(exception));
  }
}
