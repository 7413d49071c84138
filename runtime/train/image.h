// Decodes, resizes and crops images.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll::train {

// Rows from the top, channels interleaved: 1 (gray) or 3 (red, green, blue), 0…255.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<unsigned char> pixels = {};
  int64_t shrunk = 1;  // decoded at 1 / shrunk of its size: width and height are those of the file, divided, rounded up
};

// A side of `pixels` pixels, decoded at 1 / shrunk of its size.
inline int64_t shrunk_to(int64_t pixels, int64_t shrunk) { return (pixels + shrunk - 1) / shrunk; }

// By how much an image of this size may be shrunk while it is decoded.
using Shrinkage = std::function<int64_t(int64_t width, int64_t height)>;

// Reads a PNG or JPEG, recognized by its first bytes, and converts it to `channels` as Pillow does: 16 bits to 8, CMYK
// to RGB, colors to gray. Transparency is blended with black. The EXIF orientation is ignored. Needs memory for its
// pixels, at most 179 million, which is Pillow's limit. Throws TrainerError: unreadable_input, naming the file;
// environment if this program was built without the library.
// `shrinkage`: a JPEG is decoded at 1/2, 1/4 or 1/8 of its size if that is no less than 1 / shrinkage(); libjpeg then
// skips most of the work. Without it, and for a PNG, at its size.
Image read_image(const std::string& path, int64_t channels, const Shrinkage& shrinkage = {});

// A rectangle of an image: rows [top, top + height), columns [left, left + width).
struct Piece {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

// The given piece of the image after resizing it to `width` x `height`; only the piece is computed. Separable triangle
// filter with antialiasing: Pillow's BILINEAR, and torchvision's bilinear with antialias=True.
std::vector<float> resized(const Image& image, int64_t width, int64_t height, const Piece& piece);

// File extensions that this build can read: ".png .jpg .jpeg"; "" if none.
std::string readable_extensions();

}  // namespace plimsoll::train
