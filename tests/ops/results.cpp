#include "results.h"

#include <fstream>
#include <limits>
#include <sstream>

#include "executor.h"

namespace plimsoll::test {

std::map<std::string, Values> results_of(const Op& op, const Sample& sample) {
  const Instance instance = make_instance(op, sample);
  Executor executor(instance, kSamples);
  const Buffers buffers = executor.run(instance.given);
  std::map<std::string, Values> results;
  for (const TensorId id : ids_of(instance.graph.tensors)) {
    const Tensor& tensor = instance.graph.tensors[id];
    if (tensor.type.type == DataType::f32) results[tensor.name] = executor.values(buffers, id, tensor.type);
  }
  return results;
}

void append_results(const std::string& file, const std::string& sample, const std::map<std::string, Values>& results) {
  std::ofstream out(file, std::ios::app);
  out.precision(std::numeric_limits<double>::max_digits10);
  for (const auto& [name, values] : results) {
    out << sample << ' ' << name << '\t';
    for (const double value : values) out << ' ' << value;
    out << '\n';
  }
}

std::map<std::string, Values> read_results(const std::string& file) {
  std::map<std::string, Values> results;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    std::istringstream numbers(line.substr(tab + 1));
    Values& values = results[line.substr(0, tab)];
    // also parses "nan"
    for (std::string number; numbers >> number;) values.push_back(std::strtod(number.c_str(), nullptr));
  }
  return results;
}

}  // namespace plimsoll::test
