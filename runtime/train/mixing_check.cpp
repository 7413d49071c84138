// Which models can be trained on mixed samples. Apart from the mixing itself, which needs no data sets.
#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/mixing.h"

namespace plimsoll::train {
namespace {

bool are_real(const Program& program) {
  const ProgramInput& targets = program.inputs.back();
  return program.classes == 0 && targets.desc.type == DataType::f32 && targets.per_sample;
}

}  // namespace

void check_mixing(const Program& program, const MixOptions& options) {
  if (!options.on()) return;
  const std::string flag = options.mixup > 0 ? "--mixup" : "--cutmix";
  const auto refuse = [&](const std::string& why) { throw TrainerError(Exit::usage, flag + ": " + why); };
  if (program.inputs.size() != 2)
    refuse("it mixes samples of one input with one label; this model has " + std::to_string(program.inputs.size()) +
           " inputs");
  const ProgramInput &samples = program.inputs[0], &labels = program.inputs[1];
  if (samples.desc.type != DataType::f32 || !samples.per_sample)
    refuse("it mixes real numbers; input '" + std::string(samples.name) + "' takes " + shape_text(samples.desc));
  if (!are_real(program) && (program.classes == 0 || labels_of_sample(labels) != 1))
    refuse("it needs one class for each sample, or targets that are real numbers; the labels of this model are " +
           shape_text(labels.desc) + (program.classes == 0 ? ", which are not classes" : " of classes"));
  if (options.cutmix > 0 && samples.desc.rank() != 4)
    throw TrainerError(Exit::usage, "--cutmix: it cuts rectangles out of images; input '" + std::string(samples.name) +
                                        "' takes " + shape_text(samples.desc));
}

}  // namespace plimsoll::train
