// The model that a trainer was made with: one file, or a skeleton and the file of its weights (docs/decisions/model-file.md).
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

// Opened, and known by its size alone: program.model_bytes, and notes (model_notes.h) behind them. Throws TrainerError: unreadable_input, invalid_model.
InputFile open_model(const Program& program, const std::string& path);

// What file_offset is of: the model, or the file beside it. Known by content: all but the parameters' values is, byte for byte, what the
// trainer was made with, so that every parameter lies where the program says. Throws TrainerError: unreadable_input, invalid_model.
InputFile open_weights(const Program& program, const std::string& model_file);

std::string read_text(const InputFile& file);
// The text of a skeleton without its notes. Before: open_model() opened it.
std::string read_skeleton(const Program& program, const InputFile& file);

// A skeleton names the file of its weights in every tensor: 16 hexadecimal digits and ".weights".
std::string weights_named_in(const InputFile& skeleton, const std::string& text);
std::string weights_named_for(const std::string& name);
std::string with_weights_in(std::string skeleton, const std::string& old_name, const std::string& name);

}  // namespace plimsoll::train
