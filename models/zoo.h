// Networks of the papers and of today, as parametric builders that write ONNX: `plimsoll model resnet50:input=64`.
// Layers and weights have torchvision's names, so that its pretrained weights can be loaded.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/support/status.h"
#include "models/arguments.h"

namespace plimsoll {

struct ZooModel {
  std::string name;
  std::string summary;  // one line
  std::vector<ZooParameter> parameters;
};

// In the order in which users see them listed.
std::span<const ZooModel> zoo_models();

// Builds what `spec` describes, "name" or "name:key=value,key=value" (a value may be a list: "resnet:n=3,4,6,3"), and
// writes it to `path` atomically. Weights are drawn from a normal distribution; the same spec gives the same bytes on
// every machine. Above 2 GiB, the limit of a protobuf message, the weights go to `path`.data. Returns one line that
// describes what was written. Errors: usage, unwritable_output.
Result<std::string> write_zoo_model(std::string_view spec, const std::string& path);

// What the zoo would write, for `plimsoll model --list` and tests.
struct ZooFacts {
  int64_t parameters = 0;  // trained elements, excluding running statistics
  int64_t nodes = 0;
  int64_t bytes = 0;       // of all initializers
};
Result<ZooFacts> zoo_facts(std::string_view spec);

}  // namespace plimsoll
