// Names from a model never reach source text as they are: a node may be called `*/ system("x"); /*` or end in a
// backslash. Identifiers have letters and digits only (identifiers.h); comments and string literals are made harmless here.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/tensor_type.h"

namespace plimsoll {

// For a `//` comment or a line of Markdown: printable ASCII on one line without backslash, quote, backquote, angle
// brackets or "??"; everything else becomes '_'. Long names are cut.
std::string comment_safe(std::string_view name);

// A literal with its quotes; every byte but plain ASCII letters, digits and harmless signs as three octal digits.
std::string string_literal(std::string_view bytes);

// "ConvBackwardData" → "conv_backward_data"
std::string snake_case(std::string_view camel_case);

// The same source with lines of at most 120 columns: broken behind commas, a comment moved in front of its line. A
// string literal is left whole.
std::string within_columns(std::string_view source);

// "f32({n, 64, 56, 56}, Layout::nChw16c)", where `samples` stands for the number of samples: a variable or a figure.
std::string desc_literal(const TensorType& type, std::string_view samples);

}  // namespace plimsoll
