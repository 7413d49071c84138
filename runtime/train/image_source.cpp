// images:DIR: a folder for each class, in the order of their names. All images below it are samples of that class.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "runtime/train/counted.h"
#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/image.h"
#include "runtime/train/random.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

struct ImageFile {
  std::string path;
  int64_t label;
};

bool is_image_file(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

// Sorted, so that the file system does not decide the order. Skips names that begin with a dot, such as
// .ipynb_checkpoints and ._1.jpg.
std::vector<std::string> sorted_entries(const std::string& directory, bool folders) {
  std::error_code failure;
  std::vector<std::string> names;
  for (fs::recursive_directory_iterator at(directory, failure), end; !failure && at != end; at.increment(failure)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    if (folders || hidden) at.disable_recursion_pending();
    std::error_code unknown;
    if (hidden) continue;
    if (folders ? at->is_directory(unknown) : at->is_regular_file(unknown) && is_image_file(at->path()))
      names.push_back(at->path().string());
  }
  if (failure) throw TrainerError(Exit::unreadable_input, "cannot read '" + directory + "': " + failure.message());
  std::sort(names.begin(), names.end());
  return names;
}

struct Folders {
  std::vector<std::string> classes = {};  // names, by label
  std::vector<std::string> empty = {};    // classes without an image
  std::vector<ImageFile> images = {};
};

// `loose`: images in the directory itself are also samples, without a class.
Folders folders_in(const std::string& directory, bool loose) {
  Folders found;
  std::error_code failure;  // sorted_entries() reports it
  for (fs::directory_iterator at(directory, failure), end; loose && !failure && at != end; at.increment(failure)) {
    std::error_code unknown;
    const bool hidden = at->path().filename().string().starts_with('.');
    if (!hidden && at->is_regular_file(unknown) && is_image_file(at->path()))
      found.images.push_back({at->path().string(), 0});
  }
  std::ranges::sort(found.images, {}, &ImageFile::path);
  for (const std::string& folder : sorted_entries(directory, true)) {
    const std::vector<std::string> paths = sorted_entries(folder, false);
    const auto label = static_cast<int64_t>(found.classes.size());
    for (const std::string& path : paths) found.images.push_back({path, label});
    found.classes.push_back(fs::path(folder).filename().string());
    if (paths.empty()) found.empty.push_back(found.classes.back());
  }
  return found;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i ? ", " : "") + names[i];
  return text + (names.size() > kShown ? ", …" : "");
}

// In [0, 1).
double chance(uint64_t key, uint64_t number) { return static_cast<double>(random_bits(key, number) >> 11) * 0x1p-53; }

Image cut_out(const Image& image, const Piece& piece) {
  Image cut{.width = piece.width, .height = piece.height, .channels = image.channels};
  const auto row = static_cast<size_t>(piece.width * image.channels);
  cut.pixels.resize(row * static_cast<size_t>(piece.height));
  for (int64_t y = 0; y < piece.height; ++y)
    std::memcpy(cut.pixels.data() + static_cast<size_t>(y) * row,
                image.pixels.data() + ((piece.top + y) * image.width + piece.left) * image.channels, row);
  return cut;
}

// Of an image file.
struct Sides {
  int64_t width, height;
};

// The same piece of an image that was decoded at 1 / shrunk of its size.
Piece shrunk_piece(const Piece& piece, const Image& image) {
  const int64_t left = piece.left / image.shrunk, top = piece.top / image.shrunk;
  return {left, top, std::min(shrunk_to(piece.left + piece.width, image.shrunk), image.width) - left,
          std::min(shrunk_to(piece.top + piece.height, image.shrunk), image.height) - top};
}

