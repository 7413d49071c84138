#include "tools/plimsoll/planning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

#include "compiler/check/check.h"
#include "compiler/costs/modelled.h"
#include "compiler/costs/profiled.h"
#include "compiler/report/fastest.h"
#include "compiler/support/bytes.h"
#include "compiler/training/freeze.h"
#include "compiler/training/fuse.h"
#include "compiler/training/layout.h"
#include "compiler/training/rules/rules.h"
#include "passes/policies.h"
#include "tools/plimsoll/dump.h"
#include "tools/plimsoll/plan_file.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

// --costs: "profiled" and "modelled" ask the profiler beside this program; else a profile.json or a device's name.
bool names_a_file(const std::string& costs) { return costs.ends_with(".json") || costs.find('/') != std::string::npos; }
bool names_a_device(const std::string& costs) {
  return costs != "profiled" && costs != "modelled" && !names_a_file(costs);
}

// Channels per block that this machine's vector units like; 0 where oneDNN has no blocked kernels worth having, and on a
// GPU.
int channel_block(const ModelOptions& options) {
  const std::string& layout = options.layout;
  if (layout == "plain" || options.target == "cuda") return 0;
  if (layout == "nChw8c") return 8;
  if (layout == "nChw16c") return 16;
  if (__builtin_cpu_supports("avx512f")) return 16;
  return __builtin_cpu_supports("avx2") ? 8 : 0;
}

// A plan for a device that oneDNN does not run on has no use for blocks, unless they are asked for.
bool wants_plain_layout(const PlanningOptions& options, PlanFor purpose) {
  if (purpose != PlanFor::report || options.layout != "auto" || !names_a_device(options.costs)) return false;
  const Result<Device> device = find_device(options.costs);
  return device.ok() && device->kind != "host";
}

Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    int64_t value = 0;
    const char* const first = text.c_str() + (equals == std::string::npos ? text.size() : equals + 1);
    const auto [rest, failure] = std::from_chars(first, text.c_str() + text.size(), value);
    if (equals == 0 || failure != std::errc{} || *rest != '\0' || value < 1)
      return Error{ExitCode::usage, fmt::format("'--dim {}' is not NAME=SIZE, for example --dim seq=128", text)};
    dims[text.substr(0, equals)] = value;
  }
  return dims;
}

Error usage(std::string what) { return {ExitCode::usage, std::move(what)}; }

Status check_usage(const ModelOptions& options) {
  if (options.batch < 1) return usage(fmt::format("--batch is {} when it should be at least 1", options.batch.getValue()));
  if (options.batch > (int64_t{1} << 31)) return usage(fmt::format("--batch {} is out of reach", options.batch.getValue()));
  if (options.target != "host" && options.target != "cuda")
    return usage(fmt::format("there is no target '{}'; targets: host, cuda", options.target.getValue()));
  if (options.target == "cuda" && options.layout.getValue().starts_with("nChw"))
    return usage(fmt::format("--layout {} is of the host's vector units; on cuda tensors are plain", options.layout.getValue()));
  if (options.math != "fp32" && options.math != "tf32")
    return usage(fmt::format("there is no arithmetic '{}'; --math takes fp32 or tf32", options.math.getValue()));
  if (options.math == "tf32" && options.target != "cuda") return usage("--math tf32 is of GPUs; the host computes in fp32");
  if (options.threads < 0 || options.threads > 1024)
    return usage(fmt::format("--threads is {} when it should be between 1 and 1024", options.threads.getValue()));
  if (!(options.clip_norm >= 0) || std::isinf(options.clip_norm.getValue()))
    return usage(fmt::format("--clip-norm is {} when it should be above 0", options.clip_norm.getValue()));
  if (options.nesterov && (options.optimizer != OptimizerKind::momentum || !(options.momentum > 0)))
    return usage("--nesterov is a form of --optimizer momentum, with --momentum above 0");
  for (const char* layout : {"auto", "plain", "nChw8c", "nChw16c"})
    if (options.layout == layout) return {};
  return usage(fmt::format("there is no layout '{}'; layouts: auto, plain, nChw8c, nChw16c", options.layout.getValue()));
}

