// Ranks as processes, each with a lifeline and nothing else: who is lost, who says so, and who is not.
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/dist/lifeline.h"

using namespace plimsoll::dist;

namespace {

constexpr int64_t kPatience = 3;
using Doing = Pulse::Doing;

// What a rank does, until it says goodbye or its lifeline ends it.
using Life = std::function<void(int64_t rank, Pulse& pulse)>;

struct Ended {
  int code = -1;
  std::string said = {};
};

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
// Longer than anybody has patience.
void stand_still() { rest(60); }
void work_for(Pulse& pulse, double seconds) {
  for (double spent = 0; spent < seconds; spent += 0.05) {
    rest(0.05);
    pulse.beat();
  }
}

// Waits until everybody has come here, as an engine would. The last one opens the gate for all.
class Gate {
 public:
  explicit Gate(size_t ranks) : ranks_(ranks) {
    if (pipe(come_) != 0 || pipe(go_) != 0) throw std::runtime_error("pipe");
  }
  void pass(int64_t rank, Pulse& pulse) const {
    const Pulse::Wait wait(pulse);
    char sign = '.';
    if (write(come_[1], &sign, 1) != 1) _exit(90);
    if (rank == 0) {
      for (size_t i = 0; i < ranks_; ++i)
        if (read(come_[0], &sign, 1) != 1) _exit(91);
      const std::string all(ranks_, '.');
      if (write(go_[1], all.data(), ranks_) != static_cast<ssize_t>(ranks_)) _exit(92);
    }
    if (read(go_[0], &sign, 1) != 1) _exit(93);
  }

 private:
  const size_t ranks_;
  int come_[2], go_[2];
};

pid_t start(size_t rank, const std::vector<int>& at_zero, const std::vector<int>& at_others, int errors,
            const Gate& gate, const Life& life) {
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(errors, STDERR_FILENO);
  std::vector<Spoke> spokes;
  for (size_t i = 0; i < at_zero.size(); ++i) {
    const auto other = static_cast<int64_t>(i + 1);
    if (rank == 0) spokes.push_back({other, at_zero[i]});
    else if (rank == i + 1) spokes.push_back({0, at_others[i]});
    close(rank == 0 || rank != i + 1 ? at_others[i] : at_zero[i]);
    if (rank != 0 && rank != i + 1) close(at_zero[i]);
  }
  Pulse pulse;
  Lifeline lifeline({.number = static_cast<int64_t>(rank), .first_here = rank == 0}, spokes, pulse, kPatience);
  pulse.reached(3);
  life(static_cast<int64_t>(rank), pulse);
  gate.pass(static_cast<int64_t>(rank), pulse);
  lifeline.goodbye();
  _exit(0);
}

// `meddle` gets the processes while they run.
std::vector<Ended> live(size_t ranks, const Life& life,
                        const std::function<void(const std::vector<pid_t>&)>& meddle = {}) {
  std::vector<int> at_zero, at_others;
  for (size_t i = 1; i < ranks; ++i) {
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    at_zero.push_back(pair[0]);
    at_others.push_back(pair[1]);
  }
  const Gate gate(ranks);
  std::vector<Ended> all(ranks);
  std::vector<pid_t> children;
  std::vector<int> errors;
  for (size_t rank = 0; rank < ranks; ++rank) {
    int said[2];
    REQUIRE(pipe(said) == 0);
    children.push_back(start(rank, at_zero, at_others, said[1], gate, life));
    close(said[1]);
    errors.push_back(said[0]);
  }
  for (const int socket : at_zero) close(socket);
  for (const int socket : at_others) close(socket);
  if (meddle) meddle(children);
  for (size_t rank = 0; rank < ranks; ++rank) {
    int status = 0;
    REQUIRE(waitpid(children[rank], &status, 0) == children[rank]);
    all[rank].code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    char text[4096];
    const ssize_t length = read(errors[rank], text, sizeof text);
    all[rank].said.assign(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
    close(errors[rank]);
  }
  return all;
}

// Of four ranks, one that does something else than to wait for the others.
std::vector<Ended> one_of_four(int64_t which, const std::function<void(Pulse&)>& otherwise) {
  return live(4, [&](int64_t rank, Pulse& pulse) {
    if (rank == which) otherwise(pulse);
  });
}

void check_lost(const std::vector<Ended>& all, size_t says, const std::string& what) {
  for (size_t rank = 0; rank < all.size(); ++rank) {
    INFO("rank " << rank << " said: " << all[rank].said);
    CHECK(all[rank].code == kExitRankLost);
    CHECK(all[rank].said == (rank == says ? what : ""));
  }
}

void check_all_well(const std::vector<Ended>& all) {
  for (const Ended& rank : all) {
    CHECK(rank.code == 0);
    CHECK(rank.said == "");
  }
}

}  // namespace

TEST_CASE("a rank that lives and does nothing is lost, by name, whichever it is, and it ends itself") {
  check_lost(one_of_four(2, [](Pulse&) { stand_still(); }), 0,
             "error: rank 2 is lost in iteration 3: it is alive, but made no progress for 3 s; all others end\n");
  check_lost(one_of_four(0, [](Pulse&) { stand_still(); }), 1,
             "error: rank 0 is lost in iteration 3: it is alive, but made no progress for 3 s; all others end\n");
}

TEST_CASE("who works for long, or waits for a device, is not lost, and neither are those who wait for him") {
  check_all_well(one_of_four(1, [](Pulse& pulse) { work_for(pulse, 2.5 * kPatience); }));
  check_all_well(one_of_four(0, [](Pulse& pulse) {
    const Pulse::Wait wait(pulse, Doing::wait_for_device);
    rest(2.5 * kPatience);
  }));
}

TEST_CASE("a start may take its time: what a rank does counts from its first iteration on") {
  check_all_well(one_of_four(3, [](Pulse& pulse) {
    pulse.reached(-1);
    rest(2.5 * kPatience);
  }));
}

TEST_CASE("a rank that is stopped for less than the others' patience has done nothing wrong") {
  // It is stopped within its work, twice; what it does not do meanwhile is not held against it.
  check_all_well(live(
      2,
      [](int64_t rank, Pulse& pulse) {
        if (rank != 1) return;
        work_for(pulse, 1);
        rest(1);
        work_for(pulse, 1);
      },
      [](const std::vector<pid_t>& ranks) {
        rest(1.2);
        kill(ranks[1], SIGSTOP);
        rest(1);
        kill(ranks[1], SIGCONT);
      }));
}

TEST_CASE("where all wait for each other, nobody is named and all end") {
  check_lost(live(3, [](int64_t, Pulse& pulse) {
               const Pulse::Wait wait(pulse);
               stand_still();
             }),
             0, "error: no rank makes progress in iteration 3: all have waited for each other for 3 s; all end\n");
}
