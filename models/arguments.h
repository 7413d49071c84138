// The parameters of a model builder: their declarations and their values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

enum class ParameterKind { integer, flag, word, list };

struct ZooParameter {
  std::string name;
  std::string fallback;  // the default, written as a user would type it
  std::string meaning;
  ParameterKind kind = ParameterKind::integer;
  int64_t least = 0;  // for an integer, or for every item of a list
  int64_t most = 0;
  std::vector<std::string> words = {};  // the allowed words; for an integer, words that mean 0
};

// The values of one spec: every parameter of the model has one, checked against its kind and bounds.
class Arguments {
 public:
  // `text` is what follows the colon: "input=227,n=3,4,6,3"; it may be empty. `model` is for messages. Error: usage.
  static Result<Arguments> parse(const std::string& model, const std::vector<ZooParameter>& parameters,
                                 std::string_view text);

  int64_t integer(const std::string& name) const;
  bool flag(const std::string& name) const { return integer(name) != 0; }
  const std::string& word(const std::string& name) const;
  const std::vector<int64_t>& list(const std::string& name) const;

 private:
  struct Value {
    std::string text;
    std::vector<int64_t> numbers;
  };
  static Result<Value> convert(const std::string& model, const ZooParameter& parameter, const std::string& text);
  const Value& at(const std::string& name) const;
  std::map<std::string, Value> values_;
};

// The parameters of every image network: batch, input, channels, classes, seed, init.
std::vector<ZooParameter> image_parameters(int64_t input, int64_t channels = 3, int64_t classes = 1000);
// batch, seed, init.
std::vector<ZooParameter> common_parameters();
std::vector<ZooParameter> operator+(std::vector<ZooParameter> some, std::vector<ZooParameter> more);

ZooParameter integer_parameter(std::string name, int64_t fallback, std::string meaning, int64_t least, int64_t most);
ZooParameter flag_parameter(std::string name, bool fallback, std::string meaning);
// first word: the default
ZooParameter word_parameter(std::string name, std::vector<std::string> words, std::string meaning);
// An empty fallback means that the list is optional; list() is then empty.
ZooParameter list_parameter(std::string name, std::string fallback, std::string meaning, int64_t least, int64_t most);

}  // namespace plimsoll