Status check_plan_usage(const PlanningOptions& options) {
  PLIMSOLL_TRY(check_usage(options));
  if (options.sub_batch < 0 || options.sub_batch > options.batch)
    return usage(fmt::format("--sub-batch is {} when it should be between 1 and the batch, {}",
                             options.sub_batch.getValue(), options.batch.getValue()));
  if (options.rules != "true" && find_rules(options.rules) == nullptr)
    return usage(fmt::format("there are no rules '{}'; rules: {}", options.rules.getValue(), names_of_rules()));
  if (options.rules != "true" && options.sub_batch != 0)
    return usage(fmt::format("--rules {} knows no --sub-batch", options.rules.getValue()));
  if (options.rules != "true" && (!options.freeze.empty() || options.clip_norm > 0))
    return usage(fmt::format("--rules {} knows neither --freeze nor --clip-norm", options.rules.getValue()));
  if (!(options.time_limit >= 0) || !std::isfinite(options.time_limit))
    return usage(fmt::format("--time-limit is {} when it should be a number of seconds", options.time_limit.getValue()));
  if (options.effort < 0 || options.effort > 3)
    return usage(fmt::format("--effort is {} when it should be between 0 and 3", options.effort.getValue()));
  return {};
}

// "profiled" and "modelled" ask the profiler, for exact workspaces at least. A file was made by it, here or elsewhere, and
// says for how many threads. A device's name: the host's profiler gives workspaces for a trainer that is to run here, and is not asked
// for a report of a device that is elsewhere; that of cuda lists workspaces for any device that it knows.
Result<std::unique_ptr<Costs>> make_costs(const PlanningOptions& options, int64_t& threads, PlanFor purpose,
                                          PlanRequest& request, ProcessBytes& process) {
  if (const PaperRules* const rules = find_rules(options.rules)) {
    request.device = rules->device;
    return rules->costs();
  }
  const bool cuda = options.target == "cuda";
  const bool filed = names_a_file(options.costs), named = names_a_device(options.costs);
  request.costs = filed || options.costs == "profiled" ? "profiled" : "modelled";
  // Where times are modelled and no device is named, cuda's are those of an H200.
  PLIMSOLL_ASSIGN(const Device device, find_device(named ? options.costs.getValue() : cuda ? "h200" : "host"));
  if (cuda && device.kind != "cuda") return usage(fmt::format("--costs {} is no GPU", device.name));
  const auto modelled = [&] {
    request.device = device.name;
    process = {.bytes = device.process_bytes};
    return std::unique_ptr<Costs>(std::make_unique<ModelledCosts>(device));
  };
  if (named && !cuda && purpose == PlanFor::report) return modelled();
  const bool measure = request.costs == "profiled";
  Result<std::unique_ptr<ProfiledCosts>> opened =
      ProfiledCosts::open({.target = options.target,
                           .threads = threads,
                           .measure = measure,
                           .arithmetic = arithmetic_of(options),
                           .device = device,
                           .elsewhere = cuda && !measure ? device.name : "",
                           .only_if_none = !named,
                           .cache_directory = default_cache_directory(),
                           .profile_file = filed ? options.costs.getValue() : "",
                           .show_progress = !options.quiet && isatty(STDERR_FILENO) != 0});
  // A report of a device that no profiler knows, or without a profiler for GPUs, is one of modelled workspaces.
  if (!opened.ok() && named && purpose == PlanFor::report) return modelled();
  PLIMSOLL_ASSIGN(std::unique_ptr<ProfiledCosts> costs, std::move(opened));
  if (filed && options.threads > 0 && costs->profile().threads != threads)
    return usage(fmt::format("--threads {} when '{}' holds for {}", threads, options.costs.getValue(), costs->profile().threads));
  threads = costs->profile().threads;
  request.device = named ? device.name : costs->profile().device;
  request.libraries = costs->profile().libraries;
  const int64_t measured = costs->process_bytes();
  process = {.bytes = measured > 0 ? measured : cuda ? device.process_bytes : 0, .measured = measured > 0};
  return std::unique_ptr<Costs>(std::move(costs));
}

