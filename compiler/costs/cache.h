// A cache of measured costs across runs of the compiler. There is one file per backend, device, library, profiler and
// number of threads, with one line per task and one for the links. Lines are only appended, each in one write under a
// lock, so that several compilers can share a file. A line that cannot be read (a torn write, another version) is
// ignored.
#pragma once

#include <string>
#include <vector>

#include "compiler/costs/exchange.h"

namespace plimsoll {

// $XDG_CACHE_HOME/plimsoll, or ~/.cache/plimsoll; "" if neither variable is set.
std::string default_cache_directory();

class CostCache {
 public:
  // An empty directory disables the cache. `key` identifies everything that the costs depend on.
  CostCache(const std::string& directory, const std::string& key);

  struct Kept {
    std::vector<ProfiledTask> tasks = {};  // entries that replace others come after them
    std::optional<MeasuredLinks> links = {};
  };
  // All readable entries.
  Kept load() const;
  // Which entries were deliberately measured again, and replace cached ones.
  struct Again {
    bool tasks = false, links = false;
  };
  // Appends `news`. Except for entries measured again, an entry that another compiler has stored since load() wins and
  // is copied to `news`, so all users of a file work with the same costs. Disturbed measurements are never stored and
  // never replace good ones. A write failure is ignored: planning does not depend on it.
  void append(Kept& news, const Again& again) const;
  void append(Kept& news) const { append(news, {}); }
  const std::string& path() const { return path_; }

 private:
  std::string directory_, path_, key_;
};

// Describes one cache file, as far as it can be identified.
struct CacheFile {
  std::string path;
  std::string key;  // identifies everything that its costs depend on
  int64_t tasks = 0, bytes = 0;
};
// The cache files of a directory, by path. Other files are ignored.
std::vector<CacheFile> cache_files(const std::string& directory);

}  // namespace plimsoll
