#include "tools/plimsoll/planning_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/training/rules/rules.h"
#include "passes/policies.h"
#include "passes/planner.h"
#include "runtime/attrs/processors.h"

namespace plimsoll {

namespace cl = llvm::cl;

namespace {

constexpr int kMostJobs = 256;

}  // namespace

WeightOptions::WeightOptions(cl::SubCommand& sub)
    : trainable("trainable", cl::value_desc("PATTERN"),
                cl::desc("train only weights whose name, or whose layer's, matches: --trainable 'fc.*'; may be repeated"), cl::sub(sub)),
      freeze("freeze", cl::value_desc("PATTERN"),
             cl::desc("leave weights as they are whose name, or whose layer's, matches: --freeze 'layer1.*'; may be repeated"),
             cl::sub(sub)),
      frozen_statistics("frozen-statistics", cl::value_desc("PATTERN"),
                        cl::desc("batch normalizations whose name or module path matches use their running statistics in training, and "
                                 "keep them: --frozen-statistics 'backbone.*'; may be repeated"),
                        cl::sub(sub)),
      assume("assume", cl::init(Assume::nothing),
             cl::desc("tensors of which the model does not say whether they are trained; without it they are asked about"),
             cl::values(clEnumValN(Assume::trainable, "trainable", "all of them are parameters"),
                        clEnumValN(Assume::frozen, "frozen", "all of them are constants")),
             cl::sub(sub)),
      modes("modes", cl::init(Modes::asked),
            cl::desc("of a model that was exported for evaluation as a whole; without it, it is asked about"),
            cl::values(clEnumValN(Modes::train, "train", "normalizations take the statistics of each batch, as after model.train()"),
                       clEnumValN(Modes::as_exported, "as-exported", "running statistics stay, and dropouts drop nothing")),
            cl::sub(sub)),
      assume_shared("assume-shared",
                    cl::desc("of a model of dynamo's optimizer: a weight that several modules read is shared by them; without it, "
                             "it is asked about"), cl::sub(sub)),
      output("output", cl::value_desc("NAME"),
             cl::desc("of a model with several outputs: the one that the loss is of; what makes only the others is not trained"),
             cl::sub(sub)) {}

ModelOptions::ModelOptions(cl::SubCommand& sub)
    : model(cl::Positional, cl::Required, cl::desc("MODEL.onnx"), cl::sub(sub)),
      batch("batch", cl::Required, cl::value_desc("N"), cl::desc("samples in one training iteration"), cl::sub(sub)),
      loss("loss", cl::init(LossKind::softmax_cross_entropy), cl::desc("what training lowers"),
           cl::values(clEnumValN(LossKind::softmax_cross_entropy, "softmax-cross-entropy", "of logits and class labels"),
                      clEnumValN(LossKind::mse, "mse", "mean squared error of outputs and targets"),
                      clEnumValN(LossKind::binary_cross_entropy, "bce-logits", "binary cross entropy of logits and targets from 0 to 1"),
                      clEnumValN(LossKind::none, "none", "the model ends in a loss")),
           cl::sub(sub)),
      class_axis("class-axis", cl::init(1), cl::value_desc("K"),
                 cl::desc("of --loss softmax-cross-entropy: the axis of the scores that holds the classes, where the model does not say; "
                          "from the end where K is negative"),
                 cl::sub(sub)),
      optimizer("optimizer", cl::init(OptimizerKind::momentum), cl::desc("how weights are stepped"),
                cl::values(clEnumValN(OptimizerKind::sgd, "sgd", "plain"),
                           clEnumValN(OptimizerKind::momentum, "momentum", "SGD with momentum (default)"),
                           clEnumValN(OptimizerKind::adam, "adam", "Adam"),
                           clEnumValN(OptimizerKind::adamw, "adamw", "Adam with decoupled weight decay")),
                cl::sub(sub)),
      momentum("momentum", cl::init(0.9), cl::desc("of --optimizer momentum"), cl::sub(sub)),
      weight_decay("weight-decay", cl::init(0.0), cl::desc("L2 penalty, decoupled for adamw"), cl::sub(sub)),
      clip_norm("clip-norm", cl::init(0.0), cl::value_desc("X"),
                cl::desc("scale all gradients together so that their 2-norm is at most X; they are alive together then"), cl::sub(sub)),
      nesterov("nesterov", cl::desc("Nesterov's form of --optimizer momentum"), cl::sub(sub)),
      weights(sub),
      target("target", cl::init("host"), cl::value_desc("NAME"),
             cl::desc("host: this CPU, through oneDNN (default); cuda: an NVIDIA GPU, here or elsewhere"), cl::sub(sub)),
      math("math", cl::init("fp32"), cl::value_desc("NAME"),
           cl::desc("cuda: fp32 (default), or tf32: multiply on tensor cores, with 10 bits of mantissa"), cl::sub(sub)),
      nondeterministic("allow-nondeterministic", cl::desc("cuda: algorithms may be used that give other bits at every run"), cl::sub(sub)),
      remeasure("remeasure", cl::desc("measure again what is in the cache (`plimsoll cache` shows it), and replace it"), cl::sub(sub)),
      threads("threads", cl::init(0), cl::value_desc("N"),
              cl::desc("of the trainer, fixed because the bits of its results depend on it; by default the processors that this process may use"), cl::sub(sub)),
      dims("dim", cl::value_desc("NAME=SIZE"), cl::desc("size of a symbolic dimension other than the batch"), cl::sub(sub)),
      layout("layout", cl::init("auto"), cl::value_desc("NAME"),
             cl::desc("of images: auto (default); on the host plain, nChw8c, nChw16c; on cuda nchw, nhwc: by default what the tasks' times say"),
             cl::sub(sub)),
      strict("strict", cl::desc("refuse a model that otherwise gets a warning: NaN in weights, nothing to train, an export for evaluation"), cl::sub(sub)),
      require_bn("require-bn", cl::desc("refuse a model without batch normalizations, or with ones that an exporter folded or wrote for evaluation"), cl::sub(sub)),
      quiet("q", cl::desc("print nothing but errors and warnings"), cl::sub(sub)) {}

PlanningOptions::PlanningOptions(cl::SubCommand& sub)
    : ModelOptions(sub),
      sub_batch("sub-batch", cl::init(0), cl::value_desc("N"),
                cl::desc("samples in one round; by default whatever is fastest"), cl::sub(sub)),
      ranks("ranks", cl::init(1), cl::value_desc("N"),
            cl::desc("processes that share an iteration, by `mpirun -np N`; batch and sub-batch are of all, the budget is each one's"), cl::sub(sub)),
      rank_costs("rank-costs", cl::value_desc("FILE.json"),
                 cl::desc("rates between ranks, as a trainer measured them (train --measure-ranks FILE.json); assumed by default"), cl::sub(sub)),
      effort("effort", cl::init(PlanRequest{}.effort), cl::value_desc("0..3"),
             cl::desc("of policies that search: each step does about ten times the work of the one before; 1 is the default"),
             cl::sub(sub)),
      jobs("jobs", cl::init(0), cl::value_desc("N"),
           cl::desc("threads that plan; the plan is the same with any number. By default the processors that this process may use"), cl::sub(sub)),
      time_limit("time-limit", cl::init(0.0), cl::value_desc("SECONDS"),
                 cl::desc("of policies that search: the best plan found by then, and exit code 10; reading the model and measuring the whole batch do not count"), cl::sub(sub)),
      rules("rules", cl::init("true"), cl::value_desc("NAME"),
            cl::desc("true (default), or superneurons, modnn, dymem, vdnn, chen: build and count as that paper does, for reports"), cl::sub(sub)),
      costs("costs", cl::value_desc("SOURCE"),
            cl::desc("profiled: measure here, once; P.json: as `plimsoll profile` measured; modelled or a device's name: measure nothing. "
                     "By default compile's are profiled (on cuda where there is a GPU), and those of plan, compare and frontier modelled"),
            cl::sub(sub)),
      batch_norm("batch-norm", cl::init(BatchNorm::whole), cl::desc("what batch normalization sees of a batch that does not fit at once"),
                 cl::values(clEnumValN(BatchNorm::whole, "whole", "all of it: its networks run in rounds only where --sub-batch says so (default)"),
                            clEnumValN(BatchNorm::split, "split", "a sub-batch at a time: its networks run in rounds like others, wherever that is faster")),
                 cl::sub(sub)),
      host_budget("host-budget", cl::value_desc("SIZE"),
                  cl::desc("most bytes of the host pool (pinned on cuda), where what leaves the device waits: 8GiB, or a share of the memory that this machine has "
                           "available: 25%; auto: no limit. 50% by default, and no limit where costs are of a named device or a file: the plan may be for another machine"),
                  cl::sub(sub)) {}

OnePlanOptions::OnePlanOptions(cl::SubCommand& sub)
    : budget("budget", cl::init("100%"), cl::value_desc("SIZE"),
             cl::desc("most bytes of the arena: 4GiB, 512MiB, 1.5GB, or a share of what the same policy takes without a budget: 60%"),
             cl::sub(sub)),
      process_budget("process-budget", cl::value_desc("SIZE"),
                     cl::desc("cuda, instead of --budget: most bytes of the whole process, its context and libraries included, as nvidia-smi counts"),
                     cl::sub(sub)),
      policy("policy", cl::init(kDefaultPolicy), cl::value_desc("NAME"), cl::desc(policy_help(kDefaultPolicy)),
             cl::sub(sub)),
      what_if("what-if", cl::value_desc("SIZE"),
              cl::desc("plan once more with so many more bytes, and note in the plan what they would buy: 256MiB"), cl::sub(sub)),
      print_after("print-after", cl::value_desc("PASS|all"), cl::desc("print the plan after a pass, to stdout"), cl::sub(sub)),
      dump("dump", cl::value_desc("DIR"), cl::desc("write the network, the task graph and the plan after each pass"),
           cl::sub(sub)) {}

LossRequest loss_of(const ModelOptions& options) {
  LossRequest request(options.loss, options.weights.output);
  if (options.class_axis.getNumOccurrences() > 0) request.class_axis = options.class_axis;
  return request;
}

const std::string& policy_help(const std::string& default_name) {
  // LLVM keeps a reference to a description for as long as the program runs.
  static std::map<std::string, std::string> texts;
  std::string& text = texts[default_name];
  if (!text.empty()) return text;
  text = fmt::format("how memory is planned; {} is the default", default_name);
  size_t width = 0;
  for (const Policy& policy : all_policies()) width = std::max(width, policy.name.size());
  for (const Policy& policy : all_policies()) text += fmt::format("\n  {:<{}}  {}", policy.name, width, policy.summary);
  return text;
}

int64_t threads_of(const ModelOptions& options) {
  if (options.target != "host") return 1;
  return options.threads > 0 ? options.threads : processors();
}

int64_t threads_of(const PlanningOptions& options) {
  const int64_t threads = threads_of(static_cast<const ModelOptions&>(options));
  return options.threads > 0 ? threads : std::max<int64_t>(1, threads / options.ranks);
}

int jobs_of(const PlanningOptions& options) { return options.jobs > 0 ? options.jobs.getValue() : processors(); }

Arithmetic arithmetic_of(const ModelOptions& options) {
  return {.tf32 = options.math == "tf32", .nondeterministic = options.nondeterministic};
}

Result<std::map<std::string, int64_t>> sizes_by_name(const cl::list<std::string>& given) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    int64_t value = 0;
    const char* const first = text.c_str() + (equals == std::string::npos ? text.size() : equals + 1);
    const auto [rest, failure] = std::from_chars(first, text.c_str() + text.size(), value);
    if (equals == 0 || failure != std::errc{} || *rest != '\0' || value < 1)
      return Error{ExitCode::usage, fmt::format("'--dim {}' is not NAME=SIZE, for example --dim seq=128", text)};
    const auto [at, fresh] = dims.emplace(text.substr(0, equals), value);
    if (!fresh) return Error{ExitCode::usage, fmt::format("--dim {} is given twice: {} and {}", at->first, at->second, value)};
  }
  return dims;
}

