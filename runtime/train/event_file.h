// `train --tensorboard DIR`: an event file for TensorBoard. A trainer has no protobuf library, so the two formats are
// encoded here:
//   TFRecord  length (8 bytes), its masked CRC-32C, data, its masked CRC-32C (tensorflow/core/lib/io/record_writer.h)
//   Event     tensorflow/core/util/event.proto, with simple_value of Summary.Value (framework/summary.proto)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace plimsoll::train {

struct IterationResult;
struct Evaluation;

// CRC-32C (Castagnoli), and its masked form in TFRecord: the CRC of data that contains CRCs is weak.
uint32_t crc32c(const unsigned char* bytes, size_t count);
uint32_t masked_crc32c(const unsigned char* bytes, size_t count);

// Scalars: loss/train, accuracy/train, loss/test, accuracy/test, learning_rate, samples_per_second, memory/process_MiB
// and memory/arena_MiB. The step is the iteration, from 0. Allocates nothing after construction. Each event is flushed
// before its call returns, so TensorBoard can follow a run; of a truncated file it reads all complete events.
class EventFile {
 public:
  // Creates the directory if needed. Throws TrainerError (unwritable_output).
  explicit EventFile(const std::string& directory);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Once, before the first iteration. TensorBoard then discards this and later iterations of earlier files in the
  // directory.
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
