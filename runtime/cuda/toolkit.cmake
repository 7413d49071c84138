# Requirements of GPU builds on the installed toolkit: the devices that nvcc compiles for, and the version of cuDNN.

# plimsoll_cuda_architectures(VARIABLE NVCC): the devices of this machine, in the format of CMAKE_CUDA_ARCHITECTURES.
# For a device newer than this nvcc: the newest code that nvcc knows, which the driver compiles when the trainer first
# starts. Without a device: code for Ampere, Ada and Hopper, and code that the driver compiles for all others since
# Turing.
function(plimsoll_cuda_architectures variable nvcc)
  execute_process(COMMAND nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader
    OUTPUT_VARIABLE told RESULT_VARIABLE failed ERROR_QUIET)
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
    if(NOT known)  # this nvcc cannot list them
      set(best ${capability})
    elseif(NOT best)
      list(GET known 0 least)
      string(REGEX REPLACE "(.)$" ".\\1" least ${least})
      message(FATAL_ERROR "this machine has a GPU of an older kind (${device}) than ${nvcc} compiles for (${least} and "
                          "later): build with an older CUDA toolkit, CUDACXX says where its nvcc is; Maxwell, Pascal "
                          "and Volta need CUDA 12 and cuDNN 9.10 or older")
    elseif(NOT best MATCHES "^${family}.$")  # code for one family of devices does not run on the next one
      set(best ${best}-virtual)
    endif()
    list(APPEND all ${best})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# plimsoll_cudnn_version(VARIABLE DIRECTORY): the version in that directory's cudnn.h, such as 9.19.0; empty if unknown.
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

# plimsoll_check_toolkit(CUDNN-DIRECTORY): fails with a message if the installed versions are too old. C++20 needs CUDA
# 12.0. cuDNN describes devices since 9.8 (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), and since 9.2 it reports the workspace
# of a configuration without building it.
function(plimsoll_check_toolkit directory)
  if(CMAKE_CUDA_COMPILER_VERSION AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}, which does not know C++20: "
                        "CUDA 12.0 or later is needed")
  endif()
  plimsoll_cudnn_version(version ${directory})
  if(version AND version VERSION_LESS 9.8)
    message(FATAL_ERROR "${directory}/cudnn.h is of cuDNN ${version}: 9.8 or later is needed; "
                        "CUDNN_ROOT says where one is")
  endif()
endfunction()
