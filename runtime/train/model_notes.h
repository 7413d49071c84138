// What a saved model says about its training, as metadata_props of the ONNX file: how its samples were prepared, the
// names of its classes, and the metrics of its last evaluation.
//
//   plimsoll.trained.source        images, cifar10 or mnist
//   plimsoll.trained.resize        the shorter side in pixels, before the crop from the middle; absent: as it is
//   plimsoll.trained.crop          height x width of the model's input: 224x224
//   plimsoll.trained.mean, .std    of pixels from 0 to 1, for each channel or one for all: 0.485,0.456,0.406
//   plimsoll.trained.classes       a name on each line, by label
//   plimsoll.trained.iterations, .eval_samples, .eval_loss, .eval_accuracy
//
// Protobuf fields may stand in any order, and a repeated field in several places. So the notes are appended to the
// file, and all offsets before them stay valid: a model with notes is the model that the trainer was made with, and a
// suffix. A model with notes that is compiled again has them as such a suffix, too (take_trainer_notes of
// compiler/import/model_file.h), so that no key is there twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/program.h"
#include "runtime/train/dataset.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

using ModelNotes = std::vector<std::pair<std::string, std::string>>;  // keys without "plimsoll.trained.", and values

// As they stand in a file, and back; nothing where the bytes are anything else.
std::string serialized(const ModelNotes& notes);
std::optional<ModelNotes> parsed_notes(std::string_view bytes);

// `evaluation`: of the weights that are saved; without samples, there was none. `iteration`: those that were done.
ModelNotes notes_of_run(const Dataset& training, const Evaluation& evaluation, int64_t iteration);

// The value of a key; "" where there is none.
std::string_view note(const ModelNotes& notes, std::string_view key);

// Those of a model file. Throws TrainerError: unreadable_input, invalid_model.
ModelNotes read_notes(const Program& program, const std::string& model_file);

std::vector<std::string> class_names(const ModelNotes& notes);

}  // namespace plimsoll::train
