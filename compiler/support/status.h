// Error handling: functions return a Status or a Result<T>; no exception crosses the boundary of a component. The exit
// codes are part of the user interface and are never renumbered (docs/exit-codes in the README).
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll {

enum class ExitCode : int {
  ok = 0,
  internal = 1,             // a bug of ours
  usage = 2,                // the command line
  unreadable_input = 3,     // missing or unreadable file
  invalid_model = 4,        // readable, but not a valid model (or plan)
  unsupported = 5,          // unsupported operator or attribute; all are listed at once
  budget_infeasible = 6,
  unwritable_output = 7,
  environment = 8,          // driver, library, device
  verification_failed = 9,  // the checker refused a plan
  time_limit = 10,          // stopped early with a valid partial result
};

// Messages are lower-case without a final period, and give the node, the numbers and the remedy. `notes` are printed
// below, one `note:` line each.
struct Error {
  ExitCode code = ExitCode::internal;
  std::string message;
  std::vector<std::string> notes = {};
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<1>(state_); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

// A violated invariant inside Plimsoll. main() returns exit code 1 and asks for a bug report.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void internal_error(const char* file, int line, const std::string& what);

}  // namespace plimsoll

#define PLIMSOLL_CONCAT_(a, b) a##b
#define PLIMSOLL_CONCAT(a, b) PLIMSOLL_CONCAT_(a, b)

// Returns from the function if `expr`, a Status or a Result, is an error.
#define PLIMSOLL_TRY(expr)                                        \
  do {                                                            \
    if (auto plimsoll_status_ = (expr); !plimsoll_status_.ok())   \
      return plimsoll_status_.error();                            \
  } while (0)

// PLIMSOLL_ASSIGN(Network network, import_onnx(path));
#define PLIMSOLL_ASSIGN(declaration, expr) \
  PLIMSOLL_ASSIGN_(PLIMSOLL_CONCAT(plimsoll_result_, __LINE__), declaration, expr)
#define PLIMSOLL_ASSIGN_(result, declaration, expr) \
  auto result = (expr);                             \
  if (!result.ok()) return result.error();          \
  declaration = std::move(result).value()

// For invariants that hold for any user input.
#define PLIMSOLL_CHECK(condition, what)                                        \
  do {                                                                         \
    if (!(condition)) ::plimsoll::internal_error(__FILE__, __LINE__, (what));  \
  } while (0)
