#include "runtime/train/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

#include "runtime/train/error.h"
#include "runtime/train/nearest.h"

namespace plimsoll::train {
namespace {

// What counts something (iterations, pixels, MiB) is at most this, unless a row says less: no sum or product of such numbers overflows.
constexpr int64_t kMostCount = 1'000'000'000'000;

// Kernels compute in f32: what is real must be finite there, too.
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
    throw TrainerError(Exit::usage, std::string(option) + " takes a number " +
                                        (std::is_same_v<T, int64_t> ? "from " + std::to_string(least) + " to " + std::to_string(most)
                                                                    : std::is_floating_point_v<T> ? std::string("from 0 to 3.4e38") : "from 0 to " + std::to_string(most)) +
                                        ", not '" + std::string(text) + "'");
  return value;
}

// A few numbers with commas between them.
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

// One of a few words.
template <class T, size_t N>
T choice(std::string_view option, std::string_view text, const std::pair<std::string_view, T> (&words)[N]) {
  std::string list;
  for (const auto& [word, meant] : words) {
    if (word == text) return meant;
    if (!word.empty()) list += (list.empty() ? "" : ", ") + std::string(word);
  }
  throw TrainerError(Exit::usage, std::string(option) + " takes one of " + list + ", not '" + std::string(text) + "'");
}

constexpr std::pair<std::string_view, OnNan> kOnNan[] = {{"stop", OnNan::stop}, {"skip", OnNan::skip}, {"ignore", OnNan::ignore}};
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

// One row per option: its help is made from what it is parsed by. A row without `set` is a heading.
struct Row {
  std::string_view name;
  std::string_view value;  // "": a flag; "[=…]": may be left out
  std::string_view help;   // a line break begins another line
  void (*set)(Options& options, std::string_view name, std::string_view value) = nullptr;
};

bool may_be_left_out(const Row& row) { return row.value.starts_with('['); }

using View = std::string_view;

void set_range_test(Options& options, View name, View text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) throw TrainerError(Exit::usage, std::string(name) + " takes LOW:HIGH, for example 1e-6:1, not '" + std::string(text) + "'");
  const double low = number<double>(name, text.substr(0, colon), 0), high = number<double>(name, text.substr(colon + 1), 0);
  if (!(low > 0) || !(high > low)) throw TrainerError(Exit::usage, std::string(name) + " takes LOW:HIGH, LOW above 0 and HIGH above LOW");
  options.schedule = {.kind = ScheduleKind::range, .rate = high, .least = low};
  options.range_test = true;
  options.on_nan = OnNan::ignore;  // it ends where the loss is no finite number
  if (options.steps == 0) options.steps = 100;
}

