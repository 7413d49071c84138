#include "compiler/support/bytes.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

TEST_CASE("sizes at the prompt: base 2 and base 10 are told apart") {
  const auto bytes = [](const char* text) { return parse_size(text).value().bytes; };
  CHECK(bytes("4GiB") == 4294967296);
  CHECK(bytes("4G") == 4294967296);
  CHECK(bytes("4GB") == 4000000000);
  CHECK(bytes("512MiB") == 536870912);
  CHECK(bytes("1.5K") == 1536);
  CHECK(bytes("17") == 17);
  CHECK(parse_size("60%").value().percent == 60);
  CHECK(parse_size("auto").value().kind == SizeSpec::Kind::automatic);
}

TEST_CASE("what is not a size is a usage error that tells the accepted forms") {
  for (const char* text : {"", "4Gb", "GiB", "-1", "1e400G", "0%", "101%", "4 GiB x", "1.5", "nan", "9999999T"}) {
    INFO(text);
    const auto size = parse_size(text);
    REQUIRE_FALSE(size.ok());
    CHECK(size.error().code == ExitCode::usage);
    CHECK(size.error().message.find("4GiB") != std::string::npos);
  }
}

TEST_CASE("bytes are printed for people") {
  CHECK(format_bytes(4294967296) == "4.00 GiB");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_grouped(4294967296) == "4,294,967,296");
  CHECK(format_grouped(12) == "12");
  CHECK(format_budget(1023) == "1023");
  CHECK(format_budget(12'665'600) == "12.1MiB");
  for (const int64_t bytes : {1024, 1025, 34'304, 1'048'576, 12'665'601, 1'073'741'824, 1'234'567'890}) {
    CAPTURE(bytes);
    const auto read = parse_size(format_budget(bytes));
    REQUIRE(read.ok());
    CHECK(read.value().bytes >= bytes);
    CHECK(static_cast<double>(read.value().bytes) < static_cast<double>(bytes) * 1.1);
  }
}
