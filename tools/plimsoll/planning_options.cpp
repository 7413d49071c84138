#include "tools/plimsoll/planning_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "compiler/network/simplify/options.h"
#include "compiler/driver/pass_names.h"
#include "compiler/support/output.h"
#include "passes/planner.h"
#include "passes/policies.h"
#include "tools/plimsoll/numbers.h"

namespace plimsoll {

namespace cl = llvm::cl;

WeightOptions::WeightOptions(cl::SubCommand& sub)
    : trainable("trainable", cl::value_desc("PATTERN"),
                cl::desc("train only weights whose name or layer name matches: --trainable 'fc.*'; may be repeated"),
                cl::sub(sub)),
      freeze("freeze", cl::value_desc("PATTERN"),
             cl::desc("do not train weights whose name or layer name matches: --freeze 'layer1.*'; may be repeated"),
             cl::sub(sub)),
      frozen_statistics(
          "frozen-statistics", cl::value_desc("PATTERN"),
          cl::desc(
              "batch normalizations whose name or module path matches use their running statistics in training and do "
              "not update them: --frozen-statistics 'backbone.*'; may be repeated"),
          cl::sub(sub)),
      assume("assume", cl::init(Assume::nothing),
             cl::desc("what to do with tensors if the model does not say whether they are trained; default: an error"),
             cl::values(clEnumValN(Assume::trainable, "trainable", "all of them are parameters"),
                        clEnumValN(Assume::frozen, "frozen", "all of them are constants")),
             cl::sub(sub)),
      modes("modes", cl::init(Modes::asked),
            cl::desc("for a model that was exported in evaluation mode; default: an error"),
            cl::values(clEnumValN(Modes::train, "train",
                                  "normalizations use the statistics of each batch, as after model.train()"),
                       clEnumValN(Modes::as_exported, "as-exported",
                                  "running statistics are not updated, and dropout is off")),
            cl::sub(sub)),
      assume_shared(
          "assume-shared",
          cl::desc(
              "for a model from dynamo's optimizer: a weight that several modules read is shared; default: an error"),
          cl::sub(sub)),
      output("output", cl::value_desc("NAME"),
             cl::desc("for a model with several outputs: the one that the loss is applied to; weights of the others "
                      "are not trained"),
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
      loss("loss", cl::init(LossKind::softmax_cross_entropy), cl::desc("the loss"),
           cl::values(
               clEnumValN(LossKind::softmax_cross_entropy, "softmax-cross-entropy", "of logits and class labels"),
               clEnumValN(LossKind::mse, "mse", "mean squared error of outputs and targets"),
               clEnumValN(LossKind::binary_cross_entropy, "bce-logits",
                          "binary cross entropy of logits and targets from 0 to 1"),
               clEnumValN(LossKind::none, "none", "the model computes its loss itself"),
               clEnumValN(LossKind::output, "output", "output[:NAME]: an output of the model, a scalar, is the loss")),
           cl::sub(sub)),
      class_axis("class-axis", cl::init(1), cl::value_desc("K"),
                 cl::desc("the class axis of the logits, if the model does not say: for --loss softmax-cross-entropy, "
                          "and for the weights of bce-logits; negative: counted from the end"),
                 cl::sub(sub)),
      ignore_index("ignore-index", cl::init(-100), cl::value_desc("I"),
                   cl::desc("for --loss softmax-cross-entropy: the label to ignore (default -100); any other number "
                            "that is not a class is an error"),
                   cl::sub(sub)),
      class_weights(
          "class-weights", cl::value_desc("FILE|W,W,…"),
          cl::desc("for --loss softmax-cross-entropy and bce-logits: a weight for each class; numbers, a .npy "
                   "file, or a text file of numbers"),
          cl::sub(sub)),
      positive_weights("pos-weight", cl::value_desc("FILE|W,W,…"),
                       cl::desc("for --loss bce-logits: the weight of targets that are 1: one number, or one for each "
                                "class"),
                       cl::sub(sub)),
      label_smoothing("label-smoothing", cl::init(0.0), cl::value_desc("S"),
                      cl::desc("for --loss softmax-cross-entropy: the share of the label's probability to spread over "
                               "all classes; for bce-logits: the share of targets to replace by 0.5; from 0 to 1"),
                      cl::sub(sub)),
      mixed_labels("mixed-labels",
                   cl::desc("for --loss softmax-cross-entropy: each sample has two labels and their shares, for the "
                            "trainer's --mixup and --cutmix"),
                   cl::sub(sub)),
      optimizer(
          "optimizer", cl::init(OptimizerKind::momentum), cl::desc("the optimizer"),
          cl::values(clEnumValN(OptimizerKind::sgd, "sgd", "plain"),
                     clEnumValN(OptimizerKind::momentum, "momentum", "SGD with momentum (default)"),
                     clEnumValN(OptimizerKind::adam, "adam", "Adam"),
                     clEnumValN(OptimizerKind::adamw, "adamw", "Adam with decoupled weight decay"),
                     clEnumValN(OptimizerKind::lamb, "lamb",
                                "AdamW with a step scaled to the norm of the weight: for large batches"),
                     clEnumValN(OptimizerKind::lion, "lion", "the sign of the momentum, with decoupled weight decay")),
          cl::sub(sub)),
      momentum("momentum", cl::init(0.9), cl::value_desc("X"),
               cl::desc("for --optimizer momentum (default 0.9); the trainer has a flag of the same name to change it"),
               cl::sub(sub)),
      weight_decay(
          "weight-decay", cl::init(0.0), cl::value_desc("X"),
          cl::desc(
              "L2 penalty, decoupled for adamw, lamb and lion; the trainer has a flag of the same name to change it"),
          cl::sub(sub)),
      clip_norm(
          "clip-norm", cl::init(0.0), cl::value_desc("X"),
          cl::desc(
              "scale all gradients so that their global 2-norm is at most X; this keeps all of them in memory at once"),
          cl::sub(sub)),
      nesterov("nesterov", cl::desc("Nesterov momentum, for --optimizer momentum"), cl::sub(sub)),
      optimizer_state(
          "optimizer-state", cl::init("fp32"), cl::value_desc("NAME"),
          cl::desc("how the optimizer's state is stored: fp32 (default); bf16: half of the bytes; int8: a quarter, "
                   "with a scale for each block of 256 numbers. Updates compute in fp32"),
          cl::sub(sub)),
      weights(sub),
      target("target", cl::init("host"), cl::value_desc("NAME"),
             cl::desc("host: this CPU, with oneDNN (default); cuda: an NVIDIA GPU, in this machine or another"),
             cl::sub(sub)),
      precision(
          "precision", cl::value_desc("NAME"),
          cl::desc("fp32 (default on host); tf32 (cuda, default there): convolutions and matrix products on tensor "
                   "cores, with 10 bits of mantissa; bf16: activations and their gradients take half of the memory, "
                   "and weights stay fp32; fp16 (cuda): likewise, with dynamic loss scaling"),
          cl::sub(sub)),
      keep_fp32("keep-fp32", cl::value_desc("GLOB"),
                cl::desc("with --precision bf16 or fp16: store the results of these nodes in fp32, by name or module "
                         "path; repeatable"),
                cl::sub(sub)),
      nondeterministic("allow-nondeterministic",
                       cl::desc("cuda: permit algorithms whose results differ in bits from run to run"), cl::sub(sub)),
      remeasure("remeasure",
                cl::desc("measure again and replace the cached measurements (`plimsoll cache` lists them)"),
                cl::sub(sub)),
      threads("threads", cl::init(0), cl::value_desc("N"),
              cl::desc("threads of the trainer, fixed because the bits of its results depend on the number; default: "
                       "the processors that this process may use; of 16 or more, one is left for copies and decoding"),
              cl::sub(sub)),
      dims("dim", cl::value_desc("NAME=SIZE"),
           cl::desc("size of a symbolic dimension other than the batch; INPUT:AXIS names one that has no name; "
                    "with SIZE `batch`, it is the number of samples"),
           cl::sub(sub)),
      inputs("input", cl::value_desc("NAME=NUMBER"),
             cl::desc("an integer or boolean input that is always this number: a sampling rate, a flag; may be "
                      "repeated"),
             cl::sub(sub)),
      layout("layout", cl::init("auto"), cl::value_desc("NAME"),
             cl::desc("tensor layout for images: auto (default) chooses by the times of the tasks; on the host plain, "
                      "nChw8c, nChw16c; on cuda nchw, nhwc"),
             cl::sub(sub)),
      attention(
          "attention", cl::init(Attention::automatic), cl::desc("how to compute attention that a model spells out"),
          cl::values(
              clEnumValN(Attention::automatic, "auto",
                         "in the form that is faster within the budget (default); only a policy that searches chooses, "
                         "others take spelled"),
              clEnumValN(Attention::spelled, "spelled", "as matrix products and a softmax, as in the model"),
              clEnumValN(Attention::fused, "fused",
                         "in tiles by one kernel, which stores no score matrix, if the pattern is recognized")),
          cl::sub(sub)),
      loss_form(
          "loss-form", cl::init(LossForm::automatic),
          cl::desc("how to compute the cross entropy of a linear layer with many classes, as of a language model"),
          cl::values(
              clEnumValN(LossForm::automatic, "auto",
                         "in the form that is faster within the budget (default); only a policy that searches chooses, "
                         "others take plain"),
              clEnumValN(LossForm::plain, "plain", "with the logits as a tensor"),
              clEnumValN(LossForm::fused, "fused",
                         "by one kernel, which computes the logits of some rows at a time; the trainer then has no "
                         "--predict")),
          cl::sub(sub)),
      recurrence(
          "recurrence", cl::init(Recurrence::automatic), cl::desc("how to compute LSTM and GRU nodes"),
          cl::values(
              clEnumValN(Recurrence::automatic, "auto",
                         "in the form that is faster within the budget (default); only a policy that searches chooses, "
                         "others take unrolled"),
              clEnumValN(Recurrence::unrolled, "unrolled", "as nodes of their own for each step"),
              clEnumValN(Recurrence::fused, "fused",
                         "all steps by one kernel, if the node has the default activations")),
          cl::sub(sub)),
      strict(
          "strict",
          cl::desc(
              "refuse what otherwise gets a warning: NaN in weights, nothing to train, an export in evaluation mode"),
          cl::sub(sub)),
      require_bn("require-bn",
                 cl::desc("refuse a model without batch normalizations, or with ones that were folded or exported in "
                          "evaluation mode"),
                 cl::sub(sub)),
      quiet("q", cl::desc("print nothing but errors and warnings (also --quiet)"), cl::sub(sub)),
      verbose("v",
              cl::desc("print each step with the seconds since the start, and the details of errors (also --verbose)"),
              cl::sub(sub)) {
  loss.getParser().output = &loss_output;
}

PlanningOptions::PlanningOptions(cl::SubCommand& sub)
    : ModelOptions(sub),
      sub_batch("sub-batch", cl::init(0), cl::value_desc("N"), cl::desc("samples in one round; default: the fastest"),
                cl::sub(sub)),
      ranks("ranks", cl::init(1), cl::value_desc("N"),
            cl::desc("processes that share an iteration, with `mpirun -np N`; --batch and --sub-batch count all of "
                     "them, --budget is per process"),
            cl::sub(sub)),
      rank_costs(
          "rank-costs", cl::value_desc("FILE.json"),
          cl::desc("rates between ranks, measured by a trainer (train --measure-ranks FILE.json); default: assumed"),
          cl::sub(sub)),
      effort("effort", cl::init(PlanRequest{}.effort), cl::value_desc("0..3"),
             cl::desc(
                 "for policies that search: each level does about ten times the work of the previous one (default 1)"),
             cl::sub(sub)),
      jobs("jobs", cl::init(0), cl::value_desc("N"),
           cl::desc(
               "threads for planning; they do not change the plan. Default: the processors that this process may use"),
           cl::sub(sub)),
      time_limit("time-limit", cl::init(0.0), cl::value_desc("SECONDS"),
                 cl::desc("for policies that search: stop then with the best plan so far and exit code 10; reading the "
                          "model and measuring the whole batch do not count"),
                 cl::sub(sub)),
      rules("rules", cl::init("true"), cl::value_desc("NAME"),
            cl::desc("true (default), or superneurons, modnn, dymem, vdnn, chen: build and count as in that paper, for "
                     "reports"),
            cl::sub(sub)),
      costs("costs", cl::value_desc("SOURCE"),
            cl::desc(
                "profiled: measure here, once; P.json: measurements of `plimsoll profile`; modelled, or a device's "
                "name: measure nothing. "
                "Default: profiled for compile (on cuda if there is a GPU), modelled for plan, compare and frontier"),
            cl::sub(sub)),
      algorithms_of(
          "algorithms-of", cl::value_desc("PLAN"),
          cl::desc(
              "use the algorithms of another plan (plan.json, or a trainer's directory): with the same --sub-batch, "
              "weights then get the same bits"),
          cl::sub(sub)),
      batch_norm("batch-norm", cl::init(BatchNorm::whole),
                 cl::desc("the samples that batch normalization computes over if the batch does not fit at once"),
                 cl::values(clEnumValN(BatchNorm::whole, "whole",
                                       "the whole batch: such networks run in rounds only with --sub-batch (default)"),
                            clEnumValN(BatchNorm::split, "split",
                                       "one sub-batch: such networks run in rounds like others, if that is faster")),
                 cl::sub(sub)),
      host_budget("host-budget", cl::value_desc("SIZE"),
                  cl::desc("limit of the host pool (pinned on cuda), which holds offloaded tensors: 8GiB, or a share "
                           "of this machine's available memory: 25%; "
                           "auto: no limit. Default: 50%, or no limit if costs are of a named device or a file, "
                           "because the plan may be for another machine"),
                  cl::sub(sub)) {}

OnePlanOptions::OnePlanOptions(cl::SubCommand& sub)
    : budget(
          "budget", cl::init("100%"), cl::value_desc("SIZE"),
          cl::desc("limit of the arena: 4GiB, 512MiB, 1.5GB, or a share of what the same policy takes unlimited: 60%"),
          cl::sub(sub)),
      process_budget("process-budget", cl::value_desc("SIZE"),
                     cl::desc("cuda, instead of --budget: limit of the whole process, including its context and "
                              "libraries, as nvidia-smi counts"),
                     cl::sub(sub)),
      policy("policy", cl::init(kDefaultPolicy), cl::value_desc("NAME"), cl::desc(policy_help(kDefaultPolicy)),
             cl::sub(sub)),
      what_if("what-if", cl::value_desc("SIZE"),
              cl::desc("also plan with this much more memory, and record in the plan what it would gain: 256MiB"),
              cl::sub(sub)),
      print_after("print-after", cl::value_desc("PASS|all"),
                  cl::desc("print the network or the plan after a pass, to stdout"), cl::sub(sub)),
      stop_after("stop-after", cl::value_desc("PASS"), cl::desc(stop_help()), cl::sub(sub)),
      dump("dump", cl::value_desc("DIR"),
           cl::desc("write the network after each pass, the task graph, and the plan after each pass"), cl::sub(sub)),
      from("from", cl::value_desc("FILE"),
           cl::desc(
               "continue after the pass of a file that --dump or --stop-after wrote; with MODEL too for a plan, or for "
               "`compile`, which also continues from a finished plan"),
           cl::sub(sub)) {}

void OnePlanOptions::let_from_replace(PlanningOptions& options) const {
  options.model.setNumOccurrencesFlag(cl::Optional);
  options.batch.setNumOccurrencesFlag(cl::Optional);
}

Result<PlanningRequest> OnePlanOptions::planning_request(const PlanningOptions& options) const {
  if (from.empty() && options.model.empty()) return usage(fmt::format("{} is missing", options.model.HelpStr.str()));
  if (from.empty() && options.batch.getNumOccurrences() == 0)
    return usage(fmt::format("--batch N is required: {}", options.batch.HelpStr.str()));
  PLIMSOLL_ASSIGN(PlanningRequest request, request_of(options));
  request.from = from;
  if (options.batch.getNumOccurrences() == 0) request.of_model.batch = 0;  // from the dump, or an error later
  return request;
}

Status write_dump(const std::string& path, const std::string& text) {
  if (path != "-") return write_file(path, text);
  fmt::print("{}", text);
  return {};
}

const std::string& stop_help() {
  static const std::string kText = [] {
    std::string text = "stop after a pass, and write what --dump writes after it to the file of -o, or to stdout";
    size_t width = 0;
    for (const PassName& pass : pass_names()) width = std::max(width, pass.name.size());
    for (const PassName& pass : pass_names()) text += fmt::format("\n  {:<{}}  {}", pass.name, width, pass.summary);
    return text;
  }();
  return kText;
}

const std::string& policy_help(const std::string& default_name) {
  // LLVM keeps a reference to a description until the program ends.
  static std::map<std::string, std::string> texts;
  std::string& text = texts[default_name];
  if (!text.empty()) return text;
  text = fmt::format("the policy that plans memory; {} is the default", default_name);
  size_t width = 0;
  for (const Policy& policy : all_policies()) width = std::max(width, policy.name.size());
  for (const Policy& policy : all_policies()) text += fmt::format("\n  {:<{}}  {}", policy.name, width, policy.summary);
  return text;
}

namespace {

// NAME=NUMBER, each name once. `example`: of the option and a number of at least `least`. `words`: what may be given in
// place of a number.
Result<std::map<std::string, int64_t>> named_numbers(const cl::list<std::string>& given, const char* option,
                                                     const char* form, const char* example, int64_t least,
                                                     const std::map<std::string, int64_t>& words) {
  std::map<std::string, int64_t> numbers;
  std::map<std::string, std::string> texts;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    int64_t value = 0;
    const auto word = words.find(equals == std::string::npos ? "" : text.substr(equals + 1));
    const char* const first = text.c_str() + (equals == std::string::npos ? text.size() : equals + 1);
    const auto [rest, failure] = std::from_chars(first, text.c_str() + text.size(), value);
    if (equals > 0 && word != words.end()) value = word->second;
    else if (equals == 0 || failure != std::errc{} || *rest != '\0' || value < least)
      return Error{ExitCode::usage, fmt::format("'--{} {}' is not {}, for example --{} {}", option, text, form, option,
                                                example)};
    const auto [at, fresh] = texts.emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!fresh)
      return Error{ExitCode::usage,
                   fmt::format("--{} {} is given twice: {} and {}", option, at->first, at->second, first)};
    numbers[at->first] = value;
  }
  return numbers;
}

}  // namespace

