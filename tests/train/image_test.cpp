// Images: decoded and resized as by Pillow, and fed to a trainer.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>

#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/feeder.h"
#include "runtime/train/image.h"
#include "tests/train/code_of.h"
#include "temporary_directory.h"

using namespace plimsoll;
using namespace plimsoll::train;
using plimsoll::test::TemporaryDirectory;

namespace {

template <size_t N>
std::string bytes(const char (&text)[N]) {
  return std::string(text, N - 1);
}

// 6 x 4 pixels: red 40 x, green 60 y, blue 255 - 20 (x + y).
const std::string kPng = bytes(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x06\x00\x00\x00\x04\x08\x02\x00\x00"
    "\x00\x22\x66\xd9\x14\x00\x00\x00\x1b\x49\x44\x41\x54\x78\xda\x63\x64\x60\xf8\xaf\xc1\xf0\x06\x19\xb1\x30\xd8\xbc"
    "\x61\x60\x40\x41\xc4\x09\x01\x00\x87\x78\x17\xbd\x5b\x9c\xc5\x04\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82");

// 16 x 16 gray: quarters of 10, 200, 90 and 250.
const std::string kJpeg = bytes(
    "\xff\xd8\xff\xe0\x00\x10\x4a\x46\x49\x46\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00\x43\x00\x02\x01\x01"
    "\x01\x01\x01\x02\x01\x01\x01\x02\x02\x02\x02\x02\x04\x03\x02\x02\x02\x02\x05\x04\x04\x03\x04\x06\x05\x06\x06\x06"
    "\x05\x06\x06\x06\x07\x09\x08\x06\x07\x09\x07\x06\x06\x08\x0b\x08\x09\x0a\x0a\x0a\x0a\x0a\x06\x08\x0b\x0c\x0b\x0a"
    "\x0c\x09\x0a\x0a\x0a\xff\xdb\x00\x43\x01\x02\x02\x02\x02\x02\x02\x05\x03\x03\x05\x0a\x07\x06\x07\x0a\x0a\x0a\x0a"
    "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"
    "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\xff\xc0\x00\x11\x08\x00\x10\x00\x10\x03"
    "\x01\x11\x00\x02\x11\x01\x03\x11\x01\xff\xc4\x00\x15\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x09\x0a\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xc4"
    "\x00\x14\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xc4\x00\x14\x11\x01\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xda\x00\x0c\x03\x01\x00\x02\x11\x03\x11\x00\x3f\x00"
    "\x09\xc1\x5f\x00\x11\xc1\x50\x00\xff\xd9");

// 2 x 1 pixels of 16 bits: 0x8000, 0x4010, 0xffff and 0x1234, 0, 0x8080.
const std::string kDeepPng = bytes(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00\x01\x10\x02\x00\x00"
    "\x00"
    "\x2b\xd0\x34\x9e\x00\x00\x00\x15\x49\x44\x41\x54\x78\xda\x63\x68\x60\x70\x10\xf8\xff\x5f\xc8\x84\x81\xa1\xa1\x01"
    "\x00"
    "\x1a\xfe\x04\x15\x68\x9b\x3d\xef\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82");

// 2 x 1 pixels: 200, 100, 50 and blue.
const std::string kSmallPng = bytes(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00\x01\x08\x02\x00\x00"
    "\x00"
    "\x7b\x40\xe8\xdd\x00\x00\x00\x0f\x49\x44\x41\x54\x78\xda\x63\x38\x91\x62\xc4\xc0\xf0\x1f\x00\x08\x72\x02\x5e\xc8"
    "\xb4"
    "\xc4\x90\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82");

// 8 x 8 CMYK pixels: no cyan, half magenta, full yellow, a quarter of black. Pillow converts them to 191, 95, 0.
const std::string kInks = bytes(
    "\xff\xd8\xff\xee\x00\x0e\x41\x64\x6f\x62\x65\x00\x64\x00\x00\x00\x00\x00\xff\xdb\x00\x43\x00\x02\x01\x01\x01\x01"
    "\x01"
    "\x02\x01\x01\x01\x02\x02\x02\x02\x02\x04\x03\x02\x02\x02\x02\x05\x04\x04\x03\x04\x06\x05\x06\x06\x06\x05\x06\x06"
    "\x06"
    "\x07\x09\x08\x06\x07\x09\x07\x06\x06\x08\x0b\x08\x09\x0a\x0a\x0a\x0a\x0a\x06\x08\x0b\x0c\x0b\x0a\x0c\x09\x0a\x0a"
    "\x0a"
    "\xff\xc0\x00\x14\x08\x00\x08\x00\x08\x04\x43\x11\x00\x4d\x11\x00\x59\x11\x00\x4b\x11\x00\xff\xc4\x00\x17\x00\x00"
    "\x03"
    "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x08\x09\x0a\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00"
    "\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xda\x00\x0e\x04\x43\x00\x4d\x00\x59\x00\x4b\x00\x00\x3f\x00\xbf"
    "\x81"
    "\xb3\xfe\x7f\x1f\xff\xd9");

void write_image(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Images of `input` and two classes.
struct ImageClassifier {
  std::vector<ProgramInput> inputs;
  Program program;
  explicit ImageClassifier(IntList input, int64_t classes = 2)
      : inputs{{"image", f32(input)}, {"label", i64({input[0]})}},
        program{.model = "pictures",
                .generator = "test",
                .batch = input[0],
                .sub_batch = input[0],
                .rounds = 1,
                .classes = classes,
                .inputs = inputs} {}
};

bool can_read(const char* extension) { return readable_extensions().find(extension) != std::string::npos; }

}  // namespace

TEST_CASE("resizing is Pillow's, smaller and larger") {
  Image image{.width = 4, .height = 3, .channels = 1};
  for (int i = 0; i < 12; ++i) image.pixels.push_back(static_cast<unsigned char>(i * i));
  const auto near = [](const std::vector<float>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(static_cast<double>(a[i]) == Approx(b[i]).epsilon(1e-4));
  };
  near(resized(image, 2, 2, {0, 0, 2, 2}), {9.1429, 18.571, 56.286, 81.429});
  near(resized(image, 7, 5, {0, 0, 7, 5}),
       {0,      0.35714, 0.92857, 2.5,    4.3571, 7.2143, 9,      6.4,    7.9,   10.3,  13.7,   17.386,
        22.071, 25,      16,      19.214, 24.357, 30.5,   36.929, 44.357, 49,    44.8,  49.729, 57.614,
        66.5,   75.671,  85.843,  92.2,   64,     70.071, 79.786, 90.5,   101.5, 113.5, 121});
  CHECK(resized(image, 4, 3, {0, 0, 4, 3}) == std::vector<float>(image.pixels.begin(), image.pixels.end()));

  // A crop equals that part of the whole image bit by bit; nothing else is computed, however large the whole would be.
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{7, 5}, {2, 3}, {4, 3}}) {
    const std::vector<float> whole = resized(image, width, height, {0, 0, width, height});
    const Piece piece{1, 1, width - 1, 2};
    const std::vector<float> cut = resized(image, width, height, piece);
    for (int64_t y = 0; y < piece.height; ++y)
      for (int64_t x = 0; x < piece.width; ++x)
        CHECK(cut[static_cast<size_t>(y * piece.width + x)] ==
              whole[static_cast<size_t>((y + piece.top) * width + x + piece.left)]);
  }
  CHECK(resized(image, int64_t{1} << 40, int64_t{1} << 40, {int64_t{1} << 39, int64_t{1} << 39, 2, 2}).size() == 4);
}

