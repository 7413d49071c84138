// The model file that a trainer was compiled from: one file, or a skeleton and a weights file
// (docs/decisions/model-file.md).
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

// Opens the model and checks only its size: program.model_bytes, and possibly notes after them (model_notes.h). Throws
// TrainerError: unreadable_input, invalid_model.
InputFile open_model(const Program& program, const std::string& path);

// Opens the file that ProgramParameter::file_offset refers to: the model, or its weights file. Checks by SHA-256 that
// everything except the parameters' values is what the trainer was compiled from, so that all offsets are valid. Throws
// TrainerError: unreadable_input, invalid_model.
InputFile open_weights(const Program& program, const std::string& model_file);

std::string read_text(const InputFile& file);
// The text of a skeleton without its notes. Before: open_model() opened it.
std::string read_skeleton(const Program& program, const InputFile& file);

// A skeleton names the file of its weights in every tensor: 16 hexadecimal digits and ".weights".
std::string weights_named_in(const InputFile& skeleton, const std::string& text);
std::string weights_named_for(const std::string& name);
std::string with_weights_in(std::string skeleton, const std::string& old_name, const std::string& name);

}  // namespace plimsoll::train