// As torchvision.transforms.RandomResizedCrop: ten attempts, then a center crop with the nearest allowed aspect ratio.
Piece any_piece(const Sides& image, uint64_t key) {
  constexpr double kLeast = 0.08, kNarrow = 3.0 / 4, kWide = 4.0 / 3;
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (uint64_t attempt = 0; attempt < 10; ++attempt) {
    const double area = width * height * (kLeast + (1 - kLeast) * chance(key, 16 + 4 * attempt));
    const double ratio =
        std::exp(std::log(kNarrow) + (std::log(kWide) - std::log(kNarrow)) * chance(key, 17 + 4 * attempt));
    const int64_t w = std::lround(std::sqrt(area * ratio)), h = std::lround(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > image.width || h > image.height) continue;
    return {static_cast<int64_t>(random_bits(key, 18 + 4 * attempt) % static_cast<uint64_t>(image.width - w + 1)),
            static_cast<int64_t>(random_bits(key, 19 + 4 * attempt) % static_cast<uint64_t>(image.height - h + 1)), w,
            h};
  }
  const double ratio = width / height;
  const int64_t w = ratio > kWide ? std::lround(height * kWide) : image.width,
                h = ratio < kNarrow ? std::lround(width / kNarrow) : image.height;
  return {(image.width - w) / 2, (image.height - h) / 2, w, h};
}

// As torchvision.transforms.ColorJitter with three equal numbers, in a fixed order: brightness, contrast, saturation.
// Pixels are from 0 to 255.
void jitter(std::vector<float>& pixels, int64_t channels, double most, uint64_t key) {
  const auto factor = [&](uint64_t number) {
    return static_cast<float>(std::max(0.0, 1 - most) + (1 + most - std::max(0.0, 1 - most)) * chance(key, number));
  };
  const auto gray = [&](size_t i) {
    return channels == 1 ? pixels[i] : 0.299F * pixels[i] + 0.587F * pixels[i + 1] + 0.114F * pixels[i + 2];
  };
  const auto blend = [](float value, float with, float by) {
    return std::clamp(with + by * (value - with), 0.0F, 255.0F);
  };
  const auto step = static_cast<size_t>(channels);
  const float brightness = factor(3), contrast = factor(4), saturation = factor(5);
  for (float& value : pixels) value = blend(value, 0, brightness);
  double mean = 0;
  for (size_t i = 0; i < pixels.size(); i += step) mean += static_cast<double>(gray(i));
  mean /= static_cast<double>(std::max<size_t>(1, pixels.size() / step));
  for (float& value : pixels) value = blend(value, static_cast<float>(mean), contrast);
  for (size_t i = 0; channels == 3 && i < pixels.size(); i += 3) {
    const float of_pixel = gray(i);
    for (size_t c = 0; c < 3; ++c) pixels[i + c] = blend(pixels[i + c], of_pixel, saturation);
  }
}

// Resizes the shorter side to `resize` and crops the center, or a random place in training; or, in training, resizes a
// random piece. In training, jitters colors and flips at random. Then normalizes: (x / 255 - mean) / std for each
// channel.
class ImageColumn final : public Column {
 public:
  ImageColumn(std::shared_ptr<const std::vector<ImageFile>> images, const TensorDesc& desc, const ImageOptions& options,
              bool training)
      : files_(std::move(images)),
        channels_(desc.dim(1)),
        height_(desc.dim(2)),
        width_(desc.dim(3)),
        options_(options),
        training_(training) {}

  int64_t samples() const override { return static_cast<int64_t>(files_->size()); }
  void begin_epoch(uint64_t key) override { key_ = key; }

  void read(int64_t index, std::byte* to) override {
    const std::string& path = (*files_)[static_cast<size_t>(index)].path;
    const uint64_t key = random_bits(key_, static_cast<uint64_t>(index));
    try {
      // The size of the file decides what is cut out. A JPEG tells it before its pixels are decoded.
      Sides sides{};
      const Image image = read_image(path, channels_, [&](int64_t width, int64_t height) {
        sides = {width, height};
        return options_.scaled_decode ? shrinkage_of(sides, key) : 1;
      });
      if (sides.width == 0) sides = {image.width, image.height};
      read(image, sides, key, reinterpret_cast<float*>(to));
    } catch (const std::bad_alloc&) {
      throw TrainerError(Exit::unreadable_input,
                         "cannot read image '" + path + "': this machine has not enough memory left for its pixels");
    }
  }