constexpr Row kRows[] = {
    {"", "", "what to train on"},
    {"--data", "SOURCE",
     "samples and labels:\n"
     "npy:X.npy,Y.npy   one file per input of the model, in its order, labels last\n"
     "tokens:FILE,…     token ids for a language model: llm.c's or nanoGPT's .bin, or .npy\n"
     "images:DIR        a folder per class with PNG and JPEG files in it\n"
     "cifar10:DIR       data_batch_1.bin … of CIFAR-10's binary version\n"
     "mnist:DIR         train-images-idx3-ubyte and train-labels-idx1-ubyte\n"
     "synthetic[:SEED]  random samples: to see that it runs, and how fast",
     [](Options& o, View, View v) { o.data = v; }},
    {"--epochs", "N", "passes over the data (default 1)",
     [](Options& o, View n, View v) { o.epochs = number<int64_t>(n, v, 1); }},
    {"--steps", "N", "stop after N iterations", [](Options& o, View n, View v) { o.steps = number<int64_t>(n, v, 1); }},
    {"--seed", "N", "of the order of the samples and of random layers (default 0)",
     [](Options& o, View n, View v) { o.seed = number<uint64_t>(n, v, 0); }},
    {"--no-shuffle", "", "samples in the order of the data", [](Options& o, View, View) { o.shuffle = false; }},
    {"--last", "WHAT",
     "samples left when an epoch has no whole batch any more:\n"
     "drop  they wait for the next epoch's order (default)\n"
     "pad   a whole batch, filled with copies that the loss does not count\n"
     "keep  a smaller batch; its loss is the mean over it",
     [](Options& o, View n, View v) { o.last_batch = choice(n, v, kLastBatch); }},

    {"", "", "pictures (images:DIR); a piece of the model's size is cut from the middle"},
    {"--resize", "N", "make the shorter side N pixels before (default: leave it, or as large as needed)",
     [](Options& o, View n, View v) { o.images.resize = number<int64_t>(n, v, 1, 65535); }},
    {"--random-crop", "", "for training, cut from any place", [](Options& o, View, View) { o.images.random_crop = true; }},
    {"--random-resized-crop", "",
     "for training, cut from any place 8 to 100 % of the area, with sides from 3:4 to 4:3, and make it the\n"
     "model's size, as torchvision's RandomResizedCrop; --resize is then for evaluation only",
     [](Options& o, View, View) { o.images.random_resized_crop = true; }},
    {"--color-jitter", "X", "for training, multiply brightness, contrast and saturation, each by chance from 1 - X to 1 + X (default 0)",
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
    {"--flip", "", "for training, mirror every other picture, by chance", [](Options& o, View, View) { o.images.flip = true; }},
    {"--mean", "X[,X,X]", "of the pixels, from 0 to 1, to be subtracted (default 0); one for each channel or for all",
     [](Options& o, View n, View v) { o.images.mean = numbers(n, v, false); }},
    {"--std", "X[,X,X]", "of the pixels, to divide by (default 1)",
     [](Options& o, View n, View v) { o.images.deviation = numbers(n, v, true); }},

    {"", "", "evaluation"},
    {"--eval-data", "SOURCE", "evaluate on this after each epoch; cifar10 and mnist take their test files (also --test)",
     [](Options& o, View, View v) { o.eval_data = v; }},
    {"--eval-every", "N", "after every N iterations, instead of each epoch",
     [](Options& o, View n, View v) { o.eval_every = number<int64_t>(n, v, 1); }},

    {"--keep-best", "METRIC",
     "of the evaluations: loss (the least) or accuracy (the highest). --save FILE then has the weights\n"
     "of the best one, and --checkpoint DIR keeps its checkpoint however old it is",
     [](Options& o, View n, View v) { o.best = choice(n, v, kMetrics); }},
    {"--early-stop", "N", "end when N evaluations are no better than the best before (by --keep-best, or by the loss)",
     [](Options& o, View n, View v) { o.early_stop = number<int64_t>(n, v, 1); }},

    {"", "", "how"},
    {"--lr", "X", "learning rate (default 0.01)",
     [](Options& o, View n, View v) { o.schedule.rate = number<double>(n, v, 0); }},
    {"--lr-schedule", "KIND",
     "how the rate goes on behind the warm-up:\n"
     "constant  as it is (default)\n"
     "step      times --lr-gamma after every --lr-step iterations\n"
     "cosine    down to --lr-min at the end of the run, by half a cosine\n"
     "linear    down to --lr-min at the end of the run",
     [](Options& o, View n, View v) { o.schedule.kind = choice(n, v, kSchedules); }},
    {"--warmup", "N", "the rate rises in the first N iterations (default 0)",
     [](Options& o, View n, View v) { o.schedule.warmup = number<int64_t>(n, v, 0); }},
    {"--lr-min", "X", "where cosine and linear end (default 0)", [](Options& o, View n, View v) { o.schedule.least = number<double>(n, v, 0); }},
    {"--lr-step", "N", "iterations from one step to the next", [](Options& o, View n, View v) { o.schedule.every = number<int64_t>(n, v, 1); }},
    {"--lr-gamma", "X", "of step (default 0.1)", [](Options& o, View n, View v) { o.schedule.gamma = number<double>(n, v, 0); }},
    {"--weight-decay", "X", "of the optimizer, as the four below: instead of what the model was compiled with",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--momentum", "X", "of momentum", [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--beta1", "BETA", "of adam, adamw, lamb and lion (default 0.9)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--beta2", "BETA", "of adam, adamw and lamb (default 0.999), and of lion (default 0.99)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--epsilon", "X", "of adam, adamw (default 1e-8) and lamb (default 1e-6)",
     [](Options& o, View n, View v) { set_number(o.optimizer.all, n, v); }},
    {"--group", "'GLOB:lr=X,weight-decay=X'",
     "numbers for the weights whose names match, instead of those for all: lr, weight-decay,\n"
     "momentum, beta1, beta2, epsilon; may be given again, and of two that match the later holds",
     [](Options& o, View, View v) { o.optimizer.groups.push_back(parse_group(v)); }},
    {"--no-decay-on-norms-and-biases", "", "weight decay 0 for weights of at most one dimension, and for those named bias",
     [](Options& o, View, View) { o.optimizer.no_decay_on_norms_and_biases = true; }},
    {"--lr-range-test", "LOW:HIGH",
     "instead of a training: the rate rises from LOW to HIGH over --steps (default 100), and the losses\n"
     "say which rates train; nothing is saved",
     [](Options& o, View n, View v) { set_range_test(o, n, v); }},
    {"--on-nan", "WHAT",
     "when the loss is no finite number; the first bad tensor is named:\n"
     "stop    end with an error, saving nothing (default)\n"
     "skip    leave the iteration out: weights, optimizer and statistics stay as they are\n"
     "ignore  go on, and look for nothing",
     [](Options& o, View n, View v) { o.on_nan = choice(n, v, kOnNan); }},

    {"", "", "weights"},
    {"--init", "WHAT",
     "first weights:\n"
     "file     from the model file (default)\n"
     "he:SEED  matrices and filters drawn after He et al., all else from the model file",
     [](Options& o, View, View v) { o.init = v; }},
    {"--model", "FILE", "the model file, instead of the one beside the sources", [](Options& o, View, View v) { o.model = v; }},
    {"--save", "FILE", "write the model with the trained weights", [](Options& o, View, View v) { o.save = v; }},

    {"", "", "prediction, instead of training"},
    {"--predict", "SOURCE", "run samples through the model: a source as of --data, the file of labels left out (X.npy)",
     [](Options& o, View, View v) { o.predict = v; }},
    {"--out", "FILE.npy", "the scores of each sample, as the loss would see them: float32, in the order of the data",
     [](Options& o, View, View v) { o.out = v; }},

    {"", "", "checkpoints"},
    {"--checkpoint", "DIR", "keep checkpoints there: after each epoch, at the end, and when interrupted",
     [](Options& o, View, View v) { o.checkpoint = v; }},
    {"--checkpoint-every", "N", "after every N iterations, instead of each epoch",
     [](Options& o, View n, View v) { o.checkpoint_every = number<int64_t>(n, v, 1); }},
    {"--keep", "N", "so many of the newest remain (default 3), and the best of --keep-best",
     [](Options& o, View n, View v) { o.keep = number<int64_t>(n, v, 1); }},
    {"--checkpoint-optional", "",
     "go on where one cannot be written, and try again at the next; exit with 7 if the\n"
     "last cannot be (also --ckpt-optional)",
     [](Options& o, View, View) { o.checkpoint_optional = true; }},
    {"--resume", "[=strict]",
     "go on from the newest whole checkpoint, with the bits of a run that was never interrupted;\n"
     "=strict: end with an error where a newer one is damaged",
     [](Options& o, View n, View v) { o.resume = choice(n, v, kResume); }},

    {"", "", "else"},
    {"--metrics", "FILE", "a line per iteration: a JSON object, or comma-separated where FILE ends in .csv; may be given twice",
     [](Options& o, View, View v) { o.metrics.emplace_back(v); }},
    {"--html", "FILE", "the curves of the run as a page, written at the end of each epoch: loss, accuracy, learning rate, samples/s,\n"
     "memory. `plimsoll runs A.jsonl B.jsonl --html FILE` lays several runs over one another",
     [](Options& o, View, View v) { o.html = v; }},
    {"--tensorboard", "DIR", "the same curves as event files for `tensorboard --logdir DIR`",
     [](Options& o, View, View v) { o.tensorboard = v; }},
    {"--trace", "FILE", "when each step of the last round ran, measured.json for example: for ui.perfetto.dev, and beside the plan in\n"
     "`plimsoll inspect DIR --html report.html --measured measured.json`",
     [](Options& o, View, View v) { o.trace = v; }},
    {"--spill", "DIR", "tensors that wait outside the arena do so in a file there, not in memory",
     [](Options& o, View, View v) { o.spill = v; }},
    {"--patience", "SECONDS", "of several ranks: one that is silent or does nothing for so long is lost, and all end (default 20; 0: never, for debuggers)",
     [](Options& o, View n, View v) { o.patience = number<int64_t>(n, v, 0, 1'000'000); }},
    {"--measure-ranks", "FILE", "of several ranks, instead of training: how fast they add up, for `plimsoll compile --rank-costs FILE`",
     [](Options& o, View, View v) { o.measure_ranks = v; }},
    {"--revalidate", "", "with other libraries than the plan was made with: ask them for the planned algorithms, and end with 8 where\n"
     "one is not there or needs more workspace than planned, instead of taking another",
     [](Options& o, View, View) { o.revalidate = true; }},
    {"--slack", "MIB", "on a GPU: what libraries and graphs may take beside the arena; above it, a warning (default 512)",
     [](Options& o, View n, View v) { o.slack = std::min(number<int64_t>(n, v, 0), int64_t{1} << 40); }},
    {"--no-graph", "", "on a GPU: launch step by step, not as one CUDA graph; for profilers and debuggers",
     [](Options& o, View, View) { o.graph = false; }},
    {"--no-overlap", "", "run each step when its line in steps_0.cpp is called, on the calling thread: for debuggers",
     [](Options& o, View, View) { o.overlap = false; }},
    {"--quiet", "", "print errors only (also -q)", [](Options& o, View, View) { o.quiet = true; }},
    {"--help", "", "this", [](Options& o, View, View) { o.help = true; }},
};

const Row* find_row(std::string_view name) {
  if (name == "-h") name = "--help";
  if (name == "-q") name = "--quiet";
  if (name == "--test") name = "--eval-data";
  if (name == "--ckpt-optional") name = "--checkpoint-optional";
  for (const Row& row : kRows)
    if (row.set && row.name == name) return &row;
  return nullptr;
}

// Options of `plimsoll compile` that somebody may look for here.
constexpr std::string_view kCompiledIn[] = {
    "--algorithms-of", "--batch", "--batch-norm", "--budget", "--class-axis", "--clip-norm", "--costs", "--dim", "--effort", "--freeze",
    "--frozen-statistics", "--host-budget", "--layout", "--loss", "--math", "--modes", "--nesterov", "--optimizer", "--output", "--policy",
    "--process-budget", "--ranks", "--sub-batch", "--target", "--threads", "--time-limit", "--trainable"};

[[noreturn]] void refuse_unknown(std::string_view given, std::string_view name) {
  if (std::find(std::begin(kCompiledIn), std::end(kCompiledIn), name) != std::end(kCompiledIn))
    throw TrainerError(Exit::usage, std::string(name) + " is decided when the model is compiled: `plimsoll compile … " + std::string(name) + " …`");
  std::vector<std::string_view> names;
  for (const Row& row : kRows)
    if (row.set) names.push_back(row.name);
  const auto near = nearest(name, names, 1, name.size() / 3);
  throw TrainerError(Exit::usage, "unknown option '" + std::string(given) + "'" +
                                      (near.empty() ? "; --help lists the options" : "\nDid you mean '" + std::string(near.front()) + "'?"));
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code unknown;
  const auto resolved = [&](const std::string& path) { return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown); };
  return resolved(a) == resolved(b);
}

