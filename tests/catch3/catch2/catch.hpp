// Catch2 3 by the names of Catch2 2, which the tests are written against: Debian 12 has the one, Debian 13 the other.
#pragma once

#include <catch2/catch_all.hpp>

namespace Catch {

namespace Matchers {

// In Catch2 3, Contains() is of ranges, and takes a text for an element. As exact as the template, these are preferred.
inline StringContainsMatcher Contains(const char* text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(const std::string& text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(std::string& text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(std::string&& text) { return ContainsSubstring(text); }

}  // namespace Matchers

using Matchers::Contains;

}  // namespace Catch

using Catch::Approx;
