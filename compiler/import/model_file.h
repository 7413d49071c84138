// The model as a file once more: what a generated trainer starts from and writes its trained weights into.
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

struct ModelFile;  // the ONNX model in memory, with its functions inlined and its merged initializers apart

// Bytes [offset, offset + bytes) of a file.
struct FileRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

// Writes one self-contained .onnx with the data of every initializer inline, and says where in the file each lies
// (little-endian, row-major). Overwriting a range gives the same model with another weight, with no Protobuf at hand.
// Errors: unwritable_output; unsupported when the file would exceed the 2 GiB that Protobuf allows.
Result<std::map<std::string, FileRange>> write_model(const ModelFile& file, const std::string& path);
// The same into a file that is open already; errors call it `path`.
Status write_model(const ModelFile& file, int descriptor, const std::string& path);

// Puts an f32 initializer of one dimension into the model, in place of one of that name.
void put_initializer(ModelFile& file, const std::string& name, const std::vector<float>& values);

// Takes the notes of an earlier training (runtime/train/model_notes.h) out of the model. Returns them as bytes that may be
// appended to the model's file: a trainer replaces them when it saves the model, and needs them at its end.
std::string take_trainer_notes(ModelFile& file);

// True when write_model() would refuse the model for its size: then it goes into two files.
bool is_too_large_for_one_file(const ModelFile& file, int64_t most_bytes = kModelBytesLimit);

// The other way: `path` becomes a skeleton whose weights are external data in a file beside it, each at an offset that
// is a multiple of 4096 (for whoever maps it). That file's name has a fixed form and length, so that a trainer can give
// a copy of the skeleton a file of its own without Protobuf: 16 hexadecimal digits and ".weights" (weights_name()).
// Small tensors of whole numbers, which tools want to know while they load a model, stay in the skeleton.
// The two appear together (compiler/support/new_pair.h). The model in memory is the skeleton afterwards.
// Errors: unwritable_output; unsupported, when even the skeleton is too large.
struct TwoFiles {
  std::string weights;                           // the name of the file beside the skeleton
  std::map<std::string, FileRange> ranges = {};  // of that file
};
Result<TwoFiles> write_model_in_two(ModelFile& file, const std::string& path);

// SHA-256 of what a model is but for the values of these initializers, as a trainer looks at it (runtime/train/model_files.h): the
// skeleton, with zeros in place of the name of its weights, if there is one, then the bytes of the file of the weights around the
// values. Error: unreadable_input.
Result<std::string> sha256_without(const std::string& path, const TwoFiles& files, const std::set<std::string>& initializers);

// Of the weights beside the skeleton with this file name: the first digits of its SHA-256. Of that and a space, where a skeleton
// that is replaced has that name for its own.
std::string weights_name(std::string_view skeleton_name);

struct ExportRequest {
  std::string model;
  std::string checkpoint = {};  // the directory of a trainer's checkpoint: weights and statistics are those; "": the model's own
  // As it is used after training: batch normalization by running statistics, no dropout. What was exported for training
  // says otherwise, and a runtime that believes it normalizes by whatever samples it is given at once.
  bool for_inference = false;
  int64_t most_bytes = kModelBytesLimit;  // of one file
};

// The model once more, as one file: of a skeleton, with the weights that lie beside it. Where it would be too large, in two files
// again; the name of the weights then, or nothing.
// Errors: as importing has them; unreadable_input and invalid_model for a checkpoint that is damaged or of another model.
Result<std::string> export_model(const ExportRequest& request, const std::string& path);

}  // namespace plimsoll
