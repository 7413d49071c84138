#include "player.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "codegen/tables.h"
#include "compiler/costs/profiled.h"
#include "compiler/import/onnx.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/layout.h"
#include "compiler/network/loss.h"
#include "compiler/network/precision.h"
#include "compiler/training/build.h"
#include "models/zoo.h"
#include "runtime/attrs/bf16.h"
#include "runtime/profile/kernel_registry.h"
#include "runtime/program.h"
#include "runtime/streams.h"
#include "tests/make_plan.h"

namespace plimsoll::test {
namespace {

constexpr int64_t kThreads = 1;  // sanitizers do not see how an OpenMP team waits for itself

// SplitMix64: number i of a stream.
uint64_t random_bits(uint64_t stream, uint64_t i) {
  uint64_t z = stream * 0x9E3779B97F4A7C15 + (i + 1) * 0xD1B54A32D192ED03;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
float random_real(uint64_t stream, uint64_t i) {  // [-1, 1)
  return static_cast<float>(static_cast<double>(random_bits(stream, i) >> 11) * 0x1p-52 - 1);
}

void build(KernelSet& kernels, const KernelTable& table, int64_t samples) {
  for (size_t i = 0; i < table.uses.size(); ++i) {
    const KernelUse& use = table.uses[i];
    KernelCall call{.name = use.task.kernel};
    for (const Attribute& attribute : use.task.attributes) call.attributes.push_back({attribute.name, attribute.value});
    for (const Operand& operand : use.task.operands)
      call.operands.push_back(operand.access == Access::absent ? absent()
                                                               : OperandDesc{operand.type.at(samples), operand.access});
    kernels.add(i, maker_of(call), call.operands, use.algorithm, use.workspace_bytes, use.layers.front().c_str());
  }
}

// What generated steps say, said here.
void tell(Round& round, const TaskGraph& graph, const Plan& plan, const KernelTable& kernels) {
  const AddressTable addresses(plan);
  const auto evaluated = steps_of_evaluation(graph, plan, addresses);
  StepId boundary;
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute || step.recompute) continue;
    const TaskKind kind = graph.tasks[step.task].kind;
    if (kind == TaskKind::forward || kind == TaskKind::loss) boundary = id;
  }
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    for (const StepId wait : step.waits) round.after({wait.value});
    if (!evaluated[id]) round.training();
    const auto at = [&](TensorId tensor) { return addresses.at(tensor, id).residency->offset; };
    if (step.kind == StepKind::compute) {
      const Task task = task_of(graph, step);
      std::vector<int64_t> operands;
      for (const Operand& operand : task.operands)
        operands.push_back(operand.access == Access::absent ? none : at(operand.tensor) + operand.begin);
      const size_t kernel = static_cast<size_t>(kernels.of_step[id]);
      const int64_t workspace = step.workspace.bytes > 0 ? step.workspace.offset : none;
      const auto kind = step.recompute                     ? Command::Kind::again
                        : task.kind == TaskKind::update ? Command::Kind::update
                                                         : Command::Kind::run;
      round.tell({.kind = kind, .index = kernel, .offset = workspace}, operands);
    } else if (step.kind == StepKind::load) {
      const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), step.tensor) - graph.inputs.begin();
      round.load(static_cast<size_t>(input), at(step.tensor), graph.tensors[step.tensor].bytes(1));
    } else {
      const int64_t bytes = plan.tensors[step.tensor].bytes;
      if (step.rounds == CopyRounds::last) round.last();
      if (step.rounds == CopyRounds::all_but_first) round.from_zero();
      if (step.rounds == CopyRounds::all_but_last) round.for_next();
      if (step.kind == StepKind::offload) round.offload(at(step.tensor), step.host_offset, bytes);
      else round.prefetch(at(step.tensor), step.host_offset, bytes);
    }
    round.mark(id.value);
    if (step.kind == StepKind::compute && !step.recompute)
      for (const TensorId written : graph.tasks[step.task].writes()) {
        if (written == graph.loss) round.read_loss(at(written));
        if (written == graph.correct) round.read_correct(at(written));
        if (written == graph.factor) round.read_factor(at(written));
      }
    if (id == boundary) round.end_forward();
  }
}