TEST_CASE("a JPEG is decoded at the fraction of its size that is still large enough") {
  if (readable_extensions().find("jpg") == std::string::npos) return;
  const TemporaryDirectory place;
  write_image(place / "class/a.jpg", kJpeg);
  const std::string path = place / "class/a.jpg";
  for (const auto& [wanted, shrunk] : {std::pair<int64_t, int64_t>{0, 1}, {1, 1}, {2, 2}, {3, 2}, {7, 4}, {100, 8}}) {
    INFO(wanted);
    const Image image = read_image(path, 1, [&, most = wanted](int64_t width, int64_t height) {
      CHECK((width == 16 && height == 16));
      return most;
    });
    CHECK(image.shrunk == shrunk);
    REQUIRE((image.width == 16 / shrunk && image.height == 16 / shrunk));
    REQUIRE(image.pixels.size() == static_cast<size_t>(image.width * image.height));
    // The quarters are 10, 200, 90 and 250.
    const auto at = [&](int64_t x, int64_t y) { return int{image.pixels[static_cast<size_t>(y * image.width + x)]}; };
    const int64_t last = image.width - 1;
    CHECK(std::abs(at(0, 0) - 10) <= 3);
    CHECK(std::abs(at(last, 0) - 200) <= 3);
    CHECK(std::abs(at(0, last) - 90) <= 3);
    CHECK(std::abs(at(last, last) - 250) <= 3);
  }

  // A sample of 4 x 4 is nearly the same, and a random piece is the same piece.
  ImageClassifier c({2, 1, 4, 4}, 1);
  const std::string source = std::string("images:") + std::string(place / "");
  for (const bool pieces : {false, true}) {
    ImageOptions full{.resize = 4, .random_resized_crop = pieces}, scaled = full;
    scaled.scaled_decode = true;
    Dataset slow = open_dataset(source, Part::training, c.program, full),
            fast = open_dataset(source, Part::training, c.program, scaled);
    for (uint64_t epoch = 0; epoch < 32; ++epoch) {
      std::vector<float> expected(16), found(16);
      for (const auto& [data, values] : {std::pair{&slow, &expected}, {&fast, &found}}) {
        data->columns[0]->begin_epoch(epoch);
        data->columns[0]->read(0, reinterpret_cast<std::byte*>(values->data()));
      }
      double difference = 0;
      for (size_t i = 0; i < 16; ++i) difference += std::abs(static_cast<double>(expected[i] - found[i])) / 16;
      INFO("pieces " << pieces << ", epoch " << epoch);
      CHECK(difference < (pieces ? 0.12 : 0.06));  // the filters differ at the edges between the quarters
    }
  }
}