namespace {

Status check_ranks(const PlanningOptions& options) {
  const long long ranks = options.ranks;
  if (ranks < 1 || ranks > 1024) return usage(fmt::format("--ranks is {} when it should be between 1 and 1024", ranks));
  if (ranks > 1 && options.rules != "true") return usage(fmt::format("--rules {} knows one rank only", options.rules.getValue()));
  if (ranks == 1 && !options.rank_costs.empty()) return usage("--rank-costs is of several ranks: --ranks N");
  for (const auto& [option, samples] : {std::pair{"--batch", options.batch.getValue()}, {"--sub-batch", options.sub_batch.getValue()}}) {
    if (samples % ranks == 0) continue;
    const long long less = samples / ranks * ranks;
    return usage(fmt::format("{} {} cannot be shared evenly by {} ranks; {}{} can", option, samples, ranks,
                             less > 0 ? fmt::format("{} and ", less) : "", less + ranks));
  }
  return {};
}

}  // namespace

Status check_usage(const ModelOptions& options) {
  if (options.batch < 1) return usage(fmt::format("--batch is {} when it should be at least 1", options.batch.getValue()));
  if (options.batch > (int64_t{1} << 31)) return usage(fmt::format("--batch {} is out of reach", options.batch.getValue()));
  if (options.target != "host" && options.target != "cuda")
    return usage(fmt::format("there is no target '{}'; targets: host, cuda", options.target.getValue()));
  if (options.target == "cuda" && options.layout.getValue().starts_with("nChw"))
    return usage(fmt::format("--layout {} is of the host's vector units; on cuda there are nchw and nhwc", options.layout.getValue()));
  if (options.target == "host" && (options.layout == "nchw" || options.layout == "nhwc"))
    return usage(fmt::format("--layout {} is of GPUs; on the host there are plain, nChw8c and nChw16c", options.layout.getValue()));
  if (options.math != "fp32" && options.math != "tf32")
    return usage(fmt::format("there is no arithmetic '{}'; --math takes fp32 or tf32", options.math.getValue()));
  if (options.math == "tf32" && options.target != "cuda") return usage("--math tf32 is of GPUs; the host computes in fp32");
  if (options.threads < (options.threads.getNumOccurrences() > 0 ? 1 : 0) || options.threads > 1024)
    return usage(fmt::format("--threads is {} when it should be between 1 and 1024", options.threads.getValue()));
  const bool clips = options.clip_norm.getNumOccurrences() > 0;
  constexpr double kMost = std::numeric_limits<float>::max();  // kernels compute with it in f32
  if (clips && (!(options.clip_norm > 0) || options.clip_norm > kMost))
    return usage(fmt::format("--clip-norm is {} when it should be above 0, and at most {:g}", options.clip_norm.getValue(), kMost));
  for (const auto& [option, value] : {std::pair{"--momentum", options.momentum.getValue()}, {"--weight-decay", options.weight_decay.getValue()}})
    if (!(value >= 0) || value > kMost) return usage(fmt::format("{} is {} when it should be a number from 0 on, and at most {:g}", option, value, kMost));
  if (options.nesterov && (options.optimizer != OptimizerKind::momentum || !(options.momentum > 0)))
    return usage("--nesterov is a form of --optimizer momentum, with --momentum above 0");
  for (const char* layout : {"auto", "plain", "nChw8c", "nChw16c", "nchw", "nhwc"})
    if (options.layout == layout) return {};
  return usage(fmt::format("there is no layout '{}'; layouts: auto, plain, nChw8c, nChw16c, and on cuda nchw, nhwc", options.layout.getValue()));
}

