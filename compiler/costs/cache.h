// Costs kept between runs of the compiler: one file per backend, device, library, profiler and number of threads, one
// line per task, and one for the links. Lines are only ever added, each in one write under a lock, so that compilers may share it; a line that
// cannot be read (a torn write, another version) is as good as absent.
#pragma once

#include <string>
#include <vector>

#include "compiler/costs/exchange.h"

namespace plimsoll {

// $XDG_CACHE_HOME/plimsoll, or ~/.cache/plimsoll; "" where there is neither.
std::string default_cache_directory();

class CostCache {
 public:
  // An empty directory: nothing is kept. `key` is all that the figures hold for.
  CostCache(const std::string& directory, const std::string& key);

  struct Kept {
    std::vector<ProfiledTask> tasks = {};  // later ones after those that they replace
    std::optional<MeasuredLinks> links = {};
  };
  // All readable entries.
  Kept load() const;
  // What was asked to be measured again replaces what is kept.
  struct Again {
    bool tasks = false, links = false;
  };
  // Otherwise what another compiler has kept since we looked stands, and takes the place of what `news` has of it: all that share a file go
  // by the same figures. Figures that were disturbed are never kept, and never replace good ones. What cannot be written is not kept;
  // planning does not fail because of it.
  void append(Kept& news, const Again& again) const;
  void append(Kept& news) const { append(news, {}); }
  const std::string& path() const { return path_; }

 private:
  std::string directory_, path_, key_;
};

// One of the files, as far as it can be told apart from others.
struct CacheFile {
  std::string path;
  std::string key;  // all that its figures hold for
  int64_t tasks = 0, bytes = 0;
};
// Those of a directory, by path; what is no cache file of ours is left out.
std::vector<CacheFile> cache_files(const std::string& directory);

}  // namespace plimsoll
