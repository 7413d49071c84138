// The exit code of a trainer that performs this action.
#pragma once

#include <catch2/catch.hpp>
#include <functional>

#include "runtime/train/error.h"

namespace plimsoll::train {

inline Exit code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const TrainerError& error) {
    INFO(error.what());
    return error.code;
  }
  return Exit::ok;
}

}  // namespace plimsoll::train
