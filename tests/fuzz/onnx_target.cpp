// The bytes of a model file, through all that the compiler does before it plans: the import, the passes on networks,
// the task graph and the reports. Any Status is a good answer but an internal error; an exception or a signal is a
// finding.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "compiler/import/onnx.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/report/network_report.h"
#include "compiler/training/build.h"
#include "compiler/network/composites.h"
#include "compiler/network/evaluated_dropout.h"
#include "compiler/network/frozen_statistics.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/layout.h"
#include "compiler/network/loss.h"
#include "compiler/network/modes.h"
#include "compiler/network/undecided.h"
#include "tests/fuzz/model_changes.h"

namespace plimsoll {
namespace {

void judge(const Status& status) {
  if (status.ok() || status.error().code != ExitCode::internal) return;
  fmt::print(stderr, "an internal error: {}\n", status.error().message);
  std::abort();
}

// One file for the whole run: models name their external data relative to it.
struct ModelPlace {
  ModelPlace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plimsoll-fuzz-XXXXXX").string();
    if (!mkdtemp(pattern.data())) std::abort();
    directory = pattern;
    path = pattern + "/model.onnx";
  }
  ~ModelPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  ModelPlace(const ModelPlace&) = delete;
  ModelPlace& operator=(const ModelPlace&) = delete;

  std::string directory, path;
};

const std::string& path_of_model() {
  static const ModelPlace place;
  return place.path;
}

void write_bytes(const std::string& path, const uint8_t* data, size_t size) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(data, 1, size, file) != size || std::fclose(file) != 0) std::abort();
}

Status train(ImportedModel& model, LossKind loss, Layout layout) {
  std::vector<std::string> notes;
  Network& network = model.network;
  const std::string output = network.outputs.empty() ? "" : network.values[network.outputs.back()].name;
  PLIMSOLL_TRY(attach_loss(network, LossRequest(loss, network.outputs.size() > 1 ? output : "", 1), notes));
  PLIMSOLL_TRY(decide_modes(network, model.states_modes, Modes::train, false));
  leave_out_evaluated_dropouts(network, notes);
  PLIMSOLL_TRY(freeze_statistics(network, {}, notes));
  PLIMSOLL_TRY(freeze_weights(network, {}, notes));
  PLIMSOLL_TRY(decide_weights(network, Assume::trainable, notes));
  fuse_composites(network);
  fuse_additions(network);
  fuse_activations(network);
  assign_layouts(network, layout);
  PLIMSOLL_ASSIGN(const TaskGraph graph, build_task_graph(network, {.batch = 4}));
  if (to_text(graph).empty()) std::abort();
  return {};
}

void look_at(const uint8_t* data, size_t size) {
  write_bytes(path_of_model(), data, size);
  const auto import = [] { return import_onnx(path_of_model(), {.batch = 4, .dims = {{"seq", 5}}}); };
  Result<ImportedModel> model = import();
  if (!model.ok()) return judge(model.error());
  (void)report_network(model->network, model->notes, false);
  (void)report_weights(model->network, model->reasons);
  judge(train(*model, LossKind::softmax_cross_entropy, Layout::nChw8c));
  // The first attempt has changed its network: another loss is of another import.
  Result<ImportedModel> again = import();
  if (again.ok()) judge(train(*again, LossKind::mse, Layout::plain));
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::look_at(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  onnx::ModelProto model;
  if (random() % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned changes = 1 + random() % 3; changes > 0; --changes) plimsoll::fuzz::change(model, random);
  if (model.ByteSizeLong() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  model.SerializeToArray(data, static_cast<int>(max_size));
  return model.ByteSizeLong();
}
