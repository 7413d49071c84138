#include "compiler/papers/dymem.h"

#include "compiler/papers/superneurons.h"

namespace plimsoll {

Result<TaskGraph> dymem_graph(const Network& network, int64_t batch) { return superneurons_graph(network, batch); }

void count_as_dymem(Plan& plan) {
  count_as_superneurons(plan);
  plan.rules = "dymem";
}

}  // namespace plimsoll