Result<std::map<std::string, int64_t>> sizes_by_name(const cl::list<std::string>& given) {
  return named_numbers(given, "dim", "NAME=SIZE", "seq=128", 1, {{"batch", kIsBatch}});
}

Result<std::map<std::string, int64_t>> numbers_by_name(const cl::list<std::string>& given) {
  return named_numbers(given, "input", "NAME=NUMBER", "sr=16000", INT64_MIN, {});
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

Precision stored_precision(std::string_view name) {
  return name == "bf16" ? Precision::bf16 : name == "fp16" ? Precision::fp16 : Precision::fp32;
}

Result<LossRequest> loss_request(const ModelOptions& options) {
  LossRequest loss(options.loss, options.loss_output.empty() ? options.weights.output : options.loss_output,
                   given<int64_t>(options.class_axis));
  loss.by_default = options.loss.getNumOccurrences() == 0;
  loss.ignore_index = given<int64_t>(options.ignore_index);
  loss.label_smoothing = given<double>(options.label_smoothing);
  loss.mixed_labels = options.mixed_labels;
  if (!options.class_weights.empty()) {
    PLIMSOLL_ASSIGN(loss.class_weights, read_numbers("--class-weights", options.class_weights));
  }
  if (!options.positive_weights.empty()) {
    PLIMSOLL_ASSIGN(loss.positive_weights, read_numbers("--pos-weight", options.positive_weights));
  }
  return loss;
}

Result<std::optional<int64_t>> bytes_given(const char* flag, const cl::opt<std::string>& option,
                                           const std::string& complaint) {
  if (option.empty()) return std::optional<int64_t>();
  PLIMSOLL_ASSIGN(const SizeSpec size, parse_size(flag, option.getValue()));
  if (size.kind != SizeSpec::Kind::bytes || size.bytes < 1) return usage(complaint);
  return std::optional(size.bytes);
}

}  // namespace

