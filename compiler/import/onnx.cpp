#include "compiler/import/onnx.h"

#include "compiler/import/builder.h"
#include "compiler/import/graph_order.h"
#include "compiler/import/load.h"
#include "compiler/import/loaded_model.h"

namespace plimsoll {

Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  PLIMSOLL_ASSIGN(const std::shared_ptr<ModelFile> file, load_model(path));
  ImportedModel imported{.network = {},
                         .file = file,
                         .sha256 = file->sha256,
                         .producer = file->model.producer_name(),
                         .ir_version = file->model.ir_version(),
                         .opset = opset_of(file->model)};
  if (!file->model.producer_version().empty()) imported.producer += " " + file->model.producer_version();

  PLIMSOLL_TRY(load_data(*file));
  PLIMSOLL_ASSIGN(const GraphOrder order, order_graph(file->model.graph()));
  PLIMSOLL_ASSIGN(imported.network, build_network(*file, order, options, imported.notes));
  return imported;
}

}  // namespace plimsoll
