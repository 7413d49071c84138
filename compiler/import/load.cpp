#include "compiler/import/load.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "compiler/import/external_data.h"
#include "compiler/import/sha256.h"
#include "compiler/import/tensor_data.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

constexpr int64_t kOldestOpset = 7;
constexpr int64_t kOldestIr = 3, kNewestIr = 14;
// Messages nest about eight deep in ordinary models (attribute → graph → node for every If); this is ONNX's own limit.
constexpr int kNestingLimit = 64;

// A file that is parsed and hashed while it is read, so that weights, most of a model, are in memory only once.
class HashedFile final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit HashedFile(int file) : file_(file), block_(kBlock, '\0') {}
  ~HashedFile() override { ::close(file_); }
  HashedFile(const HashedFile&) = delete;
  HashedFile& operator=(const HashedFile&) = delete;

  bool Next(const void** data, int* size) override {
    if (next_ == end_ && !read_block()) return false;
    *data = block_.data() + next_;
    *size = static_cast<int>(end_ - next_);
    next_ = end_;
    return true;
  }
  void BackUp(int count) override { next_ -= static_cast<size_t>(count); }
  bool Skip(int count) override {
    const void* data = nullptr;
    for (int size = 0; count > 0; count -= size) {
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count), size = count;
    }
    return true;
  }
  int64_t ByteCount() const override { return read_ - static_cast<int64_t>(end_ - next_); }

  const std::string& head() const { return head_; }  // of the first block
  int64_t bytes() const { return read_; }
  int error() const { return error_; }
  std::string sha256() { return sum_.hex(); }

 private:
  static constexpr size_t kBlock = 1 << 20, kHead = 4096;

  bool read_block() {
    ssize_t got = 0;
    do got = ::read(file_, block_.data(), block_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno;
    if (got <= 0) return false;
    next_ = 0;
    end_ = static_cast<size_t>(got);
    read_ += got;
    sum_.add({block_.data(), end_});
    if (head_.empty()) head_ = block_.substr(0, std::min(end_, kHead));
    return true;
  }

  const int file_;
  std::string block_, head_;
  size_t next_ = 0, end_ = 0;  // of the block
  int64_t read_ = 0;
  int error_ = 0;
  Sha256 sum_;
};

std::string first_bytes(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 8); ++i)
    text += fmt::format("{}{:02x}", i ? " " : "", static_cast<unsigned char>(bytes[i]));
  return text;
}

// Guesses what a file that is not a model is.
Error not_a_model(const std::string& path, const std::string& bytes, int64_t size) {
  const auto error = [&](const std::string& what, std::vector<std::string> notes = {}) {
    return Error{ExitCode::invalid_model, fmt::format("'{}' is not an ONNX model: {}", path, what), std::move(notes)};
  };
  const size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return error(bytes.empty() ? "the file is empty" : "the file is blank");
  if (bytes[start] == '{')
    return error("it looks like JSON", {"convert it: onnx.save(onnx.load(path, format='json'), 'model.onnx')"});
  if (bytes[start] == '<' || bytes.compare(start, 10, "ir_version") == 0)
    return error("it looks like the text form of ONNX",
                 {"convert it: onnx.save(onnx.load(path, format='textproto'), 'model.onnx') "
                  "(or format='onnxtxt')"});
  if (bytes.starts_with("PK"))
    return error("it is a zip archive, as torch.save writes",
                 {"export the module: torch.onnx.export(model.train(), x, path, …)"});
  if (bytes.starts_with("version https://git-lfs"))
    return error("it is a Git LFS pointer; the model itself was not downloaded", {"git lfs pull"});
  if (bytes[0] == '\x08')
    return error(fmt::format("it starts like one, but is truncated or damaged ({} bytes, first bytes {})", size,
                             first_bytes(bytes)));
  return error(fmt::format("it is not an ONNX protobuf (first bytes {})", first_bytes(bytes)));
}

bool only_classical(const onnx::ModelProto& model) {
  const auto& opsets = model.opset_import();
  return !opsets.empty() &&
         std::all_of(opsets.begin(), opsets.end(), [](const auto& opset) { return opset.domain() == "ai.onnx.ml"; });
}

Status check_versions(const onnx::ModelProto& model, const std::string& path) {
  if (model.ir_version() < kOldestIr || model.ir_version() > kNewestIr)
    return Error{ExitCode::unsupported,
                 fmt::format("model '{}' has IR version {}; supported are {} to {}", path, model.ir_version(),
                             kOldestIr, kNewestIr),
                 {"export it again with a current exporter, or set the version if only the number differs: "
                  "model.ir_version = 8"}};
  const int64_t opset = opset_of(model);
  if (opset == 0)
    return Error{ExitCode::invalid_model,
                 fmt::format("model '{}' does not import an opset of the domain ai.onnx", path),
                 only_classical(model) ? std::vector<std::string>{"it has operators of ai.onnx.ml only: a classical "
                                                                  "model, which is not trained by gradients"}
                                       : std::vector<std::string>{}};
  if (opset < kOldestOpset || opset > kNewestOpset)
    return Error{
        ExitCode::unsupported,
        fmt::format("model '{}' uses opset {}; supported are {} to {}", path, opset, kOldestOpset, kNewestOpset),
        {"export it again with opset_version=17, or convert it: onnx.version_converter.convert_version(model, 17)"}};
  return {};
}

