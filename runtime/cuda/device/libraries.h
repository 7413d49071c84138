// Why a shared library cannot be loaded: the loader's own words, for messages of libraries that load parts of
// themselves on demand and say nothing of it.
#pragma once

#include <string>

namespace plimsoll::cuda {

// dlerror()'s text, such as "libcudnn_heuristic.so.9: cannot open shared object file: No such file or directory"; "" if
// the library can be loaded. `beside`: an address in a library whose folder is searched first; null for none. What is
// loaded stays loaded.
std::string why_not_loaded(const std::string& name, const void* beside = nullptr);

}  // namespace plimsoll::cuda