Result<ModelRequest> request_of(const ModelOptions& options) {
  if (options.quiet && options.verbose) return usage("-q and -v are mutually exclusive");
  PLIMSOLL_ASSIGN(auto dims, sizes_by_name(options.dims));
  PLIMSOLL_ASSIGN(auto inputs, numbers_by_name(options.inputs));
  PLIMSOLL_ASSIGN(LossRequest loss, loss_request(options));
  if (!options.loss_output.empty() && !options.weights.output.empty())
    return usage("--loss output:NAME and --output NAME are mutually exclusive");
  // As in PyTorch, whose convolutions are in TF32 by default where the device has it.
  const std::string by_default = options.target == "cuda" ? "tf32" : "fp32";
  return ModelRequest{
      .model = options.model,
      .batch = options.batch,
      .network = {.loss = std::move(loss),
                  .trained = options.weights.request(),
                  .attention = options.attention,
                  .loss_form = options.loss_form,
                  .recurrence = options.recurrence,
                  .precision = {.precision = stored_precision(options.precision),
                                .keep_fp32 = {options.keep_fp32.begin(), options.keep_fp32.end()}}},
      .optimizer = options.optimizer,
      .momentum = options.momentum,
      .nesterov = options.nesterov,
      .weight_decay = options.weight_decay,
      .clip_norm = given<double>(options.clip_norm),
      .optimizer_state = options.optimizer_state,
      .target = options.target,
      .precision = options.precision.empty() ? by_default : options.precision,
      .nondeterministic = options.nondeterministic,
      .threads = given<int64_t>(options.threads),
      .dims = std::move(dims),
      .inputs = std::move(inputs),
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
                  bytes_given("--what-if", options.what_if,
                              fmt::format("--what-if is '{}'; expected a number of bytes, for example 256MiB",
                                          options.what_if.getValue())));
  PLIMSOLL_ASSIGN(const std::optional<int64_t> process_budget,
                  bytes_given("--process-budget", options.process_budget,
                              "--process-budget must be a number of bytes, for example 12GiB"));
  return OnePlanRequest{.budget = budget,
                        .process_budget = process_budget,
                        .policy = options.policy,
                        .what_if = what_if,
                        .print_after = options.print_after,
                        .dump = options.dump,
                        .stop_after = options.stop_after};
}

}  // namespace plimsoll