// What is left for the arena of what nvidia-smi would show of the whole process.
Result<int64_t> arena_within(int64_t process_budget, const ProcessBytes& process, const Console& console) {
  if (process.bytes == 0) return usage("--process-budget counts what a GPU's context takes; on the host, use --budget");
  const std::string overhead = fmt::format("{} for the context and the libraries ({})", format_bytes(process.bytes),
                                           process.measured ? "measured" : "assumed: `plimsoll profile` measures it on the device");
  if (process_budget <= process.bytes)
    return Error{ExitCode::budget_infeasible, fmt::format("--process-budget {} leaves nothing beside {}", format_bytes(process_budget), overhead)};
  console.note(fmt::format("of --process-budget {}: {}, {} for the arena", format_bytes(process_budget), overhead,
                           format_bytes(process_budget - process.bytes)));
  return process_budget - process.bytes;
}

}  // namespace

ModelOptions::ModelOptions(cl::SubCommand& sub)
    : model(cl::Positional, cl::Required, cl::desc("MODEL.onnx"), cl::sub(sub)),
      batch("batch", cl::Required, cl::value_desc("N"), cl::desc("samples in one training iteration"), cl::sub(sub)),
      loss("loss", cl::init(LossKind::softmax_cross_entropy), cl::desc("what training lowers"),
           cl::values(clEnumValN(LossKind::softmax_cross_entropy, "softmax-cross-entropy", "of logits and class labels"),
                      clEnumValN(LossKind::mse, "mse", "mean squared error of outputs and targets"),
                      clEnumValN(LossKind::none, "none", "the model ends in a loss")),
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
      freeze("freeze", cl::value_desc("PATTERN"),
             cl::desc("leave weights as they are whose name, or whose layer's, matches: --freeze 'layer1.*'; may be repeated"),
             cl::sub(sub)),
      target("target", cl::init("host"), cl::value_desc("NAME"),
             cl::desc("host: this CPU, through oneDNN (default); cuda: an NVIDIA GPU, here or elsewhere"), cl::sub(sub)),
      math("math", cl::init("fp32"), cl::value_desc("NAME"),
           cl::desc("cuda: fp32 (default), or tf32: multiply on tensor cores, with 10 bits of mantissa"), cl::sub(sub)),
      nondeterministic("allow-nondeterministic", cl::desc("cuda: algorithms may be used that give other bits at every run"), cl::sub(sub)),
      threads("threads", cl::init(0), cl::value_desc("N"),
              cl::desc("of the trainer, fixed for the bits depend on it; by default the cores of this machine"), cl::sub(sub)),
      dims("dim", cl::value_desc("NAME=SIZE"), cl::desc("size of a symbolic dimension other than the batch"), cl::sub(sub)),
      layout("layout", cl::init("auto"), cl::value_desc("NAME"),
             cl::desc("of activations: auto, plain, nChw8c, nChw16c"), cl::sub(sub)),
      strict("strict", cl::desc("refuse what otherwise gets a warning"), cl::sub(sub)),
      quiet("q", cl::desc("print nothing but errors and warnings"), cl::sub(sub)) {}

PlanningOptions::PlanningOptions(cl::SubCommand& sub)
    : ModelOptions(sub),
      sub_batch("sub-batch", cl::init(0), cl::value_desc("N"),
                cl::desc("samples in one round; by default the most that fit"), cl::sub(sub)),
      effort("effort", cl::init(PlanRequest{}.effort), cl::value_desc("0..3"),
             cl::desc("of policies that search: each step does about ten times the work of the one before; 1 is the default"),
             cl::sub(sub)),
      time_limit("time-limit", cl::init(0.0), cl::value_desc("SECONDS"),
                 cl::desc("of policies that search: the best plan found by then, and exit code 10; none by default"), cl::sub(sub)),
      rules("rules", cl::init("true"), cl::value_desc("NAME"),
            cl::desc("true (default), or superneurons, modnn, dymem, vdnn, chen: build and count as that paper does, for reports"), cl::sub(sub)),
      costs("costs", cl::init("modelled"), cl::value_desc("SOURCE"),
            cl::desc("profiled: measure here; P.json: as `plimsoll profile` measured; modelled (default) or a device's name: "
                     "measure nothing"),
            cl::sub(sub)),
      refuse_split("refuse-split", cl::desc("fail rather than split a batch that batch normalization looks at"), cl::sub(sub)) {}

OnePlanOptions::OnePlanOptions(cl::SubCommand& sub)
    : budget("budget", cl::init("100%"), cl::value_desc("SIZE"),
             cl::desc("most bytes of the arena: 4GiB, 512MiB, 1.5GB, or a share of what training takes unconstrained: 60%"),
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
  return options.threads > 0 ? options.threads : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

Arithmetic arithmetic_of(const ModelOptions& options) {
  return {.tf32 = options.math == "tf32", .nondeterministic = options.nondeterministic};
}

namespace {

Result<ImportedModel> import_model(const ModelOptions& options) {
  PLIMSOLL_ASSIGN(const auto dims, parse_dims({options.dims.begin(), options.dims.end()}));
  return import_onnx(options.model, {.batch = options.batch, .dims = dims, .strict = options.strict});
}

Status freeze_as_asked(const ModelOptions& options, Network& network, std::vector<std::string>& notes) {
  return freeze_weights(network, {options.freeze.begin(), options.freeze.end()}, notes);
}

Result<TaskGraph> trainable_graph(const ModelOptions& options, Network& network, int block) {
  fuse_activations(network);
  assign_layouts(network, block);
  // Beyond this point the network stays as it is.
  return build_task_graph(network, {.batch = options.batch,
                                    .optimizer = {.kind = options.optimizer,
                                                  .momentum = options.momentum,
                                                  .nesterov = options.nesterov,
                                                  .weight_decay = options.weight_decay,
                                                  .clip_norm = options.clip_norm}});
}

void tell(const ImportedModel& model, const std::vector<std::string>& notes, const Console& console) {
  for (const std::string& note : notes) console.note(note);
  for (const std::string& warning : model.warnings) console.warning(warning);
}

}  // namespace

Result<ModelAndGraph> load_model(const ModelOptions& options, const Console& console) {
  PLIMSOLL_TRY(check_usage(options));
  PLIMSOLL_ASSIGN(ImportedModel model, import_model(options));
  std::vector<std::string> notes = model.notes;
  PLIMSOLL_TRY(attach_loss(model.network, options.loss, notes));
  PLIMSOLL_TRY(freeze_as_asked(options, model.network, notes));
  tell(model, notes, console);
  PLIMSOLL_ASSIGN(TaskGraph graph, trainable_graph(options, model.network, channel_block(options)));
  return ModelAndGraph{std::move(model), std::move(graph)};
}

bool Plannable::splits_statistics(const Plan& plan) const {
  return plan.rounds > 1 && std::any_of(graph.tasks.begin(), graph.tasks.end(), [](const Task& task) { return task.mixes_samples; });
}

Result<Plannable> prepare_plans(const PlanningOptions& options, const Console& console, PlanFor purpose) {
  PLIMSOLL_TRY(check_plan_usage(options));
  PLIMSOLL_ASSIGN(ImportedModel model, import_model(options));
  const PaperRules* const as_paper = find_rules(options.rules);
  std::vector<std::string> notes = model.notes;
  if (!as_paper) {
    PLIMSOLL_TRY(attach_loss(model.network, options.loss, notes));
    PLIMSOLL_TRY(freeze_as_asked(options, model.network, notes));
  }
  tell(model, notes, console);
  const int block = wants_plain_layout(options, purpose) ? 0 : channel_block(options);
  PLIMSOLL_ASSIGN(TaskGraph graph, as_paper ? as_paper->build(model.network, options.batch)
                                                  : trainable_graph(options, model.network, block));

  // Beyond this point the task graph stays as it is: plans answer it.

  int64_t threads = threads_of(options);
  PlanRequest request{.batch = options.batch,
                      .sub_batch = as_paper && !as_paper->splits ? options.batch : options.sub_batch,
                      .refuse_split_batch_norm = options.refuse_split,
                      .effort = options.effort,
                      .time_limit_seconds = options.time_limit,
                      .keep_order = as_paper != nullptr,
                      .model_name = graph.name,
                      .model_sha256 = model.sha256,
                      .target_kind = options.target};
  ProcessBytes process;
  PLIMSOLL_ASSIGN(std::unique_ptr<Costs> costs, make_costs(options, threads, purpose, request, process));
  TaskGraph in_rounds = accumulating(graph);
  auto planner = std::make_unique<Planner>(graph, *costs, options.batch);
  return Plannable{std::move(model),   std::move(graph),   std::move(in_rounds), std::move(costs),
                   std::move(planner), std::move(request), threads,              process,
                   as_paper};
}

Result<Plan> checked_plan(const Plannable& plannable, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(Plan plan, plannable.planner->plan(request));
  if (plannable.as_paper) plannable.as_paper->count(plan, plannable.graph);
  const TaskGraph& planned_graph = plan.rounds > 1 ? plannable.in_rounds : plannable.graph;
  note_fastest(plan, planned_graph, *plannable.costs);
  std::vector<Violation> violations = check_plan(plan);
  for (Violation& violation : check_against_graph(plan, planned_graph))
    violations.push_back(std::move(violation));
  if (!violations.empty()) return refusal(plan, violations);
  return plan;
}

Result<Plan> unconstrained_plan(const Plannable& plannable) {
  PlanRequest request = plannable.request;
  request.policy = all_policies().front().name;
  for (const Policy& policy : all_policies())
    if (policy.searches) request.policy = policy.name;
  return checked_plan(plannable, request);
}

namespace {

Result<int64_t> bytes_of_what_if(const std::string& text) {
  if (text.empty()) return int64_t{0};
  PLIMSOLL_ASSIGN(const SizeSpec size, parse_size(text));
  if (size.kind != SizeSpec::Kind::bytes || size.bytes < 1)
    return usage(fmt::format("--what-if is '{}' when it should be so many bytes more, for example 256MiB", text));
  return size.bytes;
}

// What a larger budget would buy: the same request again, with more_bytes on top.
Status ask_for_more(const Plannable& plannable, PlanRequest request, int64_t more_bytes, Plan& plan) {
  request.observe = {};
  request.budget_percent = 0;
  request.budget_bytes = plan.budget_bytes + more_bytes;
  PLIMSOLL_ASSIGN(const Plan larger, checked_plan(plannable, request));
  plan.summary.more_bytes = more_bytes;
  plan.summary.more_seconds = larger.summary.iteration_seconds;
  return {};
}

}  // namespace

Result<Planned> plan_model(const PlanningOptions& options, const OnePlanOptions& one, const Console& console,
                           PlanFor purpose) {
  const auto started = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(const SizeSpec budget, parse_size(one.budget));
  if (budget.kind == SizeSpec::Kind::bytes && budget.bytes < 1) return usage("--budget is 0 when it should be at least a byte");
  PLIMSOLL_ASSIGN(const int64_t more_bytes, bytes_of_what_if(one.what_if));
  const bool of_process = !one.process_budget.empty();
  if (of_process && one.budget.getNumOccurrences() > 0) return usage("--budget and --process-budget exclude each other");
  PLIMSOLL_ASSIGN(const SizeSpec process_budget, parse_size(of_process ? one.process_budget.getValue() : "1"));
  if (process_budget.kind != SizeSpec::Kind::bytes) return usage("--process-budget takes bytes: 12GiB");
  PLIMSOLL_TRY(find_policy(one.policy));
  PLIMSOLL_ASSIGN(Plannable plannable, prepare_plans(options, console, purpose));
  PlanRequest request = plannable.request;
  request.policy = one.policy;
  if (budget.kind == SizeSpec::Kind::bytes) request.budget_bytes = budget.bytes;
  // A paper's figures are of its means in full, not of a device that they fit on: its rules have no budget by default.
  if (budget.kind == SizeSpec::Kind::percent && !(plannable.as_paper && one.budget.getNumOccurrences() == 0))
    request.budget_percent = budget.percent;
  if (of_process) {
    request.budget_percent = 0;
    PLIMSOLL_ASSIGN(request.budget_bytes, arena_within(process_budget.bytes, plannable.process, console));
  }
  bool cut_short = false;
  request.cut_short = [&] { cut_short = true; };
  PassDump dump(one.print_after, one.dump);
  request.observe = [&](const std::string& pass, const Plan& plan) { dump.after(pass, plan); };
  PLIMSOLL_ASSIGN(Plan plan, checked_plan(plannable, request));
  PLIMSOLL_TRY(dump.finish(plannable.model.network, plannable.graph));
  if (more_bytes > 0) PLIMSOLL_TRY(ask_for_more(plannable, request, more_bytes, plan));

  // Beyond this point the plan is known to be safe.

  if (plannable.splits_statistics(plan))
    console.warning(fmt::format(
        "batch normalization sees {} samples at a time, not {}: statistics are per sub-batch; --refuse-split forbids it",
        plan.sub_batch, plan.batch));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  plan.summary.planning_seconds = elapsed.count();
  TaskGraph& planned_graph = plan.rounds > 1 ? plannable.in_rounds : plannable.graph;
  return Planned{std::move(plannable.model), std::move(planned_graph), std::move(plan), plannable.threads, cut_short};
}

Status last_word(const Planned& planned) {
  if (!planned.cut_short) return {};
  return Error{ExitCode::time_limit, fmt::format("--time-limit ended the search after {:.1f} s: the plan is valid, and a longer "
                                                 "search may find a faster one", planned.plan.summary.planning_seconds)};
}

std::string describe(const Plan& plan) {
  const PlanSummary& sum = plan.summary;
  const std::string rounds =
      plan.rounds == 1 ? fmt::format("{} samples at once", plan.batch)
                       : fmt::format("{} samples in {} rounds of {}", plan.batch, plan.rounds, plan.sub_batch);
  const std::string bound =
      sum.bound_seconds > 0 ? fmt::format("\nbound    {:.1f} ms at least, whatever the schedule: a gap of {:.1f} %",
                                          1e3 * sum.bound_seconds, 100 * (sum.iteration_seconds / sum.bound_seconds - 1))
                            : "";
  return fmt::format(
      "arena    {:>10}  ({} bytes) of budget {}\n"
      "         {:>10}  live at the peak, step {}: placement loses {:.2f} %\n"
      "         {:>10}  unconstrained, {} minimum\n"
      "batch    {}\n"
      "steps    {} per round, planned in {:.2f} s, predicted {:.1f} ms per iteration ({}){}",
      format_bytes(sum.arena_bytes), format_grouped(sum.arena_bytes),
      plan.budget_bytes > 0 ? format_bytes(plan.budget_bytes) : "unlimited", format_bytes(sum.live_bytes), sum.peak_step,
      sum.live_bytes > 0 ? 100.0 * static_cast<double>(sum.arena_bytes - sum.live_bytes) / static_cast<double>(sum.live_bytes)
                         : 0.0,
      format_bytes(sum.unconstrained_bytes), format_bytes(sum.minimum_bytes), rounds,
      plan.steps.size(), sum.planning_seconds, sum.iteration_seconds * 1e3, plan.costs, bound);
}

}  // namespace plimsoll