 private:
  bool takes_any_piece() const { return training_ && options_.random_resized_crop; }

  // So that neither side of what is resized becomes smaller than it is after resizing.
  int64_t shrinkage_of(const Sides& sides, uint64_t key) const {
    if (takes_any_piece()) {
      const Piece piece = any_piece(sides, key);
      return std::min(piece.width / width_, piece.height / height_);
    }
    const auto [width, height] = resized_sides(sides);
    return std::min(sides.width / width, sides.height / height);
  }

  void read(const Image& image, const Sides& sides, uint64_t key, float* out) const {
    std::vector<float> pixels = takes_any_piece() ? resized(cut_out(image, shrunk_piece(any_piece(sides, key), image)),
                                                            width_, height_, {0, 0, width_, height_})
                                                  : middle_or_any(image, sides, key);
    if (training_ && options_.color_jitter > 0)
      jitter(pixels, channels_, static_cast<double>(options_.color_jitter), key);
    const bool mirrored = training_ && options_.flip && random_bits(key, 2) % 2 == 1;
    for (int64_t c = 0; c < channels_; ++c) {
      const float scale = 1 / (255 * options_.deviation_of(c)), shift = -options_.mean_of(c) / options_.deviation_of(c);
      for (int64_t y = 0; y < height_; ++y)
        for (int64_t x = 0; x < width_; ++x) {
          const int64_t from = mirrored ? width_ - 1 - x : x;
          *out++ = pixels[static_cast<size_t>((y * width_ + from) * channels_ + c)] * scale + shift;
        }
    }
  }

  std::vector<float> middle_or_any(const Image& image, const Sides& sides, uint64_t key) const {
    const auto [width, height] = resized_sides(sides);
    const bool anywhere = training_ && options_.random_crop;
    const int64_t spare_x = width - width_, spare_y = height - height_;
    const int64_t left =
        anywhere ? static_cast<int64_t>(random_bits(key, 0) % static_cast<uint64_t>(spare_x + 1)) : spare_x / 2;
    const int64_t top =
        anywhere ? static_cast<int64_t>(random_bits(key, 1) % static_cast<uint64_t>(spare_y + 1)) : spare_y / 2;
    return resized(image, width, height, {left, top, width_, height_});
  }

  // --resize, or the original size; larger if the crop does not fit.
  std::pair<int64_t, int64_t> resized_sides(const Sides& image) const {
    const auto shorter = static_cast<double>(std::min(image.width, image.height));
    const double wanted = options_.resize > 0 ? static_cast<double>(options_.resize) / shorter : 1;
    const double needed = std::max(static_cast<double>(width_) / static_cast<double>(image.width),
                                   static_cast<double>(height_) / static_cast<double>(image.height));
    const double scale = std::max(wanted, needed);
    const auto side = [&](int64_t old, int64_t least) {
      return std::max(least, static_cast<int64_t>(std::lround(static_cast<double>(old) * scale)));
    };
    return {side(image.width, width_), side(image.height, height_)};
  }

  std::shared_ptr<const std::vector<ImageFile>> files_;
  int64_t channels_, height_, width_;
  ImageOptions options_;
  bool training_;
  uint64_t key_ = 0;
};

class ImageLabels final : public Column {
 public:
  ImageLabels(std::shared_ptr<const std::vector<ImageFile>> images, DataType type)
      : files_(std::move(images)), type_(type) {}
  int64_t samples() const override { return static_cast<int64_t>(files_->size()); }
  void read(int64_t index, std::byte* to) override {
    const int64_t label = (*files_)[static_cast<size_t>(index)].label;
    const auto narrow = static_cast<int32_t>(label);
    if (type_ == DataType::i64) std::memcpy(to, &label, 8);
    else std::memcpy(to, &narrow, 4);
  }

