// Owning wrappers of the CUDA runtime's handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/cuda/device/check.h"

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

// Does not synchronize with the default stream.
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
  // An event that records its time.
  static Event make_timed() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
    return Event(event);
  }
};

// A captured graph and its executable. They have the same lifetime, because the nodes of the captured graph identify
// those of the executable when their parameters are updated.
class Graph {
 public:
  Graph() = default;
  // Takes ownership of the captured graph, and uploads the executable for this stream. Empty: the device has too little
  // memory for it.
  static Graph instantiate(cudaGraph_t captured, cudaStream_t stream) {
    Graph graph;
    graph.captured_ = Captured(captured);
    cudaGraphExec_t playable = nullptr;
    if (!has_room(cudaGraphInstantiateWithFlags(&playable, captured, 0), "cudaGraphInstantiateWithFlags of a round"))
      return {};
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

// The most recent node of a stream that is being captured: the next one would depend on it.
inline cudaGraphNode_t last_node(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* behind = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &behind, nullptr, &count),
        "cudaStreamGetCaptureInfo");
#else
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &behind, &count), "cudaStreamGetCaptureInfo");
#endif
  return count == 0 ? nullptr : behind[0];
}

// Pinned memory of the host. After a failure for lack of memory it is empty.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(int64_t bytes, const char* what) {
    void* address = nullptr;
    const cudaError_t result = cudaHostAlloc(&address, static_cast<size_t>(bytes), cudaHostAllocDefault);
    if (result == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return;
    }
    check(result, what);
    memory_ = Memory(address);
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  explicit operator bool() const { return static_cast<bool>(memory_); }

 private:
  using Memory = Owned<void*, cudaFreeHost>;
  Memory memory_;
};

// One value in pinned memory.
template <class T>
class Pinned {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pinned() : memory_(sizeof(T), "cudaHostAlloc") {
    if (!memory_) check(cudaErrorMemoryAllocation, "cudaHostAlloc");
    value_ = new (memory_.data()) T();
  }
  T* operator->() const { return value_; }

 private:
  PinnedMemory memory_;
  T* value_;
};

}  // namespace plimsoll::cuda
