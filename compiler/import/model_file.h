// Writes the model as a file again: a generated trainer starts from it and stores its trained weights in it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct ModelFile;  // the ONNX model in memory, with functions inlined and merged initializers separated

// Bytes [offset, offset + bytes) of a file, and their element type.
struct FileRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  FileType type = FileType::same;
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

// Writes one self-contained .onnx with the data of every initializer inline, and returns the position of each in the
// file (little-endian, row-major). Overwriting a range gives the same model with another weight, without Protobuf.
// Errors: unwritable_output; unsupported, if the file would exceed the 2 GiB that Protobuf allows.
Result<std::map<std::string, FileRange>> write_model(const ModelFile& file, const std::string& path);
// The same for a file that is already open; errors call it `path`.
Status write_model(const ModelFile& file, int descriptor, const std::string& path);

// Adds an f32 initializer with one dimension to the model, or replaces the one with that name.
void put_initializer(ModelFile& file, const std::string& name, const std::vector<float>& values);

// Takes the notes of an earlier training (runtime/train/model_notes.h) out of the model. Returns them as bytes that may
// be appended to the model's file: a trainer replaces them when it saves the model, and needs them at its end.
std::string take_trainer_notes(ModelFile& file);

// Whether write_model() would reject the model because of its size. Then it is written as two files.
bool is_too_large_for_one_file(const ModelFile& file, int64_t most_bytes = kModelBytesLimit);

// The alternative: `path` becomes a skeleton whose weights are external data in a second file in the same directory,
// each at an offset that is a multiple of 4096, so that it can be memory-mapped. The name of that file has a fixed form
// and length, 16 hexadecimal digits and ".weights" (weights_name()), so that a trainer can give a copy of the skeleton
// its own file without Protobuf. Small integer tensors, which tools need while they load a model, stay in the skeleton.
// The two files appear together (compiler/support/new_pair.h). Afterwards the model in memory is the skeleton. Errors:
// unwritable_output; unsupported, if even the skeleton is too large.
struct TwoFiles {
  std::string weights;                           // the name of the second file
  std::map<std::string, FileRange> ranges = {};  // in that file
};
Result<TwoFiles> write_model_in_two(ModelFile& file, const std::string& path);

// SHA-256 of a model without the values of these initializers, computed as a trainer does
// (runtime/train/model_files.h): over the skeleton, with zeros in place of the name of its weights file, if there is
// one, then over the bytes of the weights file around the values. Error: unreadable_input.
Result<std::string> sha256_without(const std::string& path, const TwoFiles& files,
                                   const std::set<std::string>& initializers);

// The name of the weights file for the skeleton with this file name: the first digits of the name's SHA-256. If a
// skeleton that is replaced already uses that name, a space is appended before hashing.
std::string weights_name(std::string_view skeleton_name);

// Of a checkpoint: its averaged weights (runtime/train/checkpoint.h). Weights that are frozen are not in it.
inline constexpr const char* kAverageFile = "average.safetensors";

struct ExportRequest {
  std::string model;
  // directory of a trainer's checkpoint that provides weights and statistics; "": the model's own
  std::string checkpoint = {};
  bool average = false;  // the averaged weights of the checkpoint (--ema of the trainer), not the last ones
  // For use after training: batch normalization by running statistics, no dropout. A model exported for training
  // declares training mode, and a runtime that respects it normalizes by the samples of each call.
  bool for_inference = false;
  int64_t most_bytes = kModelBytesLimit;  // of one file
};

// Writes the model as one file: a skeleton is merged with its weights file. If the result would be too large, two files
// are written, and the name of the weights file is returned, else an empty string. Errors: those of importing;
// unreadable_input and invalid_model, for a checkpoint that is damaged or belongs to another model.
Result<std::string> export_model(const ExportRequest& request, const std::string& path);

}  // namespace plimsoll
