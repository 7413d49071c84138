# What a build for GPUs asks of the toolkit at hand: which devices its nvcc compiles for, and which cuDNN it is.

# plimsoll_cuda_architectures(VARIABLE NVCC): the devices of this machine, in the form of CMAKE_CUDA_ARCHITECTURES. For one that is newer
# than this nvcc: the newest code that it knows, which the driver compiles when the trainer first starts. Where there is none: code for
# Ampere, Ada and Hopper, and for all others from Turing on what the driver compiles.
function(plimsoll_cuda_architectures variable nvcc)
  execute_process(COMMAND nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader OUTPUT_VARIABLE told RESULT_VARIABLE failed ERROR_QUIET)
  string(REGEX MATCHALL "[^\n]*, [0-9]+\\.[0-9]+" devices "${told}")
  if(failed OR NOT devices)
    set(${variable} 75-virtual 80-real 90-real PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "compute_[0-9]+" known "${listed}")
  string(REPLACE "compute_" "" known "${known}")
  list(SORT known COMPARE NATURAL)
  set(all "")
  foreach(device IN LISTS devices)
    string(REGEX REPLACE ".*, ([0-9]+)\\.([0-9]+)$" "\\1;\\2" capability "${device}")
    list(GET capability 0 family)
    string(REPLACE ";" "" capability "${capability}")
    set(best "")
    foreach(one IN LISTS known)
      if(one LESS_EQUAL capability)
        set(best ${one})
      endif()
    endforeach()
    if(NOT known)  # an nvcc that does not say
      set(best ${capability})
    elseif(NOT best)
      list(GET known 0 least)
      string(REGEX REPLACE "(.)$" ".\\1" least ${least})
      message(FATAL_ERROR "this machine has a GPU of an older kind (${device}) than ${nvcc} compiles for (${least} and later): build with an "
                          "older CUDA toolkit, CUDACXX says where its nvcc is; Maxwell, Pascal and Volta need CUDA 12 and cuDNN 9.10 or older")
    elseif(NOT best MATCHES "^${family}.$")  # code for one family of devices does not run on the next one
      set(best ${best}-virtual)
    endif()
    list(APPEND all ${best})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# plimsoll_cudnn_version(VARIABLE DIRECTORY): of the cudnn.h in that directory, 9.19.0; empty where it does not say.
function(plimsoll_cudnn_version variable directory)
  set(version "")
  if(EXISTS ${directory}/cudnn_version.h)
    file(STRINGS ${directory}/cudnn_version.h lines REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
    foreach(part MAJOR MINOR PATCHLEVEL)
      if(lines MATCHES "CUDNN_${part} +([0-9]+)")
        list(APPEND version ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endif()
  string(REPLACE ";" "." version "${version}")
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()

# plimsoll_check_toolkit(CUDNN-DIRECTORY): ends in a sentence where what is there is too old. C++20 came with CUDA 12.0; cuDNN says since 9.8
# what a device is (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), and since 9.2 how much workspace a configuration needs without building it.
function(plimsoll_check_toolkit directory)
  if(CMAKE_CUDA_COMPILER_VERSION AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}, which does not know C++20: CUDA 12.0 or later is needed")
  endif()
  plimsoll_cudnn_version(version ${directory})
  if(version AND version VERSION_LESS 9.8)
    message(FATAL_ERROR "${directory}/cudnn.h is of cuDNN ${version}: 9.8 or later is needed; CUDNN_ROOT says where one is")
  endif()
endfunction()
