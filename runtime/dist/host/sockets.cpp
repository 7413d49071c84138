// Ranks over TCP: pieces of a bucket go to rank 0, which adds them in the order of ranks and sends the sum back.
#include <algorithm>

#include "runtime/dist/host/engines.h"
#include "runtime/dist/host/row.h"
#include "runtime/dist/meeting.h"

namespace plimsoll::dist {
namespace {

class BySockets final : public Ranks {
 public:
  BySockets(int64_t expected, const Place& place, int64_t patience) : meeting_(expected, place, pulse_, patience) {
    rank_ = place.rank;
    size_ = place.size;
  }

  const char* engine() const override { return "TCP"; }

  void add_up(std::span<const Stretch> stretches, std::byte* workspace, int64_t workspace_bytes, void*) override {
    const Row row(stretches);
    const int64_t room = workspace_bytes / 2 / static_cast<int64_t>(sizeof(float));
    float* const sum = reinterpret_cast<float*>(workspace);
    float* const part = reinterpret_cast<float*>(workspace + workspace_bytes / 2);
    if (room == 0) throw RanksError("a reduction was planned without a workspace");
    for (int64_t first = 0; first < row.count(); first += room) {
      const int64_t count = std::min(room, row.count() - first);
      row.take(first, count, sum);
      meeting_.collect(sum, part, count * static_cast<int64_t>(sizeof(float)), [&] {
        for (int64_t i = 0; i < count; ++i) sum[i] += part[i];
      });
      meeting_.broadcast(sum, count * static_cast<int64_t>(sizeof(float)));
      row.put(first, count, sum);
    }
  }

  void broadcast(void* data, int64_t bytes) override { meeting_.broadcast(data, bytes); }
  void gather(const void* mine, int64_t bytes, void* all) override { meeting_.gather(mine, bytes, all); }
  void leave() override { meeting_.leave(); }

 private:
  Meeting meeting_;
};

}  // namespace

std::unique_ptr<Ranks> join_by_sockets(int64_t ranks, const Place& place, int64_t patience) {
  return std::make_unique<BySockets>(ranks, place, patience);
}

}  // namespace plimsoll::dist
