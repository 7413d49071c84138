// --mixup and --cutmix: training samples that are made of two.
//
//   mixup   x = own * x_a + (1 - own) * x_b                            Zhang et al. 2018, arXiv:1710.09412
//   cutmix  x = x_a with a rectangle of x_b; own is x_a's part of the area  Yun et al. 2019, arXiv:1905.04899
//
// `own` is drawn from Beta(ALPHA, ALPHA) for each sample, and b is any sample of the data. Where targets are
// probabilities (bce-logits), they are mixed like the samples. Where labels are numbers of classes, the loss kernels
// take one label for each sample: it is a's label with probability `own`, else b's. The loss and the gradients are
// linear in the label's distribution, so their expected values are those of the soft labels of the papers; their
// variance is larger.
//
// All that is drawn is a function of seed, epoch and sample: threads, rounds and ranks do not change it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/attrs/tensor.h"
#include "runtime/program.h"

namespace plimsoll::train {

struct MixOptions {
  double mixup = 0, cutmix = 0;  // ALPHA; 0: off. With both, a sample gets one of them, with equal chances
  bool on() const { return mixup > 0 || cutmix > 0; }
};

// Throws TrainerError (usage) where the program's samples or labels cannot be mixed.
void check_mixing(const Program& program, const MixOptions& options);

// ", mixup 0.2, cutmix 1"; "" where both are off.
std::string describe(const MixOptions& options);

// What becomes of one sample.
struct Mix {
  int64_t other = 0;       // the sample that it is mixed with
  double own = 1;          // its own part
  bool keeps_label = true; // false: it takes the label of the other
  bool cut = false;        // cutmix: a rectangle of the other replaces the sample's
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

// `key`: of the epoch.
Mix mix_of(const MixOptions& options, uint64_t key, int64_t sample, int64_t samples, const TensorDesc& desc);

// x becomes x and `other`, mixed. `desc`: of a batch of such samples.
void mix_samples(const Mix& mix, const TensorDesc& desc, float* x, const float* other);
void mix_targets(const Mix& mix, int64_t count, float* targets, const float* other);

// A number from Beta(alpha, alpha), a function of the key. Before: alpha > 0.
double draw_beta(double alpha, uint64_t key);

}  // namespace plimsoll::train
