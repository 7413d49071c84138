#include "compiler/import/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "compiler/import/loaded_model.h"
#include "compiler/import/sha256.h"
#include "compiler/support/new_pair.h"

namespace plimsoll {
namespace {

// Parses Protobuf's wire format just enough to find an initializer's bytes:
//   ModelProto { 7: GraphProto { 5: TensorProto { 8: name  9: raw_data } } }
// Protobuf itself wrote these bytes immediately before, so unexpected input is an internal error.
class WireReader {
 public:
  WireReader(std::string_view bytes, int64_t begin, int64_t end) : bytes_(bytes), at_(begin), end_(end) {}

  // The next field; false at the end. For length-delimited fields, [begin, end) is the content.
  bool next() {
    if (at_ >= end_) return false;
    const uint64_t tag = varint();
    field = static_cast<int>(tag >> 3);
    switch (tag & 7) {
      case 0: varint(); begin = end = at_; break;
      case 1: skip(8); break;
      case 2: {
        const uint64_t length = varint();
        skip(static_cast<int64_t>(length));
        break;
      }
      case 5: skip(4); break;
      default: PLIMSOLL_CHECK(false, "a serialized model has a wire type that Protobuf does not write");
    }
    return true;
  }

  int field = 0;
  int64_t begin = 0, end = 0;

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      PLIMSOLL_CHECK(at_ < end_, "a serialized model ends within a number");
      const auto byte = static_cast<unsigned char>(bytes_[static_cast<size_t>(at_++)]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return value;
  }

  void skip(int64_t bytes) {
    PLIMSOLL_CHECK(bytes >= 0 && bytes <= end_ - at_, "a serialized model ends within a field");
    begin = at_;
    end = at_ += bytes;
  }

  std::string_view bytes_;
  int64_t at_, end_;
};

std::map<std::string, FileRange> find_ranges(std::string_view bytes) {
  constexpr int kGraph = 7, kInitializer = 5, kName = 8, kRawData = 9;
  std::map<std::string, FileRange> ranges;
  WireReader model(bytes, 0, static_cast<int64_t>(bytes.size()));
  while (model.next()) {
    if (model.field != kGraph) continue;
    WireReader graph(bytes, model.begin, model.end);
    while (graph.next()) {
      if (graph.field != kInitializer) continue;
      WireReader tensor(bytes, graph.begin, graph.end);
      std::string name;
      FileRange range{.offset = -1};
      while (tensor.next()) {
        if (tensor.field == kName)
          name = bytes.substr(static_cast<size_t>(tensor.begin), static_cast<size_t>(tensor.end - tensor.begin));
        if (tensor.field == kRawData) range = {tensor.begin, tensor.end - tensor.begin};
      }
      if (range.offset >= 0) ranges[name] = range;
    }
  }
  return ranges;
}

void add_types(const onnx::GraphProto& graph, std::map<std::string, FileRange>& ranges) {
  for (const onnx::TensorProto& tensor : graph.initializer())
    if (const auto found = ranges.find(tensor.name()); found != ranges.end())
      found->second.type = file_type_of(static_cast<ElementType>(tensor.data_type()));
}

// Real tensors are weights; integer tensors only if they are large.
bool goes_outside(const onnx::TensorProto& tensor) {
  constexpr size_t kLeast = 1024;
  return tensor.has_raw_data() &&
         (is_real(static_cast<ElementType>(tensor.data_type())) || tensor.raw_data().size() >= kLeast);
}

Status write_bytes(int descriptor, std::string_view bytes, int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return Error{ExitCode::unwritable_output,
                   fmt::format("cannot write '{}': {}", path, std::strerror(put < 0 ? errno : ENOSPC))};
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += put;
  }
  return {};
}

// The bytes that move to the other file, and their range there; the model keeps only a description.
struct Outside {
  FileRange range;
  std::string bytes;
};

std::map<std::string, Outside> take_outside(onnx::GraphProto& graph) {
  constexpr int64_t kAlignment = 4096;
  std::map<std::string, Outside> taken;
  int64_t end = 0;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (!goes_outside(tensor)) continue;
    const int64_t offset = (end + kAlignment - 1) / kAlignment * kAlignment,
                  bytes = static_cast<int64_t>(tensor.raw_data().size());
    end = offset + bytes;
    taken[tensor.name()] = {{offset, bytes}, std::move(*tensor.mutable_raw_data())};
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  }
  return taken;
}

