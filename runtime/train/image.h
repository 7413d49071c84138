// Pictures: decoded, resized, cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::train {

// Rows from the top, channels side by side: 1 (gray) or 3 (red, green, blue), 0…255.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<unsigned char> pixels = {};
};

// PNG or JPEG, told by its first bytes, converted to that many channels as Pillow converts them: 16 bits to 8, inks (CMYK) to colors, colors to
// gray. Transparency lies on black; a camera's note of how it was held (EXIF) turns nothing.
// What it takes is the bytes of its pixels, of which there are at most 179 million, as Pillow has it.
// Throws TrainerError: unreadable_input, naming the file; environment, where this program was built without the library.
Image read_image(const std::string& path, int64_t channels);

// The rows [top, top + height) of a picture, and of them the columns [left, left + width).
struct Piece {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

// The piece of the picture made `width` x `height`; no more of it is computed. By a triangle as wide as a pixel of the smaller of both, each axis by itself: what Pillow calls bilinear and torchvision
// antialiased. A picture made smaller is averaged, not sampled.
std::vector<float> resized(const Image& image, int64_t width, int64_t height, const Piece& piece);

// Extensions that read_image can read in this build: ".png .jpg .jpeg"; "" if none.
std::string readable_extensions();

}  // namespace plimsoll::train