Status check_usage(const PlanningOptions& options) {
  PLIMSOLL_TRY(check_usage(static_cast<const ModelOptions&>(options)));
  if (options.sub_batch < (options.sub_batch.getNumOccurrences() > 0 ? 1 : 0) || options.sub_batch > options.batch)
    return usage(fmt::format("--sub-batch is {} when it should be between 1 and the batch, {}",
                             options.sub_batch.getValue(), options.batch.getValue()));
  PLIMSOLL_TRY(check_ranks(options));
  if (options.rules != "true" && find_rules(options.rules) == nullptr)
    return usage(fmt::format("there are no rules '{}'; rules: {}", options.rules.getValue(), names_of_rules()));
  if (options.rules != "true" && options.sub_batch != 0)
    return usage(fmt::format("--rules {} knows no --sub-batch", options.rules.getValue()));
  if (options.rules != "true" && (options.weights.given() || options.clip_norm > 0))
    return usage(fmt::format("--rules {} knows neither --freeze, --trainable, --frozen-statistics nor --clip-norm", options.rules.getValue()));
  if (options.jobs < (options.jobs.getNumOccurrences() > 0 ? 1 : 0) || options.jobs > kMostJobs)
    return usage(fmt::format("--jobs is {} when it should be between 1 and {}", options.jobs.getValue(), kMostJobs));
  if (!(options.time_limit >= 0) || !std::isfinite(options.time_limit))
    return usage(fmt::format("--time-limit is {} when it should be a number of seconds", options.time_limit.getValue()));
  if (options.effort < 0 || options.effort > 3)
    return usage(fmt::format("--effort is {} when it should be between 0 and 3", options.effort.getValue()));
  return {};
}

}  // namespace plimsoll
