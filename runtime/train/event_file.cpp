#include "runtime/train/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/train/error.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

constexpr std::array<uint32_t, 256> crc32c_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t word = i;
    for (int bit = 0; bit < 8; ++bit) word = word & 1 ? word >> 1 ^ 0x82F63B78U : word >> 1;
    table[i] = word;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrc32c = crc32c_table();

// A protobuf message under construction, in a buffer of fixed size. Field numbers are below 16.
class Message {
 public:
  void varint(int field, uint64_t value) {
    byte(static_cast<unsigned>(field) << 3);
    raw_varint(value);
  }
  void fixed64(int field, double value) {
    byte(static_cast<unsigned>(field) << 3 | 1);
    little_endian(value);
  }
  void fixed32(int field, float value) {
    byte(static_cast<unsigned>(field) << 3 | 5);
    little_endian(value);
  }
  void bytes(int field, const void* data, size_t count) {
    byte(static_cast<unsigned>(field) << 3 | 2);
    raw_varint(count);
    for (size_t i = 0; i < count; ++i) byte(static_cast<const unsigned char*>(data)[i]);
  }
  void text(int field, std::string_view value) { bytes(field, value.data(), value.size()); }
  void message(int field, const Message& value) { bytes(field, value.bytes_.data(), value.size_); }
  const unsigned char* data() const { return bytes_.data(); }
  size_t size() const { return size_; }

 private:
  void byte(unsigned value) { bytes_.at(size_++) = static_cast<unsigned char>(value); }
  void raw_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<unsigned>(value & 0x7F) | 0x80);
    byte(static_cast<unsigned>(value));
  }
  template <class T>
  void little_endian(T value) {
    unsigned char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);  // x86 and ARM are little-endian
    for (const unsigned char one : raw) byte(one);
  }
  std::array<unsigned char, 1024> bytes_ = {};
  size_t size_ = 0;
};

constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;  // of Event

Message event_at(int64_t step) {
  Message event;
  event.fixed64(kWallTime, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  event.varint(kStep, static_cast<uint64_t>(step));
  return event;
}

void add_scalar(Message& summary, std::string_view tag, double number) {
  Message value;
  value.text(1, tag);
  value.fixed32(2, static_cast<float>(number));
  summary.message(1, value);
}

void put_record(std::FILE* file, const Message& message) {
  unsigned char head[12], tail[4];
  const auto put = [](unsigned char* to, uint64_t value, int count) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(value >> 8 * i);
  };
  put(head, message.size(), 8);
  put(head + 8, masked_crc32c(head, 8), 4);
  put(tail, masked_crc32c(message.data(), message.size()), 4);
  std::fwrite(head, 1, sizeof head, file);
  std::fwrite(message.data(), 1, message.size(), file);
  std::fwrite(tail, 1, sizeof tail, file);
  std::fflush(file);
}

void put_summary(std::FILE* file, int64_t step, const Message& summary) {
  Message event = event_at(step);
  event.message(kSummary, summary);
  put_record(file, event);
}

// TensorBoard takes whatever has "tfevents" in its name; TensorFlow orders the files of a directory by the seconds.
std::string event_file_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  for (char* c = host; *c != '\0'; ++c)
    if (*c == '/') *c = '-';
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string digits = std::to_string(seconds);
  digits.insert(0, 10 - std::min<size_t>(10, digits.size()), '0');
  return "events.out.tfevents." + digits + "." + host + "." + std::to_string(::getpid()) + ".0";
}

}  // namespace

uint32_t crc32c(const unsigned char* bytes, size_t count) {
  uint32_t word = ~0U;
  for (size_t i = 0; i < count; ++i) word = kCrc32c[(word ^ bytes[i]) & 0xFF] ^ word >> 8;
  return ~word;
}

uint32_t masked_crc32c(const unsigned char* bytes, size_t count) {
  const uint32_t word = crc32c(bytes, count);
  return (word >> 15 | word << 17) + 0xA282EAD8U;
}

EventFile::EventFile(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  path_ = (std::filesystem::path(directory) / event_file_name()).string();
  file_ = failed && !std::filesystem::is_directory(directory) ? nullptr : std::fopen(path_.c_str(), "wbe");
  if (!file_)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + path_ + "': " +
                                                    (failed ? failed.message() : std::string(std::strerror(errno))));
  Message version;
  version.fixed64(kWallTime,
                  std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  version.text(kFileVersion, "brain.Event:2");
  put_record(file_, version);
}

EventFile::~EventFile() {
  if (file_) std::fclose(file_);
}

void EventFile::start_at(int64_t iteration, int64_t allocated_bytes) {
  allocated_bytes_ = allocated_bytes;
  constexpr int kStatus = 1, kStart = 1;  // of SessionLog
  Message log;
  log.varint(kStatus, kStart);
  Message event = event_at(iteration);
  event.message(kSessionLog, log);
  put_record(file_, event);
}

void EventFile::iteration(const IterationResult& result) {
  Message summary;
  add_scalar(summary, "loss/train", result.loss);
  if (result.correct >= 0)
    add_scalar(summary, "accuracy/train", result.correct / static_cast<double>(std::max<int64_t>(1, result.labels)));
  add_scalar(summary, "learning_rate", result.learning_rate);
  add_scalar(summary, "samples_per_second", static_cast<double>(result.samples) / std::fmax(result.seconds, 1e-9));
  add_scalar(summary, "memory/process_MiB", mebibytes(peak_resident_bytes()));
  add_scalar(summary, "memory/arena_MiB", mebibytes(allocated_bytes_));
  put_summary(file_, result.iteration, summary);
}

void EventFile::evaluation(int64_t iteration, const Evaluation& result) {
  Message summary;
  add_scalar(summary, "loss/test", result.loss);
  if (result.accuracy >= 0) add_scalar(summary, "accuracy/test", result.accuracy);
  put_summary(file_, iteration, summary);
}

void EventFile::close() {
  if (!file_) return;
  const bool good = std::fflush(file_) == 0 && !std::ferror(file_);
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!good || !closed)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + path_ + "': the disk may be full");
}

}  // namespace plimsoll::train