TEST_CASE("pictures are what their bytes say, not their names: damaged ones are refused") {
  const TemporaryDirectory place;
  if (can_read(".png")) {
    write_image(place / "a.jpg", kPng);
    const Image image = read_image(place / "a.jpg", 3);
    CHECK(image.width == 6);
    CHECK(image.height == 4);
    CHECK(image.pixels[3 * (6 * 3 + 5)] == 200);
    CHECK(image.pixels[3 * (6 * 3 + 5) + 1] == 180);
    CHECK(image.pixels[3 * (6 * 3 + 5) + 2] == 95);
    CHECK(read_image(place / "a.jpg", 1).pixels.size() == 24);
  }
  if (can_read(".jpg")) {
    write_image(place / "b.png", kJpeg);
    const Image image = read_image(place / "b.png", 1);
    REQUIRE(image.pixels.size() == 256);
    CHECK(image.pixels[2 * 16 + 2] == Approx(10).margin(2));
    CHECK(image.pixels[2 * 16 + 12] == Approx(200).margin(2));
    CHECK(image.pixels[12 * 16 + 2] == Approx(90).margin(2));
    CHECK(image.pixels[12 * 16 + 12] == Approx(250).margin(2));
    CHECK(read_image(place / "b.png", 3).channels == 3);
  }
  write_image(place / "c.png", "GIF89a");
  CHECK(code_of([&] { read_image(place / "c.png", 3); }) == Exit::unreadable_input);
  for (const std::string& whole : {kPng, kJpeg})
    for (size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      write_image(place / "d", damaged);
      CHECK_NOTHROW(code_of([&] { read_image(place / "d", 3); }));
      write_image(place / "d", whole.substr(0, at));
      if (at + 12 < whole.size())  // a PNG ends with an end marker, which libpng need not read
        CHECK(code_of([&] { read_image(place / "d", 3); }) != Exit::ok);
    }
}

