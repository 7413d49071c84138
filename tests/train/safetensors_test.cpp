// Tensor files as other tools write and read them.
#include <catch2/catch.hpp>

#include <fstream>

#include "runtime/train/error.h"
#include "runtime/train/safetensors.h"
#include "runtime/train/sha256.h"
#include "temporary_directory.h"

using namespace plimsoll;
using namespace plimsoll::train;
using plimsoll::test::TemporaryDirectory;

namespace {

std::string file_of(const std::string& json, size_t data_bytes) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(json.size() >> 8 * i);
  return bytes + json + std::string(data_bytes, 'x');
}

Safetensors read(const TemporaryDirectory& place, const std::string& bytes) {
  std::ofstream(place / "f", std::ios::binary) << bytes;
  return read_safetensors(InputFile(place / "f"));
}

bool refused(const TemporaryDirectory& place, const std::string& bytes) {
  try {
    read(place, bytes);
    return false;
  } catch (const TrainerError& error) {
    return error.code == Exit::unreadable_input;
  }
}

}  // namespace

TEST_CASE("safetensors come back as they were written, whatever their names are") {
  const TemporaryDirectory place;
  const std::string worst = "\"quoted\\\", \x01\n, \xc3\xa9\xf0\x9f\x9a\xa2, \xff\xc0\xaf\xed\xa0\x80";
  Safetensors file{.metadata = {{"step", "12"}, {worst, worst}},
                   .tensors = {{worst, f32({2, 3})}, {"scalar", i64({})}, {"none", u8({0, 7})}, {"labels", i32({5})}}};
  const std::string header = safetensors_header(file);
  CHECK(header.size() % 8 == 0);
  const Safetensors again = read(place, header + std::string(24 + 8 + 0 + 20, 'x'));
  CHECK(again.metadata.at("step") == "12");
  CHECK(again.metadata.at(utf8_name(worst)) == utf8_name(worst));
  REQUIRE(again.tensors.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(again.tensors[i].name == utf8_name(file.tensors[i].name));
    CHECK(again.tensors[i].desc == file.tensors[i].desc);
    CHECK(again.tensors[i].offset == file.tensors[i].offset);
  }
  CHECK(utf8_name("\xc3\xa9\xf0\x9f\x9a\xa2") == "\xc3\xa9\xf0\x9f\x9a\xa2");
  CHECK(utf8_name("a\xff") == "a\xef\xbf\xbd");
  CHECK(utf8_name("\xed\xa0\x80").size() == 9);
}

TEST_CASE("as the library writes them, and with what it writes them") {
  const TemporaryDirectory place;
  const Safetensors found = read(
      place,
      file_of(
          R"( {"b": {"dtype" : "F32", "shape":[1,2], "data_offsets":[4,12]},)"
          R"("__metadata__":{"a":"\u00e9\ud83d\udea2\/"},)"
          R"("a\t":{"shape":[],"data_offsets":[0,4],"dtype":"I32"}}   )",
          12));
  REQUIRE(found.tensors.size() == 2);
  CHECK(found.tensors[0].name == "a\t");
  CHECK(found.tensors[1].desc == f32({1, 2}));
  CHECK(found.metadata.at("a") == "\xc3\xa9\xf0\x9f\x9a\xa2/");
  CHECK(read(place, file_of("{}", 0)).tensors.empty());
}

TEST_CASE("what is no safetensors file is refused") {
  const TemporaryDirectory place;
  const auto tensor = [](const std::string& fields) { return "{\"a\":{" + fields + "}}"; };
  for (
      const std::string& bytes :
      {std::string(),
       std::string("1234567"),
       std::string(8, '\xff'),
       file_of("{}", 1),
       file_of("{", 0),
       file_of("[]", 0),
       file_of("{}}", 0),
       file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8),
       file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"), 8),
       file_of(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8),
       file_of(tensor(R"("dtype":"BF16","shape":[2],"data_offsets":[0,4])"), 4),
       file_of(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4),
       file_of(tensor(R"("dtype":"F32","shape":[999999999999,999999999999],"data_offsets":[0,4])"), 4),
       file_of(tensor(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"), 4),
       file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,9999999999999999999999])"), 4),
       file_of(tensor(R"("dtype":"F32","shape":[1])"), 4),
       file_of(tensor(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"), 4),
       file_of(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
           R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           8),
       file_of(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           8),
       file_of(R"({"a\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4)}) {
    INFO(bytes);
    CHECK(refused(place, bytes));
  }

  // Changes every byte of a valid file in turn, and every length: the result is always a value or an error.
  Safetensors file{.metadata = {{"k", "v"}}, .tensors = {{"w", f32({2})}}};
  const std::string good = safetensors_header(file) + "12345678";
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char with : {'\0', '"', '9', '\\', '\xff'}) {
      std::string damaged = good;
      damaged[at] = with;
      CHECK_NOTHROW(refused(place, damaged));
    }
    CHECK(refused(place, good.substr(0, at)));
  }
}

TEST_CASE("sums are those of sha256sum, however the bytes come") {
  const auto sum = [](const std::string& text, size_t piece) {
    Sha256 sum;
    for (size_t at = 0; at < text.size(); at += piece)
      sum.add(reinterpret_cast<const std::byte*>(text.data()) + at,
              static_cast<int64_t>(std::min(piece, text.size() - at)));
    return sum.hex();
  };
  CHECK(sum("", 1) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sum("abc", 1) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1'000'000, 'a');
  for (const size_t piece : {1u, 7u, 63u, 64u, 65u, 1'000'000u})
    CHECK(sum(million, piece) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