// Labels are classes where they are integers.
std::vector<std::byte> samples_of(const TaskGraph& graph, TensorId input, int64_t samples, uint64_t stream) {
  const TensorDesc desc = graph.tensors[input].type.at(samples);
  std::vector<std::byte> bytes(static_cast<size_t>(desc.bytes()));
  const TensorDesc output = graph.tensors[graph.output].type.at(samples);
  const uint64_t classes =
      static_cast<uint64_t>(std::max<int64_t>(1, output.elements() / std::max<int64_t>(1, desc.elements())));
  for (int64_t i = 0; i < desc.elements(); ++i) {
    const uint64_t at = static_cast<uint64_t>(i);
    if (desc.type == DataType::f32) reinterpret_cast<float*>(bytes.data())[i] = random_real(stream, at);
    else if (desc.type == DataType::i32)
      reinterpret_cast<int32_t*>(bytes.data())[i] = static_cast<int32_t>(random_bits(stream, at) % classes);
    else reinterpret_cast<int64_t*>(bytes.data())[i] = static_cast<int64_t>(random_bits(stream, at) % classes);
  }
  return bytes;
}

// Filters and matrices small enough that sums stay numbers, all else near one. Lower halves of weights, masks and
// indices are zero.
void fill(const Tensor& tensor, uint64_t stream, std::byte* to) {
  const TensorDesc desc = tensor.type.at(1);
  if (!is_real(desc.type)) {
    std::memset(to, 0, static_cast<size_t>(desc.bytes()));
    return;
  }
  const float scale =
      1.0f / std::sqrt(static_cast<float>(desc.rank() < 2 ? 1 : std::max<int64_t>(1, desc.elements() / desc.dim(0))));
  for (int64_t i = 0; i < desc.padded_elements(); ++i) {
    const float drawn = random_real(stream, static_cast<uint64_t>(i));
    const float value = tensor.kind == TensorKind::weight && desc.rank() >= 2 ? scale * drawn : 1 + 0.1f * drawn;
    if (desc.type == DataType::bf16) reinterpret_cast<Bf16*>(to)[i] = value;
    else reinterpret_cast<float*>(to)[i] = value;
  }
}

// What is stored there, as numbers; of masks and indices, each byte.
void append_values(DataType type, const std::byte* from, int64_t bytes, std::vector<float>& values) {
  if (!is_real(type) && type != DataType::i16) {
    for (int64_t i = 0; i < bytes; ++i) values.push_back(static_cast<float>(std::to_integer<int>(from[i])));
    return;
  }
  for (int64_t i = 0; i < bytes / bytes_of(type); ++i)
    values.push_back(type == DataType::bf16  ? static_cast<float>(reinterpret_cast<const Bf16*>(from)[i])
                     : type == DataType::i16 ? static_cast<float>(reinterpret_cast<const int16_t*>(from)[i])
                                             : reinterpret_cast<const float*>(from)[i]);
}

}  // namespace

