// Names from a model never reach source text unescaped: a node may be called `*/ system("x"); /*` or end in a
// backslash. Identifiers consist of letters and digits only (identifiers.h). Comments and string literals are escaped
// here.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/tensor_type.h"

namespace plimsoll {

// For a `//` comment or a line of Markdown: printable ASCII on one line, without backslash, quote, backquote, angle
// brackets or "??". Every other byte becomes '_'. Long names are truncated.
std::string comment_safe(std::string_view name);

// A literal with its quotes. Every byte except plain ASCII letters, digits and safe punctuation becomes three octal
// digits.
std::string string_literal(std::string_view bytes);

// "ConvBackwardData" → "conv_backward_data"
std::string snake_case(std::string_view camel_case);

// Breaks lines at commas to at most 120 columns, and moves comments in front of their line. String literals are never
// broken.
std::string within_columns(std::string_view source);

// "f32({n, 64, 56, 56}, Layout::nChw16c)". `samples`: a variable or a number.
std::string desc_literal(const TensorType& type, std::string_view samples);

}  // namespace plimsoll
