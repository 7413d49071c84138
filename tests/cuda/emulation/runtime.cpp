// Streams, events and graphs of the emulation. One device.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "emulation.h"

using Work = std::function<void()>;

// The arguments of a copy that may be changed after recording.
struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

// An event counts how often its record was reached; a wait is for the most recently issued record.
struct Event {
  uint64_t issued = 0, reached = 0;
  uint64_t at = 0;           // when it was last reached
  std::vector<Node*> behind;  // in a recording
};

struct Operation {
  enum Kind { work, record, wait } kind;
  Work run;
  Event* event;
  uint64_t number;
};

struct Node {
  Work run;   // null: it is `copy`
  Copy copy;
  std::vector<size_t> behind;  // indices of nodes
  size_t number;
};

struct Recorded {
  std::vector<std::unique_ptr<Node>> nodes;
};

struct Playable {
  std::vector<Node> nodes;
};

struct Stream {
  std::deque<Operation> queue;
  Recorded* recording = nullptr;
  std::vector<Node*> last;  // in a recording
};

namespace {

std::vector<Stream*> streams;  // in the order of creation
Stream default_stream;
std::set<Recorded*> captured;  // and not destroyed
cudaError_t next_capture = cudaSuccess, next_instantiation = cudaSuccess;  // what the next call returns, once
uint64_t clock_now = 0, launched = 0;

Stream& of(Stream* stream) { return stream ? *stream : default_stream; }

std::vector<Stream*> all_streams() {
  std::vector<Stream*> all = {&default_stream};
  all.insert(all.end(), streams.begin(), streams.end());
  return all;
}

// Of everything that may run, the work of the most recently created stream.
bool run_one() {
  const std::vector<Stream*> all = all_streams();
  for (size_t i = all.size(); i-- > 0;) {
    if (all[i]->queue.empty()) continue;
    Operation& front = all[i]->queue.front();
    if (front.kind == Operation::wait && front.event->reached < front.number) continue;
    Operation operation = std::move(front);
    all[i]->queue.pop_front();
    if (operation.kind == Operation::record) {
      operation.event->reached = operation.number;
      operation.event->at = clock_now;
    }
    if (operation.kind == Operation::work) {
      operation.run();
      ++clock_now;
    }
    return true;
  }
  return false;
}

void drain(Stream& stream) {
  while (!stream.queue.empty()) {
    if (run_one()) continue;
    std::fprintf(stderr, "emulated streams: every stream waits for another\n");
    std::abort();
  }
}

Node* record_node(Stream& stream, Work run, Copy copy) {
  auto node = std::make_unique<Node>();
  node->run = std::move(run);
  node->copy = copy;
  node->number = stream.recording->nodes.size();
  for (const Node* other : stream.last) node->behind.push_back(other->number);
  stream.last.assign(1, node.get());
  stream.recording->nodes.push_back(std::move(node));
  return stream.last.front();
}

void issue(Stream* on, Work run) {
  Stream& stream = of(on);
  if (stream.recording) record_node(stream, std::move(run), {});
  else stream.queue.push_back({Operation::work, std::move(run), nullptr, 0});
}

void move(const Copy& copy) { std::memmove(copy.to, copy.from, copy.bytes); }

// In an adverse order that the dependencies allow: of everything that may run, the node recorded last.
void play(const Playable& playable) {
  std::vector<bool> done(playable.nodes.size());
  for (size_t left = playable.nodes.size(); left > 0; --left) {
    for (size_t i = playable.nodes.size(); i-- > 0;) {
      const Node& node = playable.nodes[i];
      if (done[i] || !std::all_of(node.behind.begin(), node.behind.end(), [&](size_t other) { return done[other]; }))
        continue;
      if (node.run) node.run();
      else move(node.copy);
      done[i] = true;
      break;
    }
  }
}

}  // namespace

