#include "compiler/support/json.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

namespace plimsoll {

TEST_CASE("a text that is written value by value is the text of the document") {
  for (const std::string text : {"", "conv1.Y", "a\"b\\c", "tab\t, bell\a, nul\x01", "del\x7f", "größe", "\xff\xc3"}) {
    std::string written;
    JsonText(written).value(text);
    CHECK(written == dump(Json(text)));
  }
  for (const double number :
       {0.0, -0.0, 1.0, 1e-5, 0.1, 1.0 / 3, 123456789.5, 1e15, 1e16, 5e-324, 1.7976931348623157e308,
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    std::string written;
    JsonText(written).value(number);
    CHECK(written == dump(Json(number)));
  }
  std::string written;
  JsonText json(written);
  json.begin_object()
      .field("a", true)
      .field("b", int64_t{-7})
      .key("c")
      .begin_array()
      .value(1)
      .begin_array()
      .end_array();
  json.begin_object().field("d", "e").end_object().end_array().field("f", std::numeric_limits<int64_t>::min());
  json.end_object();
  CHECK(written == R"({"a":true,"b":-7,"c":[1,[],{"d":"e"}],"f":-9223372036854775808})");
  CHECK(written == dump(parse_json(written)));
}

}  // namespace plimsoll
