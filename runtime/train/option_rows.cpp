#include "runtime/train/option_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

// The limit of counts (iterations, pixels, MiB) without a limit of their own: no sum or product of such numbers
// overflows.
constexpr int64_t kMostCount = 1'000'000'000'000;

// Kernels compute in f32, so real numbers must be finite in f32, too.
template <class T>
constexpr T kMost = std::is_floating_point_v<T> ? static_cast<T>(std::numeric_limits<float>::max())
                    : std::is_same_v<T, int64_t> ? static_cast<T>(kMostCount)
                                                 : std::numeric_limits<T>::max();

template <class T>
T number(std::string_view option, std::string_view text, T least, T most = kMost<T>) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) || !(value <= most) ||
      !std::isfinite(static_cast<double>(value)))
    throw TrainerError(Exit::usage,
                       std::string(option) + " takes a number " +
                           (std::is_same_v<T, int64_t> ? "from " + std::to_string(least) + " to " + std::to_string(most)
                            : std::is_floating_point_v<T> ? std::string("from 0 to 3.4e38")
                                                          : "from 0 to " + std::to_string(most)) +
                           ", not '" + std::string(text) + "'");
  return value;
}

// Numbers separated by commas.
std::vector<float> numbers(std::string_view option, std::string_view text, bool above_zero) {
  std::vector<float> list;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(number<float>(option, text.substr(begin, end - begin), 0));
    if (above_zero && list.back() == 0) throw TrainerError(Exit::usage, std::string(option) + " takes numbers above 0");
    begin = end + 1;
  }
  return list;
}

// One of a list of words.
template <class T, size_t N>
T choice(std::string_view option, std::string_view text, const std::pair<std::string_view, T> (&words)[N]) {
  std::string list;
  for (const auto& [word, meant] : words) {
    if (word == text) return meant;
    if (!word.empty()) list += (list.empty() ? "" : ", ") + std::string(word);
  }
  throw TrainerError(Exit::usage, std::string(option) + " takes one of " + list + ", not '" + std::string(text) + "'");
}

constexpr std::pair<std::string_view, OnNan> kOnNan[] = {
    {"stop", OnNan::stop}, {"skip", OnNan::skip}, {"ignore", OnNan::ignore}};
constexpr std::pair<std::string_view, LastBatch> kLastBatch[] = {
    {"drop", LastBatch::drop}, {"pad", LastBatch::pad}, {"keep", LastBatch::keep}};
constexpr std::pair<std::string_view, Metric> kMetrics[] = {{"loss", Metric::loss}, {"accuracy", Metric::accuracy}};
struct Normalization {
  int64_t count;
  float mean[3], deviation[3];
};
constexpr std::pair<std::string_view, Normalization> kNormalizations[] = {
    {"imagenet", {3, {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}}},
    {"inception", {1, {0.5F}, {0.5F}}},
    {"clip", {3, {0.48145466F, 0.4578275F, 0.40821073F}, {0.26862954F, 0.26130258F, 0.27577711F}}}};
constexpr std::pair<std::string_view, Resume> kResume[] = {{"", Resume::newest_whole}, {"strict", Resume::newest}};
constexpr std::pair<std::string_view, ScheduleKind> kSchedules[] = {{"constant", ScheduleKind::constant},
                                                                    {"step", ScheduleKind::step},
                                                                    {"cosine", ScheduleKind::cosine},
                                                                    {"linear", ScheduleKind::linear}};

using View = std::string_view;

void set_range_test(Options& options, View name, View text) {
  const size_t colon = text.find(':');
  if (colon == text.npos)
    throw TrainerError(Exit::usage,
                       std::string(name) + " takes LOW:HIGH, for example 1e-6:1, not '" + std::string(text) + "'");
  const double low = number<double>(name, text.substr(0, colon), 0),
               high = number<double>(name, text.substr(colon + 1), 0);
  if (!(low > 0) || !(high > low))
    throw TrainerError(Exit::usage, std::string(name) + " takes LOW:HIGH, LOW above 0 and HIGH above LOW");
  options.schedule = {.kind = ScheduleKind::range, .rate = high, .least = low};
  options.range_test = true;
  options.on_nan = OnNan::ignore;  // the test ends at the first loss that is not finite
  if (options.steps == 0) options.steps = 100;
}

