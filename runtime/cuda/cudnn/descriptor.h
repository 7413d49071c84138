// RAII wrappers for cuDNN's backend descriptors: created, filled, finalized, destroyed. Nothing here needs a device.
//
//   Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
//   tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT).set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
//   tensor.finalize("a tensor");
#pragma once

#include <cudnn.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel.h"

// Device descriptions (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) exist since 9.8.
#if CUDNN_VERSION < 90800
#error "cuDNN 9.8 or later is needed: set CUDNN_ROOT to where one is"
#endif

namespace plimsoll::cudnn {

// Why one of the libraries that cuDNN loads on demand cannot be loaded, in the loader's words; "" if all can. With
// `first_only`: only of the first, without which cuDNN ends the process at any call.
std::string missing_library(bool first_only = false);

// Throws a KernelError with the failed operation, cuDNN's status and, if available, cuDNN's explanation.
void check(cudnnStatus_t status, const char* what);

// The cuDNN attribute type of a C++ type.
template <class T> inline constexpr cudnnBackendAttributeType_t kTypeOf = T::no_attribute_of_cudnn_has_this_type;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<int64_t> = CUDNN_TYPE_INT64;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<int32_t> = CUDNN_TYPE_INT32;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<float> = CUDNN_TYPE_FLOAT;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<bool> = CUDNN_TYPE_BOOLEAN;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<char> = CUDNN_TYPE_CHAR;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<void*> = CUDNN_TYPE_VOID_PTR;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <> inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kTypeOf<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    return set_raw(name, kTypeOf<T>, 1, &value);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    return set_raw(name, kTypeOf<T>, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::string& text) {
    return set_raw(name, CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()), text.data());
  }
  // `other` must outlive this descriptor.
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.raw_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others);

  // After this call the descriptor is valid, and nothing more can be set. `what` is for the error.
  Descriptor& finalize(const char* what);
  // The same, if failure is an expected result: returns the reason; empty if it succeeds.
  std::string try_finalize(const char* what);

  template <class T>
  T get(cudnnBackendAttributeName_t name) const {
    T value{};
    get_raw(name, kTypeOf<T>, 1, &value);
    return value;
  }
  template <class T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name, int64_t at_most) const {
    std::vector<T> values(static_cast<size_t>(at_most));
    values.resize(static_cast<size_t>(get_raw(name, kTypeOf<T>, at_most, values.data())));
    return values;
  }
  std::string get_text(cudnnBackendAttributeName_t name) const;
  Descriptor get_descriptor(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const;
  // `at_most`: for attributes that do not report their number of elements; 0: the attribute does.
  std::vector<Descriptor> get_descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                          int64_t at_most = 0) const;

  cudnnBackendDescriptor_t raw() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  Descriptor& set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                      const void* values);
  // Returns the number of elements, of which at most `count` were written.
  int64_t get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  void* values) const;

  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace plimsoll::cudnn
