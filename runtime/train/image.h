// Pictures: decoded, resized, cropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::train {

// Rows from the top, channels side by side: 1 (gray) or 3 (red, green, blue), 0…255.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<float> pixels = {};
};

// PNG or JPEG, told by its first bytes, converted to that many channels as Pillow converts them: 16 bits to 8, inks (CMYK) to colors, colors to
// gray. Transparency lies on black; a camera's note of how it was held (EXIF) turns nothing.
// Throws TrainerError: unreadable_input, naming the file; environment, where this program was built without the library.
Image read_image(const std::string& path, int64_t channels);

// By a triangle as wide as a pixel of the smaller of both, each axis by itself: what Pillow calls bilinear and torchvision
// antialiased. A picture made smaller is averaged, not sampled.
Image resized(const Image& image, int64_t width, int64_t height);

// Extensions that read_image can read in this build: ".png .jpg .jpeg"; "" if none.
std::string readable_extensions();

}  // namespace plimsoll::train