// A weight whose elements are not needed. Vectors may be copied under another name (unshare.h), and weights that an
// exporter may have merged are compared (merged_weights.h).
bool may_stay_outside(const onnx::TensorProto& tensor) {
  constexpr int64_t kSmall = 1 << 10;  // elements
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL || tensor.data_type() != onnx::TensorProto::FLOAT ||
      tensor.has_raw_data() || tensor.float_data_size() > 0 || tensor.has_segment())
    return false;
  int longer = 0;
  for (const int64_t dim : tensor.dims()) longer += dim != 1;
  return longer >= 2 && elements_of(tensor).value_or(0) > kSmall;
}

Status load_attribute_data(onnx::NodeProto& node, ModelDirectory& directory) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g() && node.op_type() == "If") {
      for (onnx::TensorProto& tensor : *attribute.mutable_g()->mutable_initializer())
        PLIMSOLL_TRY(normalise_data(tensor, directory, describe_initializer(tensor)));
      for (onnx::NodeProto& inner : *attribute.mutable_g()->mutable_node())
        PLIMSOLL_TRY(load_attribute_data(inner, directory));
    }
    if (!attribute.has_t()) continue;
    PLIMSOLL_TRY(normalise_data(*attribute.mutable_t(), directory,
                                fmt::format("attribute '{}' of node '{}'", attribute.name(), node.name())));
  }
  return {};
}

}  // namespace

std::string describe_initializer(const onnx::TensorProto& tensor) {
  return fmt::format("initializer '{}'", tensor.name());
}

int64_t opset_of(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const auto& import : model.opset_import())
    if (is_onnx_domain(import.domain())) opset = std::max<int64_t>(opset, import.version());
  return opset;
}

Result<std::shared_ptr<ModelFile>> load_model(const std::string& path) {
  const auto unreadable = [&](const std::string& why) {
    return Error{ExitCode::unreadable_input, fmt::format("cannot read model '{}': {}", path, why)};
  };
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return unreadable(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return unreadable("it is a directory, not an .onnx file");
  if (!S_ISREG(info.st_mode)) return unreadable("it is not a regular file");
  if (info.st_size > kModelBytesLimit)
    return Error{
        ExitCode::invalid_model,
        fmt::format("model '{}' has {} bytes; ONNX files are limited to 2 GiB", path,
                    static_cast<int64_t>(info.st_size)),
        {"larger models keep their weights in a separate file: onnx.save(model, path, save_as_external_data=True)"}};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return unreadable(std::strerror(errno));
  HashedFile bytes(descriptor);
  auto file = std::make_shared<ModelFile>();
  file->path = path;
  bool parsed = false;
  {
    google::protobuf::io::CodedInputStream stream(&bytes);
    stream.SetTotalBytesLimit(static_cast<int>(kModelBytesLimit));
    stream.SetRecursionLimit(kNestingLimit);
    parsed = file->model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  }
  if (bytes.error() != 0) return unreadable(std::strerror(bytes.error()));
  if (!parsed || !file->model.has_graph() || !file->model.has_ir_version())
    return not_a_model(path, bytes.head(), info.st_size);
  if (bytes.bytes() != info.st_size) return unreadable("the file changed while being read");
  PLIMSOLL_TRY(check_versions(file->model, path));
  PLIMSOLL_ASSIGN(file->author, author_notes_of(file->model));
  file->sha256 = bytes.sha256();
  return file;
}

Status load_data(ModelFile& file, bool holds_weights) {
  onnx::GraphProto& graph = *file.model.mutable_graph();
  if (graph.sparse_initializer_size() > 0)
    return Error{ExitCode::unsupported, fmt::format("initializer '{}' is a sparse tensor, which is not supported",
                                                    graph.sparse_initializer(0).values().name())};
  ModelDirectory directory(file.path);
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (!holds_weights && may_stay_outside(tensor)) {
      WeightLook look;
      const int64_t bytes = *elements_of(tensor) * static_cast<int64_t>(sizeof(float));
      PLIMSOLL_TRY(directory.pass_over(tensor, bytes, describe_initializer(tensor),
                                       [&](std::string_view piece) { look.add(piece); }));
      if (!look.is_additive_mask() && file.looked_at.emplace(tensor.name(), look).second) continue;
    }
    PLIMSOLL_TRY(normalise_data(tensor, directory, describe_initializer(tensor)));
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) PLIMSOLL_TRY(load_attribute_data(node, directory));
  return {};
}

}  // namespace plimsoll
