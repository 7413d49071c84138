#include "runtime/train/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/train/error.h"
#include "runtime/train/file.h"

#ifdef PLIMSOLL_HAS_PNG
#include <png.h>
#endif
#ifdef PLIMSOLL_HAS_JPEG
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
#endif

namespace plimsoll::train {
namespace {

// A small file can claim to be an image that fills the memory. Pillow's limit.
constexpr int64_t kMostPixels = 178'956'970;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw TrainerError(Exit::unreadable_input, "cannot read image '" + path + "': " + why);
}

[[noreturn, maybe_unused]] void built_without(const std::string& path, const char* library) {
  throw TrainerError(Exit::environment, "cannot read image '" + path + "': this trainer was built without " + library +
                                            "; install it (Debian: libpng-dev libjpeg62-turbo-dev) and build again");
}

// Gray by BT.601 on the stored (not linear) values, as JPEG files and Pillow's `convert("L")` have it.
[[maybe_unused]] Image gray_of(const Image& colored) {
  Image gray{colored.width, colored.height, 1};
  gray.pixels.reserve(colored.pixels.size() / 3);
  for (size_t i = 0; i + 2 < colored.pixels.size(); i += 3)
    gray.pixels.push_back(static_cast<unsigned char>(std::round(0.299f * static_cast<float>(colored.pixels[i]) +
                                                                0.587f * static_cast<float>(colored.pixels[i + 1]) +
                                                                0.114f * static_cast<float>(colored.pixels[i + 2]))));
  return gray;
}

[[maybe_unused]] void check_size(const std::string& path, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > kMostPixels / height)
    refuse(path, "it says that it has " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
}

#ifdef PLIMSOLL_HAS_PNG
Image read_png(const std::string& path, const std::vector<unsigned char>& file, int64_t channels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, file.data(), file.size())) refuse(path, png.message);
  // Not by libpng, which would convert linear light.
  const bool to_gray = channels == 1 && (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  const int64_t stored = to_gray ? 3 : channels;
  png.format = stored == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit values are sRGB, too
  if (png.width < 1 || png.height < 1 || png.width > kMostPixels / png.height) {
    png_image_free(&png);
    check_size(path, png.width, png.height);
  }
  std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(png));
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&png, &black, pixels.data(), 0, nullptr)) refuse(path, png.message);
  Image image{png.width, png.height, stored, std::move(pixels)};
  return to_gray ? gray_of(image) : image;
}
#endif

#ifdef PLIMSOLL_HAS_JPEG
struct JpegError {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void on_jpeg_error(j_common_ptr common) {
  JpegError* const error = reinterpret_cast<JpegError*>(common->err);
  common->err->format_message(common, error->message);
  std::longjmp(error->back, 1);
}

// libjpeg fills the rest of a damaged image with gray. Such an image is refused.
void on_jpeg_message(j_common_ptr common, int level) {
  if (level < 0) on_jpeg_error(common);
}

struct JpegSize {
  int64_t width = 0, height = 0;
  bool inks = false;  // CMYK
};

// CMYK inverted as Adobe stores it (255: no ink), which Pillow assumes for all files. Rare, but found in ImageNet.
Image without_inks(const std::vector<unsigned char>& inks, int64_t width, int64_t height) {
  Image image{width, height, 3};
  image.pixels.reserve(inks.size() / 4 * 3);
  for (size_t i = 0; i + 3 < inks.size(); i += 4)
    for (size_t color = 0; color < 3; ++color)
      image.pixels.push_back(static_cast<unsigned char>(
          std::round(static_cast<float>(inks[i + color]) * static_cast<float>(inks[i + 3]) / 255)));
  return image;
}

// All calls of libjpeg. No object here may have a destructor, because errors leave by longjmp. `pixels` null: reads
// only the size. `shrunk`: 1, 2, 4 or 8, which divides the size. Returns false on an error; error.message says why.
bool decode_jpeg(jpeg_decompress_struct& jpeg, JpegError& error, const unsigned char* data, size_t bytes,
                 int64_t channels, int64_t shrunk, JpegSize& size, unsigned char* pixels) {
  jpeg.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = on_jpeg_error;
  error.manager.emit_message = on_jpeg_message;
  if (setjmp(error.back)) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, data, static_cast<unsigned long>(bytes));
  jpeg_read_header(&jpeg, TRUE);
  size = {static_cast<int64_t>(jpeg.image_width), static_cast<int64_t>(jpeg.image_height),
          jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK};
  if (pixels) {
    jpeg.out_color_space = channels == 4 ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg.scale_num = 1;
    jpeg.scale_denom = static_cast<unsigned>(shrunk);
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = pixels + static_cast<int64_t>(jpeg.output_scanline) * jpeg.output_width * channels;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
  }
  jpeg_destroy_decompress(&jpeg);
  return true;
}