namespace emulation {

uint64_t kernels_launched() { return launched; }
void refuse_next_capture(cudaError_t error) { next_capture = error; }
void refuse_next_instantiation(cudaError_t error) { next_instantiation = error; }

void issue_work(Stream* stream, std::function<void()> work) { issue(stream, std::move(work)); }

void issue_kernel(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  tell_library(++launched);
  issue(config.stream, [blocks = config.gridDim, threads = config.blockDim, body = std::move(thread)] {
    run_grid(blocks, threads, body);
  });
}

void issue_kernel(const cudaLaunchConfig_t& config, const Launch& launch) {
  std::vector<std::max_align_t> held((launch.bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  std::memcpy(held.data(), launch.arguments, launch.bytes);
  issue_kernel(config,
               [kernel = launch.kernel, call = launch.call, held = std::move(held)] { call(kernel, held.data()); });
}

}  // namespace emulation

const char* cudaGetErrorString(cudaError_t) { return "an error of the emulation"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int) {
  return std::snprintf(id, static_cast<size_t>(length), "00000000:0E:00.0") < length ? cudaSuccess
                                                                                     : cudaErrorInvalidValue;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU");
  properties->major = 9;
  properties->minor = 0;
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) { return std::memset(to, value, bytes), cudaSuccess; }
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  issue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  drain(default_stream);
  return std::memcpy(to, from, bytes), cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const Copy copy{to, from, bytes};
  if (of(stream).recording) record_node(of(stream), nullptr, copy);
  else issue(stream, [copy] { move(copy); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new Stream;
  streams.push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  drain(*stream);
  streams.erase(std::find(streams.begin(), streams.end(), stream));
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return drain(of(stream)), cudaSuccess; }

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument) {
  return issue(stream, [=] { function(argument); }), cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return *event = new Event, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  *milliseconds = 1e-3F * static_cast<float>(static_cast<int64_t>(to->at - from->at));
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t on) {
  Stream& stream = of(on);
  if (stream.recording) {
    event->behind = stream.last;
    return cudaSuccess;
  }
  stream.queue.push_back({Operation::record, nullptr, event, ++event->issued});
  event->behind.clear();
  return cudaSuccess;
}

// A stream that waits for an event of a recording joins the recording.
cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t event, unsigned) {
  Stream& stream = of(on);
  if (!event->behind.empty()) {
    for (Stream* other : all_streams())
      if (!stream.recording && other->recording) stream.recording = other->recording;
    for (Node* node : event->behind)
      if (std::find(stream.last.begin(), stream.last.end(), node) == stream.last.end()) stream.last.push_back(node);
    return cudaSuccess;
  }
  stream.queue.push_back({Operation::wait, nullptr, event, event->issued});
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream->recording = new Recorded;
  stream->last.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!stream->recording) return cudaErrorInvalidValue;
  Recorded* const recorded = std::exchange(stream->recording, nullptr);
  std::vector<bool> joined(recorded->nodes.size());
  for (const Node* node : stream->last) joined[node->number] = true;
  for (size_t i = joined.size(); i-- > 0;)
    if (joined[i])
      for (const size_t other : recorded->nodes[i]->behind) joined[other] = true;
  for (Stream* other : all_streams()) {
    if (other->recording == recorded) other->recording = nullptr;
    other->last.clear();
  }
  if (const cudaError_t refused = std::exchange(next_capture, cudaSuccess); refused != cudaSuccess) {
    delete recorded;
    *graph = nullptr;
    return refused;
  }
  *graph = recorded;
  captured.insert(recorded);
  return std::find(joined.begin(), joined.end(), false) == joined.end() ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long*,
                                     cudaGraph_t*, const cudaGraphNode_t** behind, const void**, size_t* count) {
  *status = stream->recording ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  *behind = stream->last.data();
  *count = stream->last.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* playable, cudaGraph_t graph, unsigned long long) {
  if (const cudaError_t refused = std::exchange(next_instantiation, cudaSuccess); refused != cudaSuccess)
    return refused;
  constexpr size_t kBytesOfNode = 256;  // not accounted for
  if (emulation::bytes_left() < kBytesOfNode * graph->nodes.size()) return cudaErrorMemoryAllocation;
  *playable = new Playable;
  for (const auto& node : graph->nodes) (*playable)->nodes.push_back(*node);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  captured.erase(graph);
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t playable) { return delete playable, cudaSuccess; }
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t playable, cudaStream_t stream) {
  issue(stream, [playable] { play(*playable); });
  return cudaSuccess;
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t playable, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind) {
  // A node belongs to the captured graph, and is invalid after the graph is destroyed.
  const bool known = std::any_of(captured.begin(), captured.end(), [&](const Recorded* graph) {
    return std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const auto& one) { return &*one == node; });
  });
  if (!known || playable->nodes[node->number].run) return cudaErrorInvalidValue;
  playable->nodes[node->number].copy = {to, from, bytes};
  return cudaSuccess;
}
