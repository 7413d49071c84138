// What `plimsoll inspect` prints about a model: operators, parameters, inputs and outputs, and the notes of the import.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// The weights of one kind: trained, by output, frozen, statistics, undecided.
struct WeightGroup {
  std::string name;
  int64_t tensors = 0, elements = 0, bytes = 0;
  void add(const Value& value);
};
std::vector<WeightGroup> weight_groups(const Network& network);  // those that have a tensor

struct OperatorCount {
  std::string op;
  int64_t nodes = 0;
};
std::vector<OperatorCount> operator_counts(const Network& network);  // the most frequent first

// What report_weights() prints, as data.
struct WeightLine {
  std::string what, name, type, layer, reason;
};
std::vector<WeightLine> weight_lines(const Network& network, const std::map<std::string, std::string>& reasons = {});

// At most kReportWidth characters per line, except for notes.
std::string report_network(const Network& network, const std::vector<std::string>& notes, bool color);

// A line for each weight and statistic: trained, frozen or statistic, its name, its type, and the layer that reads it.
// Nothing is shortened. In a network with several outputs, a weight that only some outputs depend on is "by output": it
// is trained if the loss is applied to one of these. A weight that no output depends on is "dropped".
//
// `reasons`, by initializer: why it is trained, or why not; printed at the end of its line. An initializer that only
// the compiler reads is "constant".
std::string report_weights(const Network& network, const std::map<std::string, std::string>& reasons = {});

}  // namespace plimsoll
