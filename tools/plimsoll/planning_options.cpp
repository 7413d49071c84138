#include "tools/plimsoll/planning_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "passes/planner.h"
#include "passes/policies.h"
#include "tools/plimsoll/numbers.h"

namespace plimsoll {

namespace cl = llvm::cl;

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

TrainedRequest WeightOptions::request() const {
  return {.weights = {.trainable = {trainable.begin(), trainable.end()}, .freeze = {freeze.begin(), freeze.end()}},
          .frozen_statistics = {frozen_statistics.begin(), frozen_statistics.end()},
          .assume = assume,
          .modes = modes,
          .assume_shared = assume_shared};
}

ModelOptions::ModelOptions(cl::SubCommand& sub)
    : model(cl::Positional, cl::Required, cl::desc("MODEL.onnx"), cl::sub(sub)),
      batch("batch", cl::Required, cl::value_desc("N"), cl::desc("samples in one training iteration"), cl::sub(sub)),
      loss("loss", cl::init(LossKind::softmax_cross_entropy), cl::desc("what training lowers"),
           cl::values(clEnumValN(LossKind::softmax_cross_entropy, "softmax-cross-entropy", "of logits and class labels"),
                      clEnumValN(LossKind::mse, "mse", "mean squared error of outputs and targets"),
                      clEnumValN(LossKind::binary_cross_entropy, "bce-logits", "binary cross entropy of logits and targets from 0 to 1"),
                      clEnumValN(LossKind::none, "none", "the model ends in a loss"),
                      clEnumValN(LossKind::output, "output", "output[:NAME]: an output of the model, a number, is the loss")),
           cl::sub(sub)),
      class_axis("class-axis", cl::init(1), cl::value_desc("K"),
                 cl::desc("of --loss softmax-cross-entropy: the axis of the scores that holds the classes, where the model does not say; "
                          "from the end where K is negative"),
                 cl::sub(sub)),
      ignore_index("ignore-index", cl::init(-100), cl::value_desc("I"),
                   cl::desc("of --loss softmax-cross-entropy: the label that counts nowhere; negative ones never do (-100 by default)"), cl::sub(sub)),
      class_weights("class-weights", cl::value_desc("FILE|W,W,…"),
                    cl::desc("of --loss softmax-cross-entropy: what labels of each class count for; numbers, a .npy file, or a file of numbers"), cl::sub(sub)),
      label_smoothing("label-smoothing", cl::init(0.0), cl::value_desc("S"),
                      cl::desc("of --loss softmax-cross-entropy: so much of the label's probability is dealt out to all classes; from 0 to 1"), cl::sub(sub)),
      optimizer("optimizer", cl::init(OptimizerKind::momentum), cl::desc("how weights are stepped"),
                cl::values(clEnumValN(OptimizerKind::sgd, "sgd", "plain"),
                           clEnumValN(OptimizerKind::momentum, "momentum", "SGD with momentum (default)"),
                           clEnumValN(OptimizerKind::adam, "adam", "Adam"),
                           clEnumValN(OptimizerKind::adamw, "adamw", "Adam with decoupled weight decay"),
                           clEnumValN(OptimizerKind::lamb, "lamb", "AdamW whose step is as long as the weight: for large batches"),
                           clEnumValN(OptimizerKind::lion, "lion", "the sign of a momentum, with decoupled weight decay")),
                cl::sub(sub)),
      momentum("momentum", cl::init(0.9), cl::desc("of --optimizer momentum; trainers take another with a flag of this name"), cl::sub(sub)),
      weight_decay("weight-decay", cl::init(0.0), cl::desc("L2 penalty, decoupled for adamw, lamb and lion; trainers take another with a flag of this name"), cl::sub(sub)),
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
      quiet("q", cl::desc("print nothing but errors and warnings"), cl::sub(sub)),
      verbose("v", cl::desc("say what is done, and how many seconds after the beginning"), cl::sub(sub)) {
  loss.getParser().output = &loss_output;
}

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
      algorithms_of("algorithms-of", cl::value_desc("PLAN"),
                    cl::desc("run each task by the algorithm that another plan has for it (plan.json, or a trainer's directory): "
                             "with the same --sub-batch, weights then get the same bits"),
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
      print_after("print-after", cl::value_desc("PASS|all"), cl::desc("print the network or the plan after a pass, to stdout"), cl::sub(sub)),
      dump("dump", cl::value_desc("DIR"), cl::desc("write the network after each pass, the task graph, and the plan after each pass"),
           cl::sub(sub)),
      from("from", cl::value_desc("FILE"),
           cl::desc("go on from a network or a task graph that --dump wrote; without MODEL there are no weights, so `compile` takes both"), cl::sub(sub)) {}

void OnePlanOptions::let_from_replace(PlanningOptions& options) const {
  options.model.setNumOccurrencesFlag(cl::Optional);
  options.batch.setNumOccurrencesFlag(cl::Optional);
}

Result<PlanningRequest> OnePlanOptions::planning_request(const PlanningOptions& options) const {
  if (from.empty() && options.model.empty()) return usage(fmt::format("{} is missing", options.model.HelpStr.str()));
  if (from.empty() && options.batch.getNumOccurrences() == 0) return usage(fmt::format("--batch N is needed: {}", options.batch.HelpStr.str()));
  PLIMSOLL_ASSIGN(PlanningRequest request, request_of(options));
  request.from = from;
  if (options.batch.getNumOccurrences() == 0) request.of_model.batch = 0;  // from the dump, or an error later
  return request;
}

const std::string& policy_help(const std::string& default_name) {
  // LLVM keeps a reference to a description until the program ends.
  static std::map<std::string, std::string> texts;
  std::string& text = texts[default_name];
  if (!text.empty()) return text;
  text = fmt::format("how memory is planned; {} is the default", default_name);
  size_t width = 0;
  for (const Policy& policy : all_policies()) width = std::max(width, policy.name.size());
  for (const Policy& policy : all_policies()) text += fmt::format("\n  {:<{}}  {}", policy.name, width, policy.summary);
  return text;
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

// None if the flag is absent.
template <class T, class Option>
std::optional<T> given(const Option& option) {
  if (option.getNumOccurrences() == 0) return {};
  return static_cast<T>(option.getValue());
}

Result<std::optional<SizeSpec>> size_given(const char* flag, const cl::opt<std::string>& option) {
  if (option.getNumOccurrences() == 0) return std::optional<SizeSpec>();
  PLIMSOLL_ASSIGN(const SizeSpec size, parse_size(flag, option.getValue()));
  return std::optional(size);
}

Result<LossRequest> loss_request(const ModelOptions& options) {
  LossRequest loss(options.loss, options.loss_output.empty() ? options.weights.output : options.loss_output, given<int64_t>(options.class_axis));
  loss.ignore_index = given<int64_t>(options.ignore_index);
  loss.label_smoothing = given<double>(options.label_smoothing);
  if (!options.class_weights.empty()) {
    PLIMSOLL_ASSIGN(loss.class_weights, read_numbers("--class-weights", options.class_weights));
  }
  return loss;
}

Result<std::optional<int64_t>> bytes_given(const char* flag, const cl::opt<std::string>& option, const std::string& complaint) {
  if (option.empty()) return std::optional<int64_t>();
  PLIMSOLL_ASSIGN(const SizeSpec size, parse_size(flag, option.getValue()));
  if (size.kind != SizeSpec::Kind::bytes || size.bytes < 1) return usage(complaint);
  return std::optional(size.bytes);
}

}  // namespace

Result<ModelRequest> request_of(const ModelOptions& options) {
  if (options.quiet && options.verbose) return usage("-q and -v exclude each other");
  PLIMSOLL_ASSIGN(auto dims, sizes_by_name(options.dims));
  PLIMSOLL_ASSIGN(LossRequest loss, loss_request(options));
  if (!options.loss_output.empty() && !options.weights.output.empty())
    return usage("--loss output:NAME and --output NAME exclude each other");
  return ModelRequest{.model = options.model,
                      .batch = options.batch,
                      .network = {.loss = std::move(loss),
                                  .trained = options.weights.request()},
                      .optimizer = options.optimizer,
                      .momentum = options.momentum,
                      .nesterov = options.nesterov,
                      .weight_decay = options.weight_decay,
                      .clip_norm = given<double>(options.clip_norm),
                      .target = options.target,
                      .math = options.math,
                      .nondeterministic = options.nondeterministic,
                      .threads = given<int64_t>(options.threads),
                      .dims = std::move(dims),
                      .layout = options.layout,
                      .strict = options.strict,
                      .require_batch_norm = options.require_bn,
                      .remeasure = options.remeasure};
}

Result<PlanningRequest> request_of(const PlanningOptions& options) {
  PLIMSOLL_ASSIGN(ModelRequest of_model, request_of(static_cast<const ModelOptions&>(options)));
  PLIMSOLL_ASSIGN(const std::optional<SizeSpec> host_budget, size_given("--host-budget", options.host_budget));
  return PlanningRequest{.of_model = std::move(of_model),
                         .sub_batch = given<int64_t>(options.sub_batch),
                         .ranks = options.ranks,
                         .rank_costs = options.rank_costs,
                         .effort = options.effort,
                         .jobs = given<int>(options.jobs),
                         .time_limit_seconds = options.time_limit,
                         .rules = options.rules,
                         .costs = given<std::string>(options.costs),
                         .algorithms_of = options.algorithms_of,
                         .batch_norm = options.batch_norm,
                         .host_budget = host_budget};
}

Result<OnePlanRequest> request_of(const OnePlanOptions& options) {
  PLIMSOLL_ASSIGN(const std::optional<SizeSpec> budget, size_given("--budget", options.budget));
  PLIMSOLL_ASSIGN(const std::optional<int64_t> what_if,
                  bytes_given("--what-if", options.what_if, fmt::format("--what-if is '{}' when it should be so many bytes more, for example 256MiB",
                                                                        options.what_if.getValue())));
  PLIMSOLL_ASSIGN(const std::optional<int64_t> process_budget,
                  bytes_given("--process-budget", options.process_budget, "--process-budget takes bytes: 12GiB"));
  return OnePlanRequest{.budget = budget,
                        .process_budget = process_budget,
                        .policy = options.policy,
                        .what_if = what_if,
                        .print_after = options.print_after,
                        .dump = options.dump};
}

}  // namespace plimsoll
