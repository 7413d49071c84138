// `train --tensorboard DIR`: an event file as TensorBoard reads it. Its two formats are written by hand, since a trainer has no
// protobuf library:
//   TFRecord  tensorflow/core/lib/io/record_writer.h: length (8 bytes), masked CRC32C of it, data, masked CRC32C of the data
//   Event     tensorflow/core/util/event.proto, with Summary.Value of framework/summary.proto and its simple_value
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace plimsoll::train {

struct IterationResult;
struct Evaluation;

// CRC-32C (Castagnoli), and masked as TFRecord has it: a checksum of data that holds checksums would be weak.
uint32_t crc32c(const unsigned char* bytes, size_t count);
uint32_t masked_crc32c(const unsigned char* bytes, size_t count);

// Scalars: loss/train, accuracy/train, loss/test, accuracy/test, learning_rate, samples_per_second, memory/process_MiB and
// memory/arena_MiB; the step is the iteration, from 0. Allocates nothing after construction. Each event is on its way to the
// file when its call returns, so a run can be watched; a file that is cut short is read up to its last whole event.
class EventFile {
 public:
  // Makes the directory if it is not there. Throws TrainerError (unwritable_output).
  explicit EventFile(const std::string& directory);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Once, before the first iteration. TensorBoard then forgets what earlier files of the directory say of it and later ones.
  void start_at(int64_t iteration, int64_t allocated_bytes);
  void iteration(const IterationResult& result);
  void evaluation(int64_t iteration, const Evaluation& result);
  // Throws TrainerError (unwritable_output) if an event could not be written.
  void close();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  int64_t allocated_bytes_ = 0;
};

}  // namespace plimsoll::train