Image read_jpeg(const std::string& path, const std::vector<unsigned char>& file, int64_t channels,
                const Shrinkage& shrinkage) {
  jpeg_decompress_struct jpeg{};
  JpegError error{};
  JpegSize size;
  if (!decode_jpeg(jpeg, error, file.data(), file.size(), channels, 1, size, nullptr)) refuse(path, error.message);
  check_size(path, size.width, size.height);
  const int64_t stored = size.inks ? 4 : channels, least = shrinkage ? shrinkage(size.width, size.height) : 1;
  const int64_t shrunk = least >= 8 ? 8 : least >= 4 ? 4 : least >= 2 ? 2 : 1;
  const int64_t width = shrunk_to(size.width, shrunk), height = shrunk_to(size.height, shrunk);
  std::vector<unsigned char> pixels(static_cast<size_t>(width * height * stored));
  if (!decode_jpeg(jpeg, error, file.data(), file.size(), stored, shrunk, size, pixels.data()))
    refuse(path, error.message);
  Image image = size.inks ? without_inks(pixels, width, height) : Image{width, height, channels, std::move(pixels)};
  if (size.inks && channels == 1) image = gray_of(image);
  image.shrunk = shrunk;
  return image;
}
#endif

// The source pixels of a resized pixel, with their weights.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights = {};
};

// For the resized pixels [begin, begin + count) of `to`.
std::vector<Taps> taps_of(int64_t from, int64_t to, int64_t begin, int64_t count) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(1.0, scale);
  std::vector<Taps> all(static_cast<size_t>(count));
  for (int64_t i = begin; i < begin + count; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(center + reach + 0.5));
    Taps& taps = all[static_cast<size_t>(i - begin)];
    taps.first = first;
    double sum = 0;
    for (int64_t k = first; k < end; ++k) {
      const double weight = std::max(0.0, 1 - std::abs((static_cast<double>(k) + 0.5 - center) / reach));
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

}  // namespace

std::string readable_extensions() {
  std::string list;
#ifdef PLIMSOLL_HAS_PNG
  list += ".png ";
#endif
#ifdef PLIMSOLL_HAS_JPEG
  list += ".jpg .jpeg ";
#endif
  if (!list.empty()) list.pop_back();
  return list;
}

Image read_image(const std::string& path, [[maybe_unused]] int64_t channels,
                 [[maybe_unused]] const Shrinkage& shrinkage) {
  const InputFile input(path);
  std::vector<unsigned char> file(static_cast<size_t>(input.bytes()));
  input.read(0, reinterpret_cast<std::byte*>(file.data()), input.bytes());
  if (file.size() >= 8 && std::memcmp(file.data(), "\x89PNG\r\n\x1a\n", 8) == 0) {
#ifdef PLIMSOLL_HAS_PNG
    return read_png(path, file, channels);
#else
    built_without(path, "libpng");
#endif
  }
  if (file.size() >= 3 && std::memcmp(file.data(), "\xff\xd8\xff", 3) == 0) {
#ifdef PLIMSOLL_HAS_JPEG
    return read_jpeg(path, file, channels, shrinkage);
#else
    built_without(path, "libjpeg");
#endif
  }
  refuse(path, "it is neither PNG nor JPEG");
}

std::vector<float> resized(const Image& image, int64_t width, int64_t height, const Piece& piece) {
  const int64_t c = image.channels, wide = piece.width * c;
  const auto row_of = [&](int64_t y) { return image.pixels.data() + y * image.width * c; };
  std::vector<float> result(static_cast<size_t>(piece.height * wide));
  if (width == image.width && height == image.height) {
    for (int64_t y = 0; y < piece.height; ++y)
      std::copy_n(row_of(piece.top + y) + piece.left * c, wide, result.data() + y * wide);
    return result;
  }
  const std::vector<Taps> columns = taps_of(image.width, width, piece.left, piece.width);
  const std::vector<Taps> rows = taps_of(image.height, height, piece.top, piece.height);
  const int64_t first = rows.front().first, end = rows.back().first + static_cast<int64_t>(rows.back().weights.size());
  std::vector<float> across(static_cast<size_t>((end - first) * wide));
  for (int64_t y = first; y < end; ++y)
    for (int64_t x = 0; x < piece.width; ++x) {
      const Taps& taps = columns[static_cast<size_t>(x)];
      for (int64_t channel = 0; channel < c; ++channel) {
        float sum = 0;
        for (size_t k = 0; k < taps.weights.size(); ++k)
          sum += taps.weights[k] * static_cast<float>(row_of(y)[(taps.first + static_cast<int64_t>(k)) * c + channel]);
        across[static_cast<size_t>((y - first) * wide + x * c + channel)] = sum;
      }
    }
  for (int64_t y = 0; y < piece.height; ++y) {
    const Taps& taps = rows[static_cast<size_t>(y)];
    float* const to = result.data() + y * wide;
    for (size_t k = 0; k < taps.weights.size(); ++k) {
      const float* const from = across.data() + (taps.first - first + static_cast<int64_t>(k)) * wide;
      for (int64_t i = 0; i < wide; ++i) to[i] += taps.weights[k] * from[i];
    }
  }
  return result;
}

}  // namespace plimsoll::train