// An average that never moves, DECAY 1, is refused.
double decay_of(View name, View text) {
  const double decay = number<double>(name, text, 0);
  if (!(decay < 1))
    throw TrainerError(Exit::usage, std::string(name) + " takes a number from 0 to below 1, 0.999 for example, not '" +
                                        std::string(text) + "'");
  return decay;
}

constexpr OptionRow kRows[] = {
    {"", "", "what to train on"},
    {"--data", "SOURCE",
     "samples and labels:\n"
     "npy:X.npy,Y.npy   one file per input of the model, in its order, labels last\n"
     "tokens:FILE,…     token ids for a language model: .bin of llm.c or nanoGPT, or .npy\n"
     "images:DIR        a folder of PNG and JPEG files for each class\n"
     "cifar10:DIR       data_batch_1.bin … of CIFAR-10's binary version\n"
     "mnist:DIR         train-images-idx3-ubyte and train-labels-idx1-ubyte\n"
     "synthetic[:SEED]  random samples, to test and to measure speed",
     [](Options& o, View, View v) { o.data = v; }},
    {"--epochs", "N", "passes over the data (default 1)",
     [](Options& o, View n, View v) { o.epochs = number<int64_t>(n, v, 1); }},
    {"--steps", "N", "stop after N iterations",
     [](Options& o, View n, View v) { o.steps = number<int64_t>(n, v, 1); }},
    {"--seed", "N", "for the order of samples, random layers and augmentation (default 0)",
     [](Options& o, View n, View v) { o.seed = number<uint64_t>(n, v, 0); }},
    {"--no-shuffle", "", "use samples in the order of the data", [](Options& o, View, View) { o.shuffle = false; }},
    {"--batch", "N",
     "samples of an iteration (default: as compiled): any number if the plan has several rounds,\n"
     "else at most the compiled one",
     [](Options& o, View n, View v) { o.batch.batch = number<int64_t>(n, v, 1, 1'000'000'000); }},
    {"--sub-batch", "N", "samples of a round: at most the planned sub-batch, which is the default",
     [](Options& o, View n, View v) { o.batch.sub_batch = number<int64_t>(n, v, 1, 1'000'000'000); }},
    {"--last", "WHAT",
     "what to do with the last samples of an epoch, if they are no whole batch:\n"
     "drop  leave them out; the next epoch has another order (default)\n"
     "pad   fill the batch with copies that the loss ignores\n"
     "keep  use a smaller batch; its loss is the mean over it",
     [](Options& o, View n, View v) { o.last_batch = choice(n, v, kLastBatch); }},

    {"--workers", "N", "threads that read and decode samples (default 1); their number does not change the results",
     [](Options& o, View n, View v) { o.feeding.workers = number<int64_t>(n, v, 1, 256); }},
    {"--mixup", "ALPHA",
     "mix each training sample with another: x = own * x_a + (1 - own) * x_b, with own from Beta(ALPHA, ALPHA).\n"
     "Targets that are real numbers are mixed likewise. For classes, the loss is own * CE(a) + (1 - own) * CE(b) if\n"
     "the model is compiled with --mixed-labels; else the class is a's with probability own, or b's. 0.2 for example",
     [](Options& o, View n, View v) { o.feeding.mixing.mixup = number<double>(n, v, 0); }},
    {"--cutmix", "ALPHA",
     "paste a rectangle of another image into each training image, labelled as by --mixup; 1 for example.\n"
     "With both, each sample gets one of them by chance",
     [](Options& o, View n, View v) { o.feeding.mixing.cutmix = number<double>(n, v, 0); }},

    {"", "", "images (images:DIR), cropped from the center to the model's size"},
    {"--resize", "N",
     "resize the shorter side to N pixels before the crop (default: only if the image is too small)",
     [](Options& o, View n, View v) { o.images.resize = number<int64_t>(n, v, 1, 65535); }},
    {"--random-crop", "", "for training, crop at a random place",
     [](Options& o, View, View) { o.images.random_crop = true; }},
    {"--random-resized-crop", "",
     "for training, crop 8 to 100 % of the area at a random place, with sides from 3:4 to 4:3, and resize it\n"
     "to the model's size, as torchvision's RandomResizedCrop; --resize is then for evaluation only",
     [](Options& o, View, View) { o.images.random_resized_crop = true; }},
    {"--scaled-decode", "",
     "decode a JPEG at 1/2, 1/4 or 1/8 of its size if no side gets smaller than it is after resizing: faster for\n"
     "large photos, with slightly other pixels than torchvision",
     [](Options& o, View, View) { o.images.scaled_decode = true; }},
    {"--color-jitter", "X",
     "for training, multiply brightness, contrast and saturation by random factors from 1 - X to 1 + X (default 0)",
     [](Options& o, View n, View v) { o.images.color_jitter = number<float>(n, v, 0); }},
    {"--normalize", "PRESET",
     "--mean and --std that pretrained models expect:\n"
     "imagenet   of torchvision and timm: 0.485,0.456,0.406 and 0.229,0.224,0.225\n"
     "inception  0.5 and 0.5\n"
     "clip       0.48145466,0.4578275,0.40821073 and 0.26862954,0.26130258,0.27577711",
     [](Options& o, View n, View v) {
       const Normalization preset = choice(n, v, kNormalizations);
       o.images.mean.assign(preset.mean, preset.mean + preset.count);
       o.images.deviation.assign(preset.deviation, preset.deviation + preset.count);
     }},
    {"--flip", "", "for training, mirror images at random, every other one on average",
     [](Options& o, View, View) { o.images.flip = true; }},
    {"--mean", "X[,X,X]",
     "subtracted from pixels, which are from 0 to 1 (default 0); one number, or one for each channel",
     [](Options& o, View n, View v) { o.images.mean = numbers(n, v, false); }},
    {"--std", "X[,X,X]", "divides pixels after that (default 1); one number, or one for each channel",
     [](Options& o, View n, View v) { o.images.deviation = numbers(n, v, true); }},

    {"", "", "evaluation"},
    {"--eval-data", "SOURCE",
     "evaluate on this after each epoch; cifar10 and mnist take their test files (also --test)",
     [](Options& o, View, View v) { o.eval_data = v; }},
    {"--eval-every", "N", "evaluate after every N iterations instead of each epoch",
     [](Options& o, View n, View v) { o.eval_every = number<int64_t>(n, v, 1); }},

    {"--keep-best", "METRIC",
     "keep the weights of the evaluation with the lowest loss (loss) or the highest accuracy (accuracy):\n"
     "--save FILE writes them, and --checkpoint DIR keeps their checkpoint",
     [](Options& o, View n, View v) { o.best = choice(n, v, kMetrics); }},
    {"--early-stop", "N",
     "end after N evaluations without improvement (of the metric of --keep-best, or of the loss)",
     [](Options& o, View n, View v) { o.early_stop = number<int64_t>(n, v, 1); }},

    {"", "", "optimization"},
    {"--lr", "X", "learning rate (default 0.01)",
     [](Options& o, View n, View v) { o.schedule.rate = number<double>(n, v, 0); }},
    {"--lr-schedule", "KIND",
     "the learning rate after the warm-up:\n"
     "constant  unchanged (default)\n"
     "step      multiplied by --lr-gamma after every --lr-step iterations\n"
     "cosine    falls to --lr-min at the end of the run, along half a cosine\n"
     "linear    falls to --lr-min at the end of the run",
     [](Options& o, View n, View v) { o.schedule.kind = choice(n, v, kSchedules); }},
    {"--warmup", "N", "raise the learning rate linearly in the first N iterations (default 0)",
     [](Options& o, View n, View v) { o.schedule.warmup = number<int64_t>(n, v, 0); }},
    {"--lr-min", "X", "the last learning rate of cosine and linear (default 0)",
     [](Options& o, View n, View v) { o.schedule.least = number<double>(n, v, 0); }},
    {"--lr-step", "N", "iterations between the steps of --lr-schedule step",
     [](Options& o, View n, View v) { o.schedule.every = number<int64_t>(n, v, 1); }},
    {"--lr-gamma", "X", "factor of --lr-schedule step (default 0.1)",
     [](Options& o, View n, View v) { o.schedule.gamma = number<double>(n, v, 0); }},
    {"--weight-decay", "X", "weight decay (default: as compiled)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--momentum", "X", "of the optimizer momentum (default: as compiled)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--beta1", "BETA", "of adam, adamw, lamb and lion (default 0.9)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--beta2", "BETA", "of adam, adamw and lamb (default 0.999), and of lion (default 0.99)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--epsilon", "X", "of adam, adamw (default 1e-8) and lamb (default 1e-6)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--clip-norm", "X",
     "largest 2-norm of all gradients together, of a trainer that is compiled with --clip-norm or in fp16",
     [](Options& o, View n, View v) {
       o.optimizer.max_norm = number<double>(n, v, 0);
       if (*o.optimizer.max_norm == 0) throw TrainerError(Exit::usage, std::string(n) + " takes a number above 0");
     }},
    {"--init-scale", "X",
     "initial loss scale of a trainer in fp16 (default 65536). If a gradient is infinite or NaN, the scale\n"
     "is halved and the iteration skipped",
     [](Options& o, View n, View v) {
       o.scaling.initial = number<double>(n, v, 0);
       if (*o.scaling.initial == 0) throw TrainerError(Exit::usage, std::string(n) + " takes a number above 0");
     }},
    {"--growth-interval", "N",
     "iterations without a skip after which the loss scale is doubled (default 2000)",
     [](Options& o, View n, View v) { o.scaling.growth_interval = number<int64_t>(n, v, 1); }},
    {"--group", "'GLOB:lr=X,weight-decay=X'",
     "settings for the weights whose names match: lr, weight-decay, momentum, beta1, beta2, epsilon.\n"
     "May be repeated; if several groups match, the last one that has the setting wins",
     [](Options& o, View, View v) { o.optimizer.groups.push_back(parse_group(v)); }},
    {"--no-decay-on-norms-and-biases", "",
     "weight decay 0 for weights of at most one dimension and for those named bias",
     [](Options& o, View, View) {
       o.optimizer.no_decay_on_norms_and_biases = true;
     }},
    {"--lr-range-test", "LOW:HIGH",
     "find a learning rate: it rises from LOW to HIGH over --steps (default 100), and a table shows the losses;\n"
     "nothing is saved",
     [](Options& o, View n, View v) { set_range_test(o, n, v); }},
    {"--ema", "DECAY",
     "average the weights: after each iteration, average = DECAY * average + (1 - DECAY) * weights.\n"
     "Evaluations, --save and --keep-best use the average, which is kept in host memory; 0.999 for example",
     [](Options& o, View n, View v) { o.average_decay = decay_of(n, v); }},
    {"--on-nan", "WHAT",
     "what to do if the loss is NaN or infinite; the first bad tensor is named:\n"
     "stop    end with an error and save nothing (default)\n"
     "skip    leave out the iteration: weights, optimizer and statistics stay as they are\n"
     "ignore  continue without checks",
     [](Options& o, View n, View v) { o.on_nan = choice(n, v, kOnNan); }},

    {"", "", "weights"},
    {"--init", "WHAT",
     "initial weights:\n"
     "file     from the model file (default)\n"
     "he:SEED  random matrices and filters (He et al. 2015), all others from the model file",
     [](Options& o, View, View v) { o.init = v; }},
    {"--model", "FILE", "the model file (default: model.onnx in the trainer's directory)",
     [](Options& o, View, View v) { o.model = v; }},
    {"--save", "FILE", "write the model with the trained weights", [](Options& o, View, View v) { o.save = v; }},

    {"", "", "prediction, instead of training"},
    {"--predict", "SOURCE",
     "predict for these samples: a source as of --data without the file of labels (X.npy);\n"
     "images:DIR takes the images in DIR and its folders",
     [](Options& o, View, View v) { o.predict = v; }},
    {"--out", "FILE",
     "the predictions, in the order of the data and the format of the name's ending:\n"
     ".npy  the scores of each sample, which are the input of the loss: float32\n"
     ".csv  the file, its class, and the probability of each class\n"
     ".txt  the same as readable text, with the three most probable classes; - prints it\n"
     "Class names and the preparation of images come from a model that a trainer saved (--model)",
     [](Options& o, View, View v) { o.out = v; }},

    {"", "", "checkpoints"},
    {"--checkpoint", "DIR", "save checkpoints there: after each epoch, at the end, and when interrupted",
     [](Options& o, View, View v) { o.checkpoint = v; }},
    {"--checkpoint-every", "N", "save after every N iterations instead of each epoch",
     [](Options& o, View n, View v) { o.checkpoint_every = number<int64_t>(n, v, 1); }},
    {"--keep", "N", "keep the N newest checkpoints (default 3), and the best one of --keep-best",
     [](Options& o, View n, View v) { o.keep = number<int64_t>(n, v, 1); }},
    {"--checkpoint-optional", "",
     "continue if one cannot be written, and exit with 7 only if the last one cannot be written\n"
     "(also --ckpt-optional)",
     [](Options& o, View, View) { o.checkpoint_optional = true; }},
    {"--resume", "[=strict]",
     "continue from the newest complete checkpoint, with the same bits as an uninterrupted run;\n"
     "=strict: end with an error if a newer one is damaged",
     [](Options& o, View n, View v) { o.resume = choice(n, v, kResume); }},

    {"", "", "output and environment"},
    {"--metrics", "FILE",
     "write a line for each iteration: a JSON object, or CSV if FILE ends in .csv; may be repeated",
     [](Options& o, View, View v) { o.metrics.emplace_back(v); }},
    {"--html", "FILE",
     "write the curves of the run as a page at the end of each epoch: loss, accuracy, learning rate, samples/s,\n"
     "memory; `plimsoll runs A.jsonl B.jsonl --html FILE` plots several runs in one page",
     [](Options& o, View, View v) { o.html = v; }},
    {"--tensorboard", "DIR", "write the same curves as an event file for `tensorboard --logdir DIR`",
     [](Options& o, View, View v) { o.tensorboard = v; }},
    {"--trace", "FILE",
     "write the timeline of the last round, for ui.perfetto.dev and for\n"
     "`plimsoll inspect DIR --html report.html --measured FILE`",
     [](Options& o, View, View v) { o.trace = v; }},
    {"--spill", "DIR", "put offloaded tensors in a file there, not in memory",
     [](Options& o, View, View v) { o.spill = v; }},
    {"--patience", "SECONDS",
     "of several ranks: end all if one makes no progress for so long (default 20; 0: no limit, for debuggers)",
     [](Options& o, View n, View v) { o.patience = number<int64_t>(n, v, 0, 1'000'000); }},
    {"--measure-ranks", "FILE",
     "of several ranks: measure their reductions instead of training, for `plimsoll compile --rank-costs FILE`",
     [](Options& o, View, View v) { o.measure_ranks = v; }},
    {"--revalidate", "",
     "exit with 8 if the libraries here lack a planned algorithm, or it needs more workspace than planned\n"
     "(default: take another algorithm)",
     [](Options& o, View, View) { o.revalidate = true; }},
    {"--slack", "MIB",
     "on a GPU: warn if libraries and graphs use more than this in addition to the arena (default 512)",
     [](Options& o, View n, View v) { o.slack = std::min(number<int64_t>(n, v, 0), int64_t{1} << 40); }},
    {"--no-graph", "", "on a GPU: launch kernels one by one, not as a CUDA graph; for profilers and debuggers",
     [](Options& o, View, View) { o.graph = false; }},
    {"--no-overlap", "", "run each step on the calling thread when its line in steps_0.cpp is called; for debuggers",
     [](Options& o, View, View) { o.overlap = false; }},
    {"--json", "", "print the figures of the run as one JSON object when it ends, and nothing else to stdout",
     [](Options& o, View, View) { o.json = o.quiet = true; }},
    {"--quiet", "", "print errors only (also -q)", [](Options& o, View, View) { o.quiet = true; }},
    {"--help", "", "print this help", [](Options& o, View, View) { o.help = true; }},
};

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }

}  // namespace plimsoll::train