void describe_outside(onnx::GraphProto& graph, const std::map<std::string, Outside>& outside, const std::string& name) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto found = outside.find(tensor.name());
    if (found == outside.end()) continue;
    tensor.clear_external_data();
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", name},
                                     {"offset", std::to_string(found->second.range.offset)},
                                     {"length", std::to_string(found->second.range.bytes)}}) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
}

Error unwritable_model(const std::string& path, int error) {
  return {ExitCode::unwritable_output, fmt::format("cannot write model '{}': {}", path, std::strerror(error))};
}

}  // namespace

std::string weights_name(std::string_view skeleton_name) {
  return sha256_hex(std::string(skeleton_name)).substr(0, 16) + ".weights";
}

void put_initializer(ModelFile& file, const std::string& name, const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  for (onnx::TensorProto& given : *file.model.mutable_graph()->mutable_initializer())
    if (given.name() == name) return void(given = std::move(tensor));
  *file.model.mutable_graph()->add_initializer() = std::move(tensor);
}

bool is_too_large_for_one_file(const ModelFile& file, int64_t most_bytes) {
  return file.model.ByteSizeLong() > static_cast<size_t>(most_bytes);
}

std::string take_trainer_notes(ModelFile& file) {
  auto& all = *file.model.mutable_metadata_props();
  onnx::ModelProto notes;
  for (int i = 0; i < all.size();) {
    if (!all.Get(i).key().starts_with("plimsoll.trained.")) {
      ++i;
      continue;
    }
    *notes.add_metadata_props() = all.Get(i);
    all.DeleteSubrange(i, 1);
  }
  return notes.SerializeAsString();
}

Result<TwoFiles> write_model_in_two(ModelFile& file, const std::string& path) {
  onnx::GraphProto& graph = *file.model.mutable_graph();
  const std::map<std::string, Outside> outside = take_outside(graph);
  if (is_too_large_for_one_file(file))
    return Error{ExitCode::unsupported,
                 fmt::format("without its weights, the model has {} bytes; ONNX files are limited to 2 GiB",
                             file.model.ByteSizeLong())};
  const auto skeleton = [&](const std::string& name) {
    describe_outside(graph, outside, name);
    return file.model.SerializeAsString();
  };
  const auto fill = [&](NewFile& weights) -> Status {
    for (const auto& [tensor, taken] : outside)
      PLIMSOLL_TRY(write_bytes(weights.descriptor(), taken.bytes, taken.range.offset, path));
    return {};
  };
  const std::string name = std::filesystem::path(path).filename().string();
  TwoFiles files;
  PLIMSOLL_ASSIGN(files.weights,
                  write_pair({.path = path, .beside = {weights_name(name), weights_name(name + " ")}}, skeleton, fill));
  for (const auto& [tensor, taken] : outside) files.ranges[tensor] = taken.range;
  add_types(graph, files.ranges);
  return files;
}

Status write_model(const ModelFile& file, int descriptor, const std::string& path) {
  if (is_too_large_for_one_file(file))
    return Error{ExitCode::unsupported,
                 fmt::format("with its weights, the model would have {} bytes; ONNX files are limited to 2 GiB",
                             file.model.ByteSizeLong()),
                 {"keep it in two files, the model and the weights next to it; every tool reads both"}};
  google::protobuf::io::FileOutputStream stream(descriptor);
  if (file.model.SerializeToZeroCopyStream(&stream) && stream.Flush()) return {};
  return unwritable_model(path, stream.GetErrno());
}

Result<std::map<std::string, FileRange>> write_model(const ModelFile& file, const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return unwritable_model(path, errno);
  if (const Status written = write_model(file, descriptor, path); !written.ok()) {
    ::close(descriptor);
    ::unlink(path.c_str());
    return written.error();
  }
  const size_t size = file.model.ByteSizeLong();
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (mapped == MAP_FAILED) return unwritable_model(path, error);
  std::map<std::string, FileRange> ranges = find_ranges({static_cast<const char*>(mapped), size});
  ::munmap(mapped, size);
  add_types(file.model.graph(), ranges);
  return ranges;
}

}  // namespace plimsoll