Result<Network> make_network(const std::string& spec, int64_t batch, int64_t sub_batch, bool in_bf16) {
  std::string path = (std::filesystem::temp_directory_path() / "plimsoll-model-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file >= 0) close(file);
  PLIMSOLL_ASSIGN(const std::string written, write_zoo_model(spec, path));
  Result<ImportedModel> model = import_onnx(path, {.batch = batch});
  std::filesystem::remove(path);
  if (!model.ok()) return model.error();
  std::vector<std::string> notes;
  PLIMSOLL_TRY(attach_loss(model->network, LossKind::softmax_cross_entropy, notes));
  fuse_additions(model->network);
  fuse_activations(model->network);
  if (in_bf16) PLIMSOLL_TRY(assign_precision(model->network, {.precision = Precision::bf16}));
  assign_layouts(model->network, __builtin_cpu_supports("avx512f") ? Layout::nChw16c
                                 : __builtin_cpu_supports("avx2")  ? Layout::nChw8c
                                                                   : Layout::plain);
  Network network{.batch = batch, .sub_batch = sub_batch};
  PLIMSOLL_ASSIGN(network.graph, build_task_graph(model->network, {.batch = batch}));
  if (sub_batch < batch) network.graph = accumulating(std::move(network.graph));
  PLIMSOLL_ASSIGN(const Device device, find_device("host"));
  PLIMSOLL_ASSIGN(
      network.costs,
      ProfiledCosts::open({.profiler = PLIMSOLL_PROFILER, .threads = kThreads, .measure = false, .device = device}));
  return network;
}

Result<Plan> plan_of_policy(Network& network, const std::string& policy, int64_t sub_batch, int64_t percent,
                            const AlgorithmPins& pins) {
  network.costs = pinned(std::move(network.costs), pins);
  const auto planned = [&](int64_t budget) {
    return make_plan(network.graph, *network.costs,
                     {.policy = policy,
                      .batch = network.batch,
                      .sub_batch = sub_batch,
                      .budget_bytes = budget,
                      .may_split_statistics = true,
                      .effort = 0});
  };
  PLIMSOLL_ASSIGN(const Plan free, planned(0));
  const int64_t least = free.summary.minimum_bytes;
  PLIMSOLL_ASSIGN(Plan plan, planned(least + (free.summary.arena_bytes - least) * percent / 100));
  network.graph = planned_graph(std::move(network.graph), plan.rounds, plan.slice_bytes, plan.whole_weights);
  network.sub_batch = plan.sub_batch;
  return plan;
}

Played play(const Network& network, const Plan& plan, const std::vector<Residency>& watched, int iterations,
            const std::string& spill) {
  const TaskGraph& graph = network.graph;
  backend::start(kThreads);
  std::vector<ProgramLife> lives;
  for (const Residency& each : watched) lives.push_back({each.offset, each.bytes, each.first_step, each.last_step});
  const Program program{.model = "played",
                        .generator = "test",
                        .arena_bytes = plan.summary.arena_bytes,
                        .host_pool_bytes = plan.summary.host_pool_bytes,
                        .lives = lives};
  const backend::Arena arena(program.arena_bytes);
  std::unique_ptr<backend::HostPool> pool;
  if (program.host_pool_bytes > 0) pool = std::make_unique<backend::HostPool>(program.host_pool_bytes, spill);
  const KernelTable table = kernels_of(graph, plan);
  KernelSet full(table.uses.size()), last(table.uses.size());
  build(full, table, plan.sub_batch);
  build(last, table, plan.last_sub_batch);
  Round round;
  tell(round, graph, plan, table);

  for (const Residency& each : plan.residencies)
    if (const Tensor& tensor = graph.tensors[each.tensor];
        plan.tensors[each.tensor].persistent &&
        (tensor.kind == TensorKind::weight || tensor.kind == TensorKind::statistic))
      fill(tensor, static_cast<uint64_t>(each.tensor.value), arena.data() + each.offset);
  for (const TensorId id : ids_of(plan.tensors)) {
    if (!plan.tensors[id].at_home_on_host() || graph.tensors[id].kind != TensorKind::weight ||
        graph.tensors[id].slice_of.valid())
      continue;
    std::vector<std::byte> values(static_cast<size_t>(plan.tensors[id].bytes));
    fill(graph.tensors[id], static_cast<uint64_t>(id.value), values.data());
    pool->store(plan.tensors[id].home_offset, values.data(), plan.tensors[id].bytes);
  }

  Played played;
  {
    backend::Streams streams(program, round, arena, pool.get());
    for (int iteration = 0; iteration <= iterations; ++iteration) {
      const bool training = iteration < iterations;
      double loss = 0;
      for (int64_t r = 0; r < plan.rounds; ++r) {
        const bool is_last = r + 1 == plan.rounds;
        const int64_t samples = is_last ? plan.last_sub_batch : plan.sub_batch;
        std::vector<std::vector<std::byte>> staging;
        std::vector<const std::byte*> staged;
        for (const TensorId input : graph.inputs) {
          staging.push_back(
              samples_of(graph, input, samples, static_cast<uint64_t>(iteration * 1000 + r * 10 + input.value + 77)));
          staged.push_back(staging.back().data());
        }
        loss +=
            streams
                .play({.kernels = is_last ? &last : &full,
                       .staged = staged,
                       .context =
                           {.training = training, .seed = 5, .iteration = iteration, .round = r, .learning_rate = 0.01},
                       .samples = samples,
                       .first = r == 0,
                       .last = is_last})
                .loss;
      }
      if (training) played.losses.push_back(loss);
      else played.evaluation = loss;
    }
  }
  for (const TensorId id : ids_of(plan.tensors)) {
    if (plan.tensors[id].kind == TensorKind::weight_gradient || graph.tensors[id].slice_of.valid())
      continue;  // its whole has it
    if (plan.tensors[id].at_home_on_host()) {
      std::vector<std::byte> stored(static_cast<size_t>(plan.tensors[id].bytes));
      pool->fetch(plan.tensors[id].home_offset, stored.data(), plan.tensors[id].bytes);
      append_values(graph.tensors[id].type.type, stored.data(), plan.tensors[id].bytes, played.persistent);
    }
    if (!plan.tensors[id].persistent) continue;
    for (const Residency& each : plan.residencies) {
      if (each.tensor != id) continue;
      append_values(graph.tensors[id].type.type, arena.data() + each.offset, each.bytes, played.persistent);
    }
  }
  return played;
}

}  // namespace plimsoll::test
