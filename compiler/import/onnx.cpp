#include "compiler/import/onnx.h"

#include "compiler/import/inline_functions.h"
#include "compiler/import/load.h"
#include "compiler/import/loaded_model.h"
#include "compiler/import/plain_model.h"
#include "compiler/network/simplify/pipeline.h"

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

  // The file as plain data: complete and without functions.
  PLIMSOLL_TRY(inline_functions(*file, imported.notes));
  PLIMSOLL_TRY(load_data(*file, options.holds_weights));
  Model model = plain_model(file);

  // The plain data as a network (compiler/network). Changes made on the way are also applied to the file.
  const SimplifyOptions how{.batch = options.batch,
                            .dims = options.dims,
                            .inputs = options.inputs,
                            .may_fix_batch = options.may_fix_batch,
                            .strict = options.strict,
                            .output = options.output,
                            .recurrence = options.recurrence,
                            .require_normalization = options.require_normalization,
                            .modes_are_given = options.modes_are_given};
  const auto hold = [&](Model& of, const std::unordered_set<std::string>& trained) {
    return hold_constants(file, of, trained);
  };
  PLIMSOLL_ASSIGN(SimplifiedModel simplified, simplify(model, how, hold, imported.notes));
  if (options.holds_weights) write_back(std::move(model), *file);

  imported.network = std::move(simplified.network);
  imported.warnings = std::move(simplified.warnings);
  imported.perhaps_merged = std::move(simplified.perhaps_merged);
  imported.states_modes = simplified.states_modes;
  imported.reasons = std::move(simplified.reasons);
  return imported;
}

}  // namespace plimsoll
