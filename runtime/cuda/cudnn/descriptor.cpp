#include "runtime/cuda/cudnn/descriptor.h"

#include <algorithm>

#include "runtime/cuda/device/libraries.h"

namespace plimsoll::cudnn {
namespace {

// cuDNN explains its last error in several lines, each with a position in its sources; the last line is the cause.
std::string explanation() {
  char text[2048] = "";
  cudnnGetLastErrorString(text, sizeof text);
  std::string all = text;
  while (!all.empty() && (all.back() == '\n' || all.back() == ' ')) all.pop_back();
  const size_t line = all.rfind('\n');
  return line == std::string::npos ? all : all.substr(line + 1);
}

// Empty: it succeeded.
std::string reason(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return "";
  const std::string why = explanation();
  std::string hint;
  if (status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED) {
    const std::string missing = missing_library();
    // 9.28 is linked with the driver library (9.19 is not), so it lists no engines without a driver.
    hint = (missing.empty() ? "" : " (" + missing + ")") +
           ": one of its libraries is missing, or needs the driver's libcuda.so.1. To plan without a driver, link the "
           "toolkit's lib64/stubs/libcuda.so as libcuda.so.1 in a folder of LD_LIBRARY_PATH";
  }
  return std::string("cuDNN: ") + what + ": " + cudnnGetErrorString(status) + (why.empty() ? "" : ", " + why) + hint;
}

}  // namespace

std::string missing_library(bool first_only) {
  const std::string version = ".so." + std::to_string(CUDNN_MAJOR);
  // cuDNN's address says where it is loaded from; it looks there first.
  const void* const here = reinterpret_cast<const void*>(&cudnnGetErrorString);
  for (const char* const part : {"graph", "heuristic", "engines_precompiled", "engines_runtime_compiled"}) {
    const std::string why = cuda::why_not_loaded(std::string("libcudnn_") + part + version, here);
    if (!why.empty() || first_only) return why;
  }
  return "";
}

void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw KernelError(reason(status, what));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &raw_), "cannot make a descriptor");
}

Descriptor::~Descriptor() {
  if (raw_) cudnnBackendDestroyDescriptor(raw_);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& other : others) raw.push_back(other.raw_);
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data());
}

Descriptor& Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                const void* values) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(raw_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) check(status, ("attribute " + std::to_string(name)).c_str());
  return *this;
}

int64_t Descriptor::get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            void* values) const {
  int64_t there = 0;
  const cudnnStatus_t status = cudnnBackendGetAttribute(raw_, name, type, count, &there, values);
  if (status != CUDNN_STATUS_SUCCESS) check(status, ("attribute " + std::to_string(name)).c_str());
  return count == 0 ? there : std::min(there, count);
}

Descriptor& Descriptor::finalize(const char* what) {
  check(cudnnBackendFinalize(raw_), what);
  return *this;
}

std::string Descriptor::try_finalize(const char* what) { return reason(cudnnBackendFinalize(raw_), what); }

std::string Descriptor::get_text(cudnnBackendAttributeName_t name) const {
  std::string text(static_cast<size_t>(get_raw(name, CUDNN_TYPE_CHAR, 0, nullptr)), '\0');
  text.resize(static_cast<size_t>(get_raw(name, CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()), text.data())));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// cuDNN fills descriptors that the caller has created.
Descriptor Descriptor::get_descriptor(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const {
  Descriptor one(type);
  get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one.raw_);
  return one;
}

std::vector<Descriptor> Descriptor::get_descriptors(cudnnBackendAttributeName_t name,
                                                    cudnnBackendDescriptorType_t type, int64_t at_most) const {
  const int64_t count = at_most > 0 ? at_most : get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> all;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) raw.push_back(all.emplace_back(type).raw_);
  if (count > 0)
    all.resize(static_cast<size_t>(get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data())));
  return all;
}

}  // namespace plimsoll::cudnn
