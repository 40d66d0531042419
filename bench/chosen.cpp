// Filters the tables of works by name and by length.
#include "chosen.hpp"

#include <algorithm>

namespace bench {
namespace {

double flops_of(const work& w) { return w.flops(); }
double flops_of(const row_work& w) { return 10 * w.elements(); } // about what softmax and quantising take
double flops_of(const linear_work& w) { return w.flops(); }

template <class Work>
size_t leave_out(std::vector<Work>& works, double most) {
  const size_t before = works.size();
  if (most > 0)
    works.erase(std::remove_if(works.begin(), works.end(), [&](const Work& w) { return flops_of(w) > most; }),
                works.end());
  return before - works.size();
}

} // namespace

chosen_works works_of(const options& o) {
  chosen_works found{works_with(o.filter), row_works_with(o.filter), linear_works_with(o.filter), 0};
  found.left_out = leave_out(found.attention, o.most_flops) + leave_out(found.rows, o.most_flops) +
                   leave_out(found.products, o.most_flops);
  return found;
}

} // namespace bench