// What would be read and have no effect is refused, like what contradicts.
void check_together(const Options& options, const std::vector<std::string_view>& names) {
  const auto given = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  for (const std::string_view option : {"--resume", "--checkpoint-every", "--checkpoint-optional", "--keep"})
    if (given(option) && options.checkpoint.empty())
      throw TrainerError(Exit::usage, std::string(option) + " needs --checkpoint DIR, where checkpoints are");
  const auto pictures = [](const std::string& source) { return source.starts_with("images:"); };
  for (const std::string_view option : {"--resize", "--random-crop", "--random-resized-crop", "--color-jitter", "--normalize", "--flip", "--mean", "--std"})
    if (given(option) && !pictures(options.data) && !pictures(options.eval_data) && !pictures(options.predict))
      throw TrainerError(Exit::usage, std::string(option) + " is of pictures, images:DIR, and there are none");
  if (given("--random-crop") && given("--random-resized-crop"))
    throw TrainerError(Exit::usage, "--random-crop and --random-resized-crop exclude each other");
  for (const std::string_view option : {"--mean", "--std"})
    if (given(option) && given("--normalize")) throw TrainerError(Exit::usage, "--normalize sets " + std::string(option) + ": leave one of them out");
  if (options.eval_every > 0 && options.eval_data.empty())
    throw TrainerError(Exit::usage, "--eval-every needs --eval-data SOURCE");
  if (options.predict.empty() != options.out.empty())
    throw TrainerError(Exit::usage, options.out.empty() ? "--predict needs --out FILE.npy" : "--out needs --predict SOURCE");
  if (!options.predict.empty() && !options.save.empty()) throw TrainerError(Exit::usage, "--save is of training; --predict moves no weight");
  for (const std::string_view option : {"--html", "--tensorboard"})
    if (given(option) && !(options.predict.empty() && options.measure_ranks.empty()))
      throw TrainerError(Exit::usage, std::string(option) + " shows training, and " + (options.predict.empty() ? "--measure-ranks" : "--predict") + " trains nothing");
  if (!options.predict.empty() && !options.checkpoint.empty() && options.resume == Resume::no)
    throw TrainerError(Exit::usage, "--predict makes no checkpoints; --checkpoint DIR --resume predicts with the newest there");
  if (!options.measure_ranks.empty() && !(options.save.empty() && options.checkpoint.empty() && options.predict.empty()))
    throw TrainerError(Exit::usage, "--measure-ranks trains nothing: leave out what is of training");
  std::vector<std::pair<std::string, std::string>> outputs = {{"--save", options.save}, {"--html", options.html}, {"--trace", options.trace}, {"--out", options.out}};
  for (const std::string& metrics : options.metrics) outputs.emplace_back("--metrics", metrics);
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = i + 1; j < outputs.size(); ++j)
      if (!outputs[i].second.empty() && !outputs[j].second.empty() && is_same_file(outputs[i].second, outputs[j].second))
        throw TrainerError(Exit::usage, outputs[i].first + " and " + outputs[j].first + " name the same file, '" + outputs[i].second + "'");
  for (const std::string_view option : {"--lr", "--lr-schedule", "--warmup", "--lr-min", "--on-nan", "--save", "--checkpoint", "--predict", "--keep-best", "--early-stop"})
    if (options.range_test && given(option))
      throw TrainerError(Exit::usage, std::string(option) + " and --lr-range-test exclude each other: it sets the rate, and nothing is saved");
  for (const std::string_view option : {"--keep-best", "--early-stop"})
    if (given(option) && options.eval_data.empty()) throw TrainerError(Exit::usage, std::string(option) + " needs --eval-data SOURCE, which says what is better");
  if (given("--keep-best") && options.save.empty() && options.checkpoint.empty())
    throw TrainerError(Exit::usage, "--keep-best needs --save FILE or --checkpoint DIR, where the best weights are kept");
  const ScheduleKind kind = options.schedule.kind;
  const bool steps = kind == ScheduleKind::step;
  if (steps && !given("--lr-step")) throw TrainerError(Exit::usage, "--lr-schedule step needs --lr-step N, the iterations between its steps");
  for (const std::string_view option : {"--lr-step", "--lr-gamma"})
    if (!steps && given(option)) throw TrainerError(Exit::usage, std::string(option) + " is of --lr-schedule step");
  if (given("--lr-min") && kind != ScheduleKind::cosine && kind != ScheduleKind::linear)
    throw TrainerError(Exit::usage, "--lr-min is of --lr-schedule cosine or linear");
}

}  // namespace