TEST_CASE("pictures of 16 bits, of inks, and in color where the model sees gray, are what Pillow makes of them") {
  const TemporaryDirectory place;
  const auto read = [&](const std::string& text, int64_t channels) {
    write_image(place / "a", text);
    return read_image(place / "a", channels).pixels;
  };
  if (can_read(".png")) {
    CHECK(read(kDeepPng, 3) == std::vector<unsigned char>{0x80, 0x40, 0xff, 0x12, 0, 0x80});
    CHECK(read(kSmallPng, 3) == std::vector<unsigned char>{200, 100, 50, 0, 0, 255});
    CHECK(read(kSmallPng, 1) == std::vector<unsigned char>{124, 29});
  }
  if (can_read(".jpg")) {
    const std::vector<unsigned char> color = read(kInks, 3), gray = read(kInks, 1);
    REQUIRE(color.size() == 192);
    CHECK(color[0] == Approx(191).margin(1));
    CHECK(color[1] == Approx(95).margin(1));
    CHECK(color[2] == Approx(0).margin(1));
    REQUIRE(gray.size() == 64);
    CHECK(gray[63] == Approx(0.299 * 191 + 0.587 * 95).margin(2));
  }
}

TEST_CASE(
    "a folder of pictures: classes by name, cut from the middle, normalized: for training anywhere, and mirrored") {
  if (!can_read(".png")) return;
  const TemporaryDirectory place;
  const std::string source = "images:" + place.path();
  write_image(place / "cat/2.png", kPng);
  write_image(place / "cat/deep/1.PNG", kPng);
  write_image(place / "cat/notes.txt", "none");
  write_image(place / "ant/0.png", kPng);
  write_image(place / "cat/.ipynb_checkpoints/2-checkpoint.png", kPng);
  write_image(place / "cat/._2.png", kPng);
  write_image(place / ".ipynb_checkpoints/0.png", kPng);
  ImageClassifier c({2, 3, 4, 4});
  const ImageOptions plain{.mean = {0.5f}, .deviation = {0.25f, 0.5f, 1}};
  Dataset data = open_dataset(source, Part::test, c.program, plain);
  CHECK(data.samples == 3);
  int64_t label = 9;
  data.columns[1]->read(0, reinterpret_cast<std::byte*>(&label));
  CHECK(label == 0);
  data.columns[1]->read(2, reinterpret_cast<std::byte*>(&label));
  CHECK(label == 1);
  const auto picture = [](Dataset& from, uint64_t epoch) {
    std::vector<float> values(48);
    from.columns[0]->begin_epoch(epoch);
    from.columns[0]->read(1, reinterpret_cast<std::byte*>(values.data()));
    return values;
  };
  const std::vector<float> middle = picture(data, 0);
  CHECK(middle[0] == Approx((40.0 / 255 - 0.5) / 0.25));             // red of x = 1
  CHECK(middle[3] == Approx((160.0 / 255 - 0.5) / 0.25));            // of x = 4
  CHECK(middle[16 + 12] == Approx((180.0 / 255 - 0.5) / 0.5));       // green of y = 3
  CHECK(middle[47] == Approx((255 - 20.0 * 7) / 255 - 0.5));         // blue of x = 4, y = 3
  CHECK(picture(data, 1) == middle);

  // They depend on the epoch and the sample, not on what was read before.
  ImageOptions augmented = plain;
  augmented.random_crop = augmented.flip = true;
  Dataset training = open_dataset(source, Part::training, c.program, augmented),
          test = open_dataset(source, Part::test, c.program, augmented);
  CHECK(picture(test, 5) == middle);
  std::set<std::vector<float>> seen;
  for (uint64_t epoch = 0; epoch < 64; ++epoch) seen.insert(picture(training, epoch));
  CHECK(seen.size() == 6);  // three positions, two orientations
  CHECK(picture(training, 7) == picture(training, 7));

  // Crops of any size. Red increases from left to right in each of them.
  ImageOptions pieces = plain;
  pieces.random_resized_crop = true;
  Dataset cut_anywhere = open_dataset(source, Part::training, c.program, pieces),
          whole = open_dataset(source, Part::test, c.program, pieces);
  CHECK(picture(whole, 5) == middle);
  std::set<std::vector<float>> found;
  for (uint64_t epoch = 0; epoch < 64; ++epoch) {
    const std::vector<float> piece = picture(cut_anywhere, epoch);
    found.insert(piece);
    for (size_t i = 0; i < 16; ++i) CHECK((i % 4 == 0 || piece[i] >= piece[i - 1]));
    CHECK(*std::min_element(piece.begin(), piece.begin() + 16) >= (0 - 0.5F) / 0.25F - 1e-5F);
    CHECK(*std::max_element(piece.begin(), piece.begin() + 16) <= (200 / 255.0F - 0.5F) / 0.25F + 1e-5F);
  }
  CHECK(found.size() > 15);
  CHECK(picture(cut_anywhere, 7) == picture(cut_anywhere, 7));

  // Colours change as determined by epoch and sample, and stay in range.
  ImageOptions colors{.color_jitter = 0.5F};
  Dataset jittered = open_dataset(source, Part::training, c.program, colors),
          as_it_is = open_dataset(source, Part::test, c.program, colors);
  std::set<std::vector<float>> tints;
  for (uint64_t epoch = 0; epoch < 16; ++epoch) {
    const std::vector<float> tint = picture(jittered, epoch);
    tints.insert(tint);
    for (const float value : tint) CHECK((value >= 0 && value <= 1));
  }
  CHECK(tints.size() == 16);
  CHECK(picture(as_it_is, 3) == picture(as_it_is, 4));

  // Enlarged if smaller than the model's input.
  ImageClassifier larger({2, 1, 9, 9});
  Dataset grown = open_dataset(source, Part::test, larger.program, {});
  std::vector<float> values(81);
  CHECK_NOTHROW(grown.columns[0]->read(0, reinterpret_cast<std::byte*>(values.data())));

  // Original size unless requested otherwise: the middle of 6 x 4.
  ImageClassifier small({2, 3, 2, 2});
  Dataset cut = open_dataset(source, Part::test, small.program, {});
  std::vector<float> middle_of(12);
  cut.columns[0]->read(1, reinterpret_cast<std::byte*>(middle_of.data()));
  CHECK(middle_of[0] == Approx(80.0 / 255));  // red of x = 2

  CHECK(cut.warnings.empty());
  std::filesystem::create_directories(place / "bee");
  ImageClassifier three({2, 3, 4, 4}, 3);
  const Dataset with_empty = open_dataset(source, Part::test, three.program, {});
  REQUIRE(with_empty.warnings.size() == 1);
  CHECK(with_empty.warnings[0].find("1 folder of a class: bee") != std::string::npos);
  CHECK_THROWS_WITH(open_dataset(source, Part::test, c.program, {}),
                    Catch::Matchers::Contains("3 folders") && Catch::Matchers::Contains("2 of them: ant, bee, cat"));
  std::filesystem::remove(place / "bee");

  const auto opened = [&](ImageClassifier with, const ImageOptions& options, const std::string& what) {
    return code_of([&] { open_dataset(what, Part::training, with.program, options); });
  };
  CHECK(opened(ImageClassifier({2, 3, 4, 4}, 3), plain, source) == Exit::invalid_model);
  CHECK(opened(ImageClassifier({2, 2, 4, 4}), plain, source) == Exit::invalid_model);
  CHECK(opened(ImageClassifier({2, 48}), plain, source) == Exit::invalid_model);
  CHECK(opened(ImageClassifier({2, 3, 4, 4}), {.resize = 3}, source) == Exit::usage);
  CHECK(opened(ImageClassifier({2, 3, 4, 4}), {.mean = {1, 2}}, source) == Exit::usage);
  CHECK(opened(ImageClassifier({2, 3, 4, 4}), plain, source + "/nowhere") == Exit::unreadable_input);
  CHECK(opened(ImageClassifier({2, 3, 4, 4}), plain, source + "/cat") == Exit::invalid_model);
}
