// Decodes, resizes and crops images.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::train {

// Rows from the top, channels interleaved: 1 (gray) or 3 (red, green, blue), 0…255.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<unsigned char> pixels = {};
};

// Reads a PNG or JPEG, recognized by its first bytes, and converts it to `channels` as Pillow does: 16 bits to 8, CMYK
// to RGB, colors to gray. Transparency is blended with black. The EXIF orientation is ignored. Needs memory for its
// pixels, at most 179 million, which is Pillow's limit. Throws TrainerError: unreadable_input, naming the file;
// environment if this program was built without the library.
Image read_image(const std::string& path, int64_t channels);

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