std::string help_text() {
  constexpr size_t kColumn = 24;
  std::string text = "usage: train [options]\n";
  for (const Row& row : kRows) {
    if (!row.set) {
      text += "\n" + std::string(row.help) + "\n";
      continue;
    }
    std::string left = "  " + std::string(row.name) + (row.value.empty() || may_be_left_out(row) ? "" : " ") + std::string(row.value);
    left.resize(std::max(left.size() + 2, kColumn), ' ');
    text += left;
    for (const char c : row.help) text += c == '\n' ? "\n" + std::string(kColumn + 2, ' ') : std::string(1, c);
    text += "\n";
  }
  return text +
         "\nCtrl-C ends after the iteration at hand, saves, and exits with 130 (SIGTERM: 143); a second one ends at once.\n";
}

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    (options.told += given) += '\n';
    const size_t equals = given.find('=');
    const std::string_view name = given.substr(0, equals);
    const Row* const row = find_row(name);
    if (!row) refuse_unknown(given, name);
    names.push_back(row->name);
    std::string_view value;
    if (row->value.empty()) {
      if (equals != std::string_view::npos) throw TrainerError(Exit::usage, std::string(name) + " takes no value");
    } else if (equals != std::string_view::npos) {
      value = given.substr(equals + 1);
    } else if (!may_be_left_out(*row)) {
      if (i + 1 >= argc || std::string_view(argv[i + 1]).starts_with("--")) throw TrainerError(Exit::usage, std::string(name) + " needs a value");
      value = argv[++i];
      (options.told += value) += '\n';
    }
    row->set(options, name, value);
  }
  check_together(options, names);
  return options;
}

Options of_this_rank(const Options& given, bool speaks) {
  Options options = given;
  if (speaks) return options;
  options.quiet = true;
  options.metrics.clear();
  options.html.clear();
  options.tensorboard.clear();
  options.save.clear();
  options.checkpoint.clear();
  options.trace.clear();
  return options;
}

}  // namespace plimsoll::train
