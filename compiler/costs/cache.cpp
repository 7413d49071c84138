#include "compiler/costs/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>

#include "compiler/support/digest.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "# plimsoll costs, schema 1: ";

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

std::string default_cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return std::string(cache) + "/plimsoll";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/plimsoll";
  return "";
}

CostCache::CostCache(const std::string& directory, const std::string& key)
    : directory_(directory), key_(std::string(kFirstLine) + one_line(key)) {
  // The key itself is the first line of the file.
  if (!directory.empty()) path_ = directory + "/costs-" + digest_of(key_) + ".jsonl";
}

CostCache::Kept CostCache::load() const {
  Kept kept;
  if (path_.empty()) return kept;
  std::ifstream in(path_, std::ios::binary);
  std::string line;
  if (!std::getline(in, line) || line != key_) return kept;
  while (std::getline(in, line)) {
    if (Result<ProfiledTask> task = parse_profiled_task(line); task.ok()) kept.tasks.push_back(std::move(task).value());
    else if (const Result<MeasuredLinks> links = parse_links(line); links.ok()) kept.links = *links;
  }
  return kept;
}

void CostCache::append(Kept& news, const Again& again) const {
  if (path_.empty() || (news.tasks.empty() && !news.links)) return;
  std::error_code ignored;
  fs::create_directories(directory_, ignored);
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (::flock(file, LOCK_EX) == 0) {
    // A file that is not ours, has another key or a truncated first line is overwritten.
    std::string start(key_.size() + 1, '\0');
    const bool ours = ::pread(file, start.data(), start.size(), 0) == static_cast<ssize_t>(start.size()) &&
                      start == key_ + "\n";
    std::string text = ours ? "" : key_ + "\n";
    if (!ours && ::ftruncate(file, 0) != 0) text.clear();
    // After a torn line, start a new one, so that only the torn line is lost.
    char last = '\n';
    const off_t end = ::lseek(file, 0, SEEK_END);
    if (end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n') text += '\n';
    std::map<std::string, ProfiledTask> there;
    Kept kept = load();
    for (ProfiledTask& task : kept.tasks) there.insert_or_assign(task.signature, std::move(task));
    if (news.links && kept.links && (!again.links || news.links->disturbed)) news.links = kept.links;
    else if (news.links && !news.links->disturbed) text += links_json(*news.links) + "\n";
    for (ProfiledTask& task : news.tasks) {
      const bool disturbed = task.disturbed();
      if (const auto found = there.find(task.signature); found != there.end() && (!again.tasks || disturbed))
        task = found->second;
      else if (!disturbed) text += profiled_task_json(task) + "\n";
    }
    [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  }
  ::close(file);
}

std::vector<CacheFile> cache_files(const std::string& directory) {
  std::vector<CacheFile> files;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("costs-") || !name.ends_with(".jsonl")) continue;
    std::ifstream in(entry->path(), std::ios::binary);
    std::string line;
    if (!std::getline(in, line) || !line.starts_with(kFirstLine)) continue;
    CacheFile file{.path = entry->path().string(), .key = line.substr(kFirstLine.size())};
    while (std::getline(in, line)) file.tasks += line.starts_with("{\"signature\"");
    std::error_code unknown;
    file.bytes = static_cast<int64_t>(fs::file_size(entry->path(), unknown));
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const CacheFile& a, const CacheFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace plimsoll
