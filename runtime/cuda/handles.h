// The handles of the CUDA runtime, each given back by its owner.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/cuda/check.h"

namespace plimsoll::cuda {

template <class Handle, cudaError_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) kDestroy(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

// Beside the default stream, which would wait for them all.
class Stream : public Owned<cudaStream_t, cudaStreamDestroy> {
 public:
  using Owned::Owned;
  static Stream make() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return Stream(stream);
  }
};

class Event : public Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  using Owned::Owned;
  static Event make() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return Event(event);
  }
  // One that knows when it happened.
  static Event make_timed() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
    return Event(event);
  }
};

// What was captured, and what is played. The one lives as long as the other: its nodes are how those of the other are called
// when their parameters are set anew.
class Graph {
 public:
  Graph() = default;
  // Owns what was captured, and lies on the device when it is played on the stream. Empty: the device has no room for it.
  static Graph instantiate(cudaGraph_t captured, cudaStream_t stream) {
    Graph graph;
    graph.captured_ = Captured(captured);
    cudaGraphExec_t playable = nullptr;
    if (!has_room(cudaGraphInstantiateWithFlags(&playable, captured, 0), "cudaGraphInstantiateWithFlags of a round")) return {};
    graph.playable_ = Playable(playable);
    if (!has_room(cudaGraphUpload(playable, stream), "cudaGraphUpload of a round")) return {};
    return graph;
  }
  cudaGraphExec_t get() const { return playable_.get(); }
  explicit operator bool() const { return static_cast<bool>(playable_); }

 private:
  static bool has_room(cudaError_t result, const char* call) {
    if (result != cudaErrorMemoryAllocation) return check(result, call), true;
    cudaGetLastError();
    return false;
  }

  using Captured = Owned<cudaGraph_t, cudaGraphDestroy>;
  using Playable = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
  Captured captured_;
  Playable playable_;
};

// The node that a recording stream took last: what the next one on it would come behind.
inline cudaGraphNode_t last_node(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* behind = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &behind, nullptr, &count), "cudaStreamGetCaptureInfo");
#else
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &behind, &count), "cudaStreamGetCaptureInfo");
#endif
  return count == 0 ? nullptr : behind[0];
}

// One value in pinned memory.
template <class T>
class Pinned {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pinned() {
    void* address = nullptr;
    check(cudaHostAlloc(&address, sizeof(T), cudaHostAllocDefault), "cudaHostAlloc");
    value_ = new (address) T();
  }
  ~Pinned() { cudaFreeHost(value_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* operator->() const { return value_; }

 private:
  T* value_;
};

}  // namespace plimsoll::cuda
