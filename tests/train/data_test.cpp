// The sources of samples, and their order.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/feeder.h"
#include "runtime/train/npy.h"
#include "runtime/train/random.h"
#include "tests/train/code_of.h"
#include "temporary_directory.h"

using namespace plimsoll;
using namespace plimsoll::train;
using plimsoll::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary;
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header + data;
}

std::string dictionary(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
}

// A classifier: images of `dims`, one class per image.
struct Classifier {
  std::vector<ProgramInput> inputs;
  Program program;
  explicit Classifier(IntList image, int64_t classes = 10, DataType label = DataType::i64)
      : inputs{{"image", f32(image)}, {"label", {label, {image[0]}}}} {
    program.model = "classifier";
    program.batch = program.sub_batch = image[0];
    program.rounds = 1;
    program.classes = classes;
    program.inputs = inputs;
  }
};

std::vector<float> read_floats(Column& column, int64_t index, size_t count) {
  std::vector<float> values(count);
  column.read(index, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

int64_t read_label(Column& column, int64_t index) {
  int64_t label = 0;
  column.read(index, reinterpret_cast<std::byte*>(&label));
  return label;
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

}  // namespace

TEST_CASE("npy headers are read, and whatever else stands there is refused") {
  const TemporaryDirectory place;
  const std::string path = place / "a.npy";
  write(path, npy(dictionary("<f4", "2, 3"), std::string(24, 'x')));
  const NpyHeader header = read_npy_header(InputFile(path));
  CHECK(header.desc == f32({2, 3}));
  CHECK(header.data_offset == 128);

  const std::vector<std::string> wrong = {
      "",
      "\x93NUMPY",
      std::string("\x93NUMPY\x01\0\xff\xff", 10) + "{}",
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", std::string(24, 'x')),
      npy(dictionary("<f8", "2, 3"), std::string(48, 'x')),
      npy(dictionary("|O", "2, 3"), std::string(48, 'x')),
      npy(dictionary("<f4", "2, 3"), std::string(23, 'x')),
      npy(dictionary("<f4", "-2, 3"), std::string(24, 'x')),
      npy(dictionary("<f4", "4611686018427387904, 4611686018427387904"), std::string(24, 'x')),
      npy(dictionary("<f4", "1,1,1,1,1,1,1,1,6"), std::string(24, 'x')),
      npy(dictionary("<f4", "two"), std::string(24, 'x')),
      npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", std::string(24, 'x')),
      npy("{'descr': '<f4'", ""),
      npy("{'shape':", ""),
  };
  for (const std::string& bytes : wrong) {
    INFO(bytes);
    write(path, bytes);
    CHECK(code_of([&] { read_npy_header(InputFile(path)); }) == Exit::unreadable_input);
  }

  // Changes every byte of a valid header in turn, and every length: the result is always a value or an error.
  const std::string good = npy(dictionary("<f4", "2, 3"), std::string(24, 'x'));
  for (size_t at = 0; at < 128; ++at) {
    for (const char with : {'\0', '\'', '(', '9', '\xff'}) {
      std::string damaged = good;
      damaged[at] = with;
      write(path, damaged);
      const Exit code = code_of([&] { read_npy_header(InputFile(path)); });
      CHECK((code == Exit::ok || code == Exit::unreadable_input));
    }
    write(path, good.substr(0, at));
    CHECK(code_of([&] { read_npy_header(InputFile(path)); }) == Exit::unreadable_input);
  }
}

TEST_CASE("npy booleans are zeros and ones, in an input of bytes and of real numbers") {
  const TemporaryDirectory place;
  const std::string labels(4, '\0');
  write(place / "x.npy", npy(dictionary("|b1", "1, 4"), std::string("\0\1\1\0", 4)));
  write(place / "y.npy", npy(dictionary("<i4", "1,"), labels));
  Classifier reals({1, 4});
  Dataset data = open_dataset("npy:" + (place / "x.npy") + "," + (place / "y.npy"), Part::training, reals.program);
  CHECK(read_floats(*data.columns[0], 0, 4) == std::vector<float>{0, 1, 1, 0});
  Classifier bytes({1, 4});
  bytes.inputs[0].desc.type = DataType::u8;
  data = open_dataset("npy:" + (place / "x.npy") + "," + (place / "y.npy"), Part::training, bytes.program);
  std::array<std::byte, 4> sample = {};
  data.columns[0]->read(0, sample.data());
  CHECK(sample == std::array{std::byte{0}, std::byte{1}, std::byte{1}, std::byte{0}});
}

TEST_CASE("npy samples arrive as the program's element types") {
  const TemporaryDirectory place;
  Classifier c({2, 4});
  write(place / "x.npy", npy(dictionary("|u1", "3, 4"), std::string("\0\x33\x66\xff" "\1\1\1\1" "\2\2\2\2", 12)));
  std::string labels;
  for (const int32_t label : {0, 9, 4}) labels.append(reinterpret_cast<const char*>(&label), 4);
  write(place / "y.npy", npy(dictionary("<i4", "3,"), labels));
  Dataset data = open_dataset("npy:" + (place / "x.npy") + "," + (place / "y.npy"), Part::training, c.program);
  CHECK(data.samples == 3);
  const std::vector<float> first = read_floats(*data.columns[0], 0, 4);
  CHECK(first[1] == Approx(0.2));
  CHECK(first[3] == Approx(1));
  CHECK(read_label(*data.columns[1], 1) == 9);
  CHECK_NOTHROW(check_integers(data, c.program));

  Classifier fewer({2, 4}, 9);
  CHECK(code_of([&] { check_integers(data, fewer.program); }) == Exit::invalid_model);
  // Real numbers are not labels.
  write(place / "y.npy", npy(dictionary("<f4", "3,"), labels));
  CHECK(code_of([&] {
          open_dataset("npy:" + (place / "x.npy") + "," + (place / "y.npy"), Part::training, c.program);
        }) == Exit::invalid_model);
}

TEST_CASE("labels that the loss leaves out are counted sample by sample") {
  const TemporaryDirectory place;
  Classifier c({2, 4}, 5, DataType::i64);
  c.inputs[1].desc.dims = {2, 3};
  c.inputs[1].ignored = -100;
  c.program.inputs = c.inputs;
  c.program.counts_correct = true;
  write(place / "x.npy", npy(dictionary("<f4", "3, 4"), std::string(48, '\0')));
  const auto open = [&](const std::vector<int64_t>& labels) {
    write(place / "y.npy",
          npy(dictionary("<i8", "3, 3"), std::string(reinterpret_cast<const char*>(labels.data()), 72)));
    return open_dataset("npy:" + (place / "x.npy") + "," + (place / "y.npy"), Part::training, c.program);
  };
  Dataset whole = open({0, 1, 2, 3, 4, 0, 1, 2, 3});
  check_integers(whole, c.program);
  CHECK(whole.counted_labels.empty());
  Dataset holes = open({0, -100, -100, 3, 4, 0, -100, 2, 3});
  check_integers(holes, c.program);
  CHECK(holes.counted_labels == std::vector<int32_t>{1, 3, 2});
  Feeder in_order(c.program, holes, false, 0);
  CHECK(in_order.counted_labels({0, 2}) == 4);
  CHECK(in_order.counted_labels({1, 2}) == 5);
  Feeder of_whole(c.program, whole, false, 0);
  CHECK(of_whole.counted_labels({1, 2}) == 6);
  CHECK(in_order.label_weight(1, {0, 2}) == 4);
  CHECK(of_whole.label_weight(1, {1, 2}) == 6);

  // By class weights; for a loss that reads the last two of a sample's three labels.
  const ClassWeights weights = {{}, {0.5F, 1, 2, 4, 8}};
  check_integers(holes, c.program, weights);
  Feeder weighed(c.program, holes, false, 0);
  CHECK(weighed.label_weight(1, {0, 3}) == 0.5 + 4 + 8 + 0.5 + 2 + 4);
  c.inputs[1].first_label = 1, c.inputs[1].end_label = 3;
  c.program.inputs = c.inputs;
  check_integers(holes, c.program, weights);
  CHECK(holes.counted_labels == std::vector<int32_t>{0, 2, 2});
  Feeder last_two(c.program, holes, false, 0);
  CHECK(last_two.label_weight(1, {0, 2}) == 8.5);
  CHECK(last_two.counted_labels({0, 3}) == 4);
}

TEST_CASE("targets that are yes or no are from 0 to 1, and bytes of 0 and 1 are taken for what they would become") {
  const TemporaryDirectory place;
  Classifier c({2, 4}, 0, DataType::f32);
  c.program.counts_correct = true;
  CHECK(labels_per_sample(c.program) == 1);
  write(place / "x.npy", npy(dictionary("<f4", "2, 4"), std::string(32, '\0')));
  const auto code = [&](const std::string& type, const std::string& bytes) {
    write(place / "y.npy", npy(dictionary(type, "2,"), bytes));
    Dataset data = open_dataset("npy:" + (place / "x.npy") + "," + (place / "y.npy"), Part::training, c.program);
    return code_of([&] { check_targets(data, c.program); });
  };
  const auto reals = [](float a, float b) {
    return std::string(reinterpret_cast<const char*>(&a), 4) + std::string(reinterpret_cast<const char*>(&b), 4);
  };
  CHECK(code("<f4", reals(0, 1)) == Exit::ok);
  CHECK(code("<f4", reals(0.25F, 0)) == Exit::ok);
  CHECK(code("<f4", reals(0, 1.5F)) == Exit::invalid_model);
  CHECK(code("<f4", reals(-1, 0)) == Exit::invalid_model);
  CHECK(code("|u1", std::string("\0\xff", 2)) == Exit::ok);
  CHECK(code("|u1", std::string("\0\1", 2)) == Exit::invalid_model);
  c.program.counts_correct = false;
  CHECK(code("<f4", reals(-1, 7)) == Exit::ok);
  Dataset synthetic = open_dataset("synthetic:3", Part::training, c.program);
  CHECK(code_of([&] { check_targets(synthetic, c.program); }) == Exit::ok);
  c.program.counts_correct = true;
  Dataset of_yes_and_no = open_dataset("synthetic:3", Part::training, c.program);
  CHECK(code_of([&] { check_targets(of_yes_and_no, c.program); }) == Exit::ok);
}

TEST_CASE("cifar10: label, then three planes, normalized") {
  const TemporaryDirectory place;
  for (int file = 1; file <= 5; ++file) {
    std::string bytes;
    for (int record = 0; record < 2; ++record)
      bytes += std::string(1, static_cast<char>(file)) + std::string(1024, '\0') + std::string(1024, '\x7f') +
               std::string(1024, '\xff');
    write(place / ("data_batch_" + std::to_string(file) + ".bin"), bytes);
  }
  Classifier c({2, 3, 32, 32});
  Dataset data = open_dataset("cifar10:" + place.path(), Part::training, c.program);
  CHECK(data.samples == 10);
  CHECK(read_label(*data.columns[1], 0) == 1);
  CHECK(read_label(*data.columns[1], 9) == 5);
  const std::vector<float> image = read_floats(*data.columns[0], 3, 3072);
  CHECK(image[0] == Approx((0 - 0.4914) / 0.2470).margin(1e-4));
  CHECK(image[1024] == Approx((127.0 / 255 - 0.4822) / 0.2435).margin(1e-4));
  CHECK(image[3071] == Approx((1 - 0.4465) / 0.2616).margin(1e-4));
  CHECK(code_of([&] { open_dataset("cifar10:" + place.path(), Part::test, c.program); }) == Exit::unreadable_input);
  write(place / "data_batch_3.bin", "short");
  CHECK(code_of([&] { open_dataset("cifar10:" + place.path(), Part::training, c.program); }) == Exit::unreadable_input);
}

TEST_CASE("mnist: idx files of pictures and labels") {
  const TemporaryDirectory place;
  const std::string images = big_endian(0x803) + big_endian(2) + big_endian(28) + big_endian(28);
  write(place / "t10k-images-idx3-ubyte", images + std::string(784, '\0') + std::string(784, '\xff'));
  write(place / "t10k-labels-idx1-ubyte", big_endian(0x801) + big_endian(2) + "\x03\x07");
  const bool flat = GENERATE(true, false);  // a perceptron takes the same pixels as a vector
  Classifier c(flat ? IntList{2, 784} : IntList{2, 1, 28, 28}, 10, DataType::i32);
  Dataset data = open_dataset("mnist:" + place.path(), Part::test, c.program);
  CHECK(data.samples == 2);
  int32_t label = 0;
  data.columns[1]->read(1, reinterpret_cast<std::byte*>(&label));
  CHECK(label == 7);
  CHECK(read_floats(*data.columns[0], 1, 784)[400] == Approx((1 - 0.1307) / 0.3081).margin(1e-4));
  write(place / "t10k-labels-idx1-ubyte", big_endian(0x801) + big_endian(3) + "\x03\x07");
  CHECK(code_of([&] { open_dataset("mnist:" + place.path(), Part::test, c.program); }) == Exit::unreadable_input);
}

namespace {

// A language model: windows of `length` ids and as many labels.
struct LanguageModel {
  std::vector<ProgramInput> inputs;
  Program program;
  explicit LanguageModel(int64_t length, int64_t rows, int64_t classes)
      : inputs{{"ids", i64({2, length}), rows}, {"labels", i32({2, length})}} {
    program.model = "language model";
    program.batch = program.sub_batch = 2;
    program.rounds = 1;
    program.classes = classes;
    program.inputs = inputs;
  }
};

template <class T>
std::string packed(const std::vector<int64_t>& numbers) {
  std::string bytes;
  for (const int64_t number : numbers) {
    const T narrow = static_cast<T>(number);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
  return bytes;
}

std::vector<int64_t> header_of(int64_t magic, int64_t version, int64_t tokens) {
  std::vector<int64_t> header(256, 0);
  header[0] = magic, header[1] = version, header[2] = tokens;
  return header;
}

std::vector<int64_t> window_of(Dataset& data, int64_t index) {
  std::vector<int64_t> ids(3);
  std::vector<int32_t> labels(3);
  data.columns[0]->read(index, reinterpret_cast<std::byte*>(ids.data()));
  data.columns[1]->read(index, reinterpret_cast<std::byte*>(labels.data()));
  ids.insert(ids.end(), labels.begin(), labels.end());
  return ids;
}

}  // namespace

TEST_CASE("tokens: windows of ids, and the same windows one on as labels, from every kind of file") {
  const TemporaryDirectory place;
  const std::vector<int64_t> ids = {7, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::string shard = packed<int32_t>(header_of(20240520, 1, 9)) + packed<uint16_t>(ids);
  write(place / "shard.bin", shard);
  write(place / "long.bin", packed<int32_t>(header_of(20240801, 7, 9)) + packed<int32_t>(ids));
  write(place / "raw.bin", packed<uint16_t>(ids));
  write(place / "u1.npy", npy(dictionary("|u1", "9,"), packed<uint8_t>(ids)));
  write(place / "u2.npy", npy(dictionary("<u2", "9,"), packed<uint16_t>(ids)));
  write(place / "i4.npy", npy(dictionary("<i4", "9,"), packed<int32_t>(ids)));
  write(place / "i8.npy", npy(dictionary("<i8", "9,"), packed<int64_t>(ids)));
  LanguageModel model(3, 9, 9);
  for (const char* name : {"shard.bin", "long.bin", "raw.bin", "u1.npy", "u2.npy", "i4.npy", "i8.npy"}) {
    INFO(name);
    Dataset data = open_dataset("tokens:" + (place / name), Part::training, model.program);
    CHECK(data.samples == 2);
    CHECK(window_of(data, 0) == std::vector<int64_t>{7, 1, 2, 1, 2, 3});
    CHECK(window_of(data, 1) == std::vector<int64_t>{3, 4, 5, 4, 5, 6});
  }
  // Two files: no window extends from one into the other.
  Dataset both = open_dataset("tokens:" + (place / "raw.bin") + "," + (place / "i8.npy"), Part::test, model.program);
  CHECK(both.samples == 4);
  CHECK(window_of(both, 2) == window_of(both, 0));

  // Not a file of tokens, or not for this model.
  const auto opened = [&](const std::string& name, const LanguageModel& of) {
    return code_of([&] { open_dataset("tokens:" + (place / name), Part::training, of.program); });
  };
  CHECK(opened("raw.bin", LanguageModel(3, 8, 9)) == Exit::invalid_model);
  CHECK(opened("raw.bin", LanguageModel(3, 9, 8)) == Exit::invalid_model);
  CHECK(opened("raw.bin", LanguageModel(9, 9, 9)) == Exit::invalid_model);
  CHECK(opened("nowhere.bin", model) == Exit::unreadable_input);
  write(place / "odd.bin", "hello");
  CHECK(opened("odd.bin", model) == Exit::unreadable_input);
  write(place / "empty.bin", "");
  CHECK(opened("empty.bin", model) == Exit::invalid_model);
  write(place / "cut.bin", shard.substr(0, shard.size() - 2));
  CHECK(opened("cut.bin", model) == Exit::unreadable_input);
  write(place / "real.npy", npy(dictionary("<f4", "9,"), packed<float>(ids)));
  CHECK(opened("real.npy", model) == Exit::unreadable_input);
  write(place / "negative.npy", npy(dictionary("<i4", "4,"), packed<int32_t>({1, -1, 2, 3})));
  CHECK(opened("negative.npy", model) == Exit::invalid_model);
  Classifier images({2, 4});
  CHECK(code_of([&] { open_dataset("tokens:" + (place / "raw.bin"), Part::training, images.program); }) ==
        Exit::invalid_model);
}

TEST_CASE("numbers that pick rows are looked at in NumPy files, too") {
  const TemporaryDirectory place;
  write(place / "x.npy", npy(dictionary("<i8", "2, 3"), packed<int64_t>({0, 1, 2, 3, 4, 5})));
  write(place / "y.npy", npy(dictionary("<i4", "2, 3"), packed<int32_t>({0, 0, 0, 0, 0, 0})));
  const std::string source = "npy:" + (place / "x.npy") + "," + (place / "y.npy");
  LanguageModel six(3, 6, 9), five(3, 5, 9);
  Dataset fits = open_dataset(source, Part::training, six.program),
          not_quite = open_dataset(source, Part::training, five.program);
  CHECK_NOTHROW(check_integers(fits, six.program));
  CHECK(code_of([&] { check_integers(not_quite, five.program); }) == Exit::invalid_model);
  CHECK(labels_per_sample(six.program) == 3);
  // Also for a prediction; there labels are not checked.
  write(place / "y.npy", npy(dictionary("<i4", "2, 3"), packed<int32_t>({0, 0, 77, 0, 0, 0})));
  // A label that does not fit the loss's 32 bits is not truncated to another valid label.
  write(place / "wide.npy", npy(dictionary("<i8", "2, 3"), packed<int64_t>({0, 1, 2, 0, (int64_t{1} << 33) + 1, 2})));
  Dataset wide = open_dataset("npy:" + (place / "x.npy") + "," + (place / "wide.npy"), Part::training, six.program);
  CHECK_THROWS_WITH(check_integers(wide, six.program),
                    Catch::Matchers::Contains("sample 1") && Catch::Matchers::Contains("32 bits do not hold"));
  Dataset odd = open_dataset(source, Part::test, six.program);
  CHECK_NOTHROW(check_indices(odd, six.program));
  CHECK(code_of([&] { check_indices(not_quite, five.program); }) == Exit::invalid_model);
}

TEST_CASE("the label that the loss leaves out may be in the data, and no other that is no class") {
  const TemporaryDirectory place;
  write(place / "x.npy", npy(dictionary("<i8", "2, 3"), packed<int64_t>({0, 1, 2, 3, 4, 5})));
  const std::string source = "npy:" + (place / "x.npy") + "," + (place / "y.npy");
  LanguageModel model(3, 6, 9);
  model.inputs[1].ignored = -100;
  for (const int64_t label : {-100, 8, -99, -1, 9}) {
    CAPTURE(label);
    write(place / "y.npy", npy(dictionary("<i8", "2, 3"), packed<int64_t>({0, 0, 0, 0, label, 0})));
    Dataset data = open_dataset(source, Part::training, model.program);
    if (label == -100 || label == 8) CHECK_NOTHROW(check_integers(data, model.program));
    else CHECK(code_of([&] { check_integers(data, model.program); }) == Exit::invalid_model);
  }
  // -1 is a label like the others, and a label that does not fit 32 bits is not taken for it.
  model.inputs[1].ignored = -1;
  for (const int64_t label : {int64_t{-1}, int64_t{-100}, int64_t{1} << 33, -(int64_t{1} << 31)}) {
    CAPTURE(label);
    write(place / "y.npy", npy(dictionary("<i8", "2, 3"), packed<int64_t>({0, 0, 0, 0, label, 0})));
    Dataset data = open_dataset(source, Part::training, model.program);
    if (label == -1) {
      CHECK_NOTHROW(check_integers(data, model.program));
      CHECK(data.counted_labels == std::vector<int32_t>{3, 2});
    } else {
      CHECK(code_of([&] { check_integers(data, model.program); }) == Exit::invalid_model);
    }
  }
}

TEST_CASE("synthetic samples are a function of the seed") {
  Classifier c({4, 3});
  Dataset a = open_dataset("synthetic:1", Part::training, c.program);
  Dataset b = open_dataset("synthetic:1", Part::training, c.program);
  Dataset other = open_dataset("synthetic:2", Part::training, c.program);
  Dataset test = open_dataset("synthetic:1", Part::test, c.program);
  CHECK(read_floats(*a.columns[0], 5, 3) == read_floats(*b.columns[0], 5, 3));
  CHECK(read_floats(*a.columns[0], 5, 3) != read_floats(*other.columns[0], 5, 3));
  CHECK(read_floats(*a.columns[0], 5, 3) != read_floats(*test.columns[0], 5, 3));
  CHECK_NOTHROW(check_integers(a, c.program));
}

TEST_CASE("an epoch takes every sample once, in an order of its own") {
  Classifier c({4, 3});
  // One dataset for each, because its thread reads ahead.
  Dataset data = open_dataset("synthetic", Part::training, c.program),
          first = open_dataset("synthetic", Part::training, c.program),
          second = open_dataset("synthetic", Part::training, c.program),
          third = open_dataset("synthetic", Part::training, c.program);
  const auto order = [&](Feeder& feeder, int64_t epoch) {
    std::vector<float> firsts;
    feeder.begin_epoch(epoch);
    for (int64_t at = 0; at < data.samples; at += 4) {
      const bool right = at % 3 != 0;  // the announced samples need not be those that are requested
      feeder.stage({at, 4}, right && at + 4 < data.samples ? Samples{at + 4, 4} : Samples{0, 4});
      const float* values = reinterpret_cast<const float*>(feeder.staged()[0]);
      for (int i = 0; i < 4; ++i) firsts.push_back(values[i * 3]);
    }
    return firsts;
  };
  Feeder shuffled(c.program, first, true, 7), again(c.program, second, true, 7), plain(c.program, third, false, 7);
  const std::vector<float> e0 = order(shuffled, 0), e1 = order(shuffled, 1), file = order(plain, 0);
  CHECK(e0 != e1);
  CHECK(e1 == order(again, 1));  // regardless of earlier calls
  CHECK(file == order(plain, 3));
  for (int64_t i = 0; i < data.samples; ++i)
    CHECK(file[static_cast<size_t>(i)] == read_floats(*data.columns[0], i, 3)[0]);
  CHECK(std::multiset<float>(e0.begin(), e0.end()) == std::multiset<float>(file.begin(), file.end()));
}

TEST_CASE("what is announced for a device is what is staged next, under its number, once it is waited for") {
  Classifier c({4, 3});
  Dataset data = open_dataset("synthetic", Part::training, c.program);
  Feeder feeder(c.program, data, false, 7);
  feeder.begin_epoch(0);
  std::set<uint64_t> numbers;
  StagedAhead expected;
  std::vector<float> announced;
  for (int64_t at = 0; at + 8 <= 40; at += 4) {
    const bool other = at == 12, last = at == 24;  // other samples than announced; none are announced
    feeder.stage(other ? Samples{40, 4} : Samples{at, 4}, last ? Samples{} : Samples{at + 4, 4});
    const float* const values = reinterpret_cast<const float*>(feeder.staged()[0]);
    CHECK((feeder.number() == expected.number) == (at != 0 && !other && at != 28));
    if (feeder.number() == expected.number) {
      CHECK(feeder.staged()[0] == expected.staged[0]);
      CHECK(std::vector<float>(values, values + 12) == announced);
    }
    CHECK(numbers.insert(feeder.number()).second);
    expected = feeder.next();
    CHECK(expected.staged.empty() == last);
    announced.clear();
    if (last) continue;
    expected.wait(expected.waits_for);
    const float* const ahead = reinterpret_cast<const float*>(expected.staged[0]);
    announced.assign(ahead, ahead + 12);
    CHECK(ahead != values);
  }
}

namespace {

// Reading fails at its third sample.
class BrokenColumn final : public Column {
 public:
  int64_t samples() const override { return 6; }
  void read(int64_t index, std::byte* to) override {
    if (index >= 3) throw TrainerError(Exit::unreadable_input, "sample " + std::to_string(index));
    *to = static_cast<std::byte>(index);
  }
};

}  // namespace

TEST_CASE("beyond the last sample there are copies that count nowhere: what cannot be read is told when it is needed") {
  Classifier c({4, 3});
  Dataset data = open_dataset("synthetic", Part::training, c.program);
  data.samples = 6;
  Feeder feeder(c.program, data, false, 0);
  feeder.stage({4, 4}, {});
  const auto* labels = reinterpret_cast<const int64_t*>(feeder.staged()[1]);
  CHECK(labels[1] == read_label(*data.columns[1], 5));
  CHECK(labels[2] == -1);
  CHECK(labels[3] == -1);

  Dataset broken{.name = "broken", .columns = {}, .samples = 6};
  broken.columns.push_back(std::make_unique<BrokenColumn>());
  broken.columns.push_back(std::move(data.columns[1]));
  Feeder reading(c.program, broken, false, 0);
  CHECK_NOTHROW(reading.stage({0, 2}, {2, 2}));
  CHECK(code_of([&] { reading.stage({2, 2}, {0, 2}); }) == Exit::unreadable_input);
  CHECK_NOTHROW(reading.stage({0, 2}, {2, 2}));  // it was neither lost nor repeated
  CHECK_NOTHROW(reading.stage({0, 3}, {}));
}
