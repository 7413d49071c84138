// --mixup and --cutmix: training samples that are made of two.
//
//   mixup   x = own * x_a + (1 - own) * x_b                            Zhang et al. 2018, arXiv:1710.09412
//   cutmix  x = x_a with a rectangle of x_b; own is x_a's part of the area  Yun et al. 2019, arXiv:1905.04899
//
// `own` is drawn from Beta(ALPHA, ALPHA) for each sample, and b is any sample of the data. Targets that are real
// numbers are mixed like the samples, as in the papers: those of bce-logits and mse, and the probabilities of a model
// that computes F.cross_entropy(scores, probabilities) itself. Where labels are numbers of classes, there are two
// cases:
//   compiled with --mixed-labels  the loss is own * CE(class of a) + (1 - own) * CE(class of b), as in the papers
//   without                       the loss takes one label for each sample: a's with probability `own`, else b's. Loss
//                                 and gradients are linear in the label's distribution, so their expected values are
//                                 those of the papers; their variance is larger
//
// All that is drawn is a function of seed, epoch and sample: threads, rounds and ranks do not change it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/attrs/mixed_label.h"
#include "runtime/attrs/tensor.h"
#include "runtime/program.h"

namespace plimsoll::train {

struct MixOptions {
  double mixup = 0, cutmix = 0;  // ALPHA; 0: off. With both, a sample gets one of them, with equal chances
  bool on() const { return mixup > 0 || cutmix > 0; }
};

// Throws TrainerError (usage) if the program's samples or labels cannot be mixed.
void check_mixing(const Program& program, const MixOptions& options);

// ", mixup 0.2, cutmix 1, labels drawn"; "" if both are off.
std::string describe(const Program& program, const MixOptions& options);

// The program as sources of data see it: mixed labels are made of one class for each sample.
class ProgramOfData {
 public:
  explicit ProgramOfData(const Program& program);
  ProgramOfData(const ProgramOfData&) = delete;
  ProgramOfData& operator=(const ProgramOfData&) = delete;
  const Program& operator*() const { return program_; }

 private:
  std::vector<ProgramInput> inputs_;
  Program program_;
};

// How one sample is mixed.
struct Mix {
  int64_t other = 0;       // the sample that it is mixed with
  double own = 1;          // the weight of the sample itself
  bool keeps_label = true; // false: the label is that of the other sample
  bool cut = false;        // cutmix: a rectangle of the other sample is pasted
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

// `key`: the random key of the epoch. `desc`: of a batch of samples.
Mix mix_of(const MixOptions& options, uint64_t key, int64_t sample, int64_t samples, const TensorDesc& desc);

// Mix `other` into x. `desc`: of a batch of samples.
void mix_samples(const Mix& mix, const TensorDesc& desc, float* x, const float* other);
void mix_targets(const Mix& mix, int64_t count, float* targets, const float* other);
// The share of `other` in a MixedLabel.
int32_t share_of_other(const Mix& mix);

// A number from Beta(alpha, alpha), a function of the key. Before: alpha > 0.
double draw_beta(double alpha, uint64_t key);

}  // namespace plimsoll::train