 private:
  std::shared_ptr<const std::vector<ImageFile>> files_;
  DataType type_;
};

}  // namespace

void open_images(Dataset& dataset, const std::string& directory, Part part, const ImageOptions& options,
                 const Program& program) {
  const auto refuse = [&](Exit code, const std::string& what) {
    throw TrainerError(code, "'" + directory + "': " + what);
  };
  const std::span<const ProgramInput> inputs = program.inputs;
  const bool fits = inputs.size() == 2 && inputs[0].desc.type == DataType::f32 && inputs[0].desc.rank() == 4 &&
                    (inputs[0].desc.dim(1) == 1 || inputs[0].desc.dim(1) == 3) && inputs[1].desc.rank() == 1 &&
                    (inputs[1].desc.type == DataType::i32 || inputs[1].desc.type == DataType::i64);
  if (!fits)
    refuse(Exit::invalid_model,
           "images are for models of one input f32[1,H,W] or f32[3,H,W] and one class; the first input here is " +
               shape_text(inputs[0].desc));
  if (readable_extensions().empty())
    refuse(Exit::environment,
           "this trainer was built without libpng and libjpeg; install them (Debian: libpng-dev libjpeg62-turbo-dev) "
           "and build again");
  const int64_t least = std::min(inputs[0].desc.dim(2), inputs[0].desc.dim(3));
  if (options.resize > 0 && options.resize < least)
    refuse(Exit::usage,
           "--resize " + std::to_string(options.resize) + " is less than the model's input, " + std::to_string(least));
  const int64_t channels = inputs[0].desc.dim(1);
  for (const auto& [name, list] : {std::pair{"--mean", &options.mean}, {"--std", &options.deviation}})
    if (list->size() > 1 && static_cast<int64_t>(list->size()) != channels)
      refuse(Exit::usage, std::string(name) + " has " + counted(static_cast<int64_t>(list->size()), "number") +
                              ", but the input has " + counted(channels, "channel"));
  const bool predicts = part == Part::prediction;
  Folders found = folders_in(directory, predicts);
  if (found.images.empty())
    refuse(Exit::unreadable_input, predicts ? "there is no image (.png, .jpg, .jpeg)"
                                            : "there is no image (.png, .jpg, .jpeg) in a folder of a class");
  if (const auto classes = static_cast<int64_t>(found.classes.size());
      !predicts && program.classes > 0 && classes != program.classes)
    refuse(Exit::invalid_model, "it has " + counted(classes, "folder") + ", one for each class, but the model has " +
                                    std::to_string(program.classes) + " of them: " + listed(found.classes));
  if (!found.empty.empty() && !predicts)
    dataset.warnings.push_back("'" + directory + "': no image (.png, .jpg, .jpeg) is in " +
                               counted(static_cast<int64_t>(found.empty.size()), "folder") +
                               " of a class: " + listed(found.empty));
  const auto images = std::make_shared<const std::vector<ImageFile>>(std::move(found.images));
  dataset.columns.push_back(std::make_unique<ImageColumn>(images, inputs[0].desc, options, part == Part::training));
  dataset.columns.push_back(std::make_unique<ImageLabels>(images, inputs[1].desc.type));
  dataset.name_of = [images](int64_t index) { return (*images)[static_cast<size_t>(index)].path; };
  if (predicts) return;
  dataset.classes = std::move(found.classes);
  dataset.preparation = {{"source", "images"}};
  if (options.resize > 0) dataset.preparation.emplace_back("resize", std::to_string(options.resize));
  dataset.preparation.emplace_back("crop",
                                   std::to_string(inputs[0].desc.dim(2)) + "x" + std::to_string(inputs[0].desc.dim(3)));
  dataset.preparation.emplace_back("mean", list_text(options.mean));
  dataset.preparation.emplace_back("std", list_text(options.deviation));
}

}  // namespace plimsoll::train
