// Where marks and words of a picture go so that none hides another.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

struct box {
  double left, top, right, bottom;
  bool meets(const box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class places {
 public:
  bool is_free(const box& wanted) const {
    for (const box& b : taken_)
      if (b.meets(wanted)) return false;
    return true;
  }
  void take(const box& b) { taken_.push_back(b); }

  // The x of a mark at height y that is nearest to `x` and free; it is taken then.
  double take_mark(double x, double y) {
    constexpr int most_steps = 80;
    for (int step = 0; step <= most_steps; ++step) {
      const double at = x + mark_step * ((step + 1) / 2) * (step % 2 ? 1 : -1);
      if (step < most_steps && !is_free(mark_at(at, y))) continue;
      take(mark_at(at, y));
      return at;
    }
    return x; // never reached: the last step takes what it finds
  }

  struct spot {
    double x, y; // where a word begins, its baseline
    bool far;    // away from its mark, so a line joins them
  };

  // A free place for a word of that width near the mark at x, y; it is taken then.
  spot take_word(double x, double y, double width) {
    constexpr double height = 9;
    for (double distance = 6; distance < 120; distance += 5) {
      const double ys[] = {0, -distance, distance, -distance / 2, distance / 2};
      for (double dy : ys)
        for (double at : {x + distance, x - distance - width}) {
          const box wanted = {at, y + dy - height / 2, at + width, y + dy + height / 2};
          if (!is_free(wanted)) continue;
          take(wanted);
          return {at, y + dy + 3.5, distance > 12};
        }
    }
    return {x + 6, y + 3.5, false};
  }

 private:
  static constexpr double mark_half = 4.2, mark_step = 2.1;
  static box mark_at(double x, double y) {
    return {x - mark_half, y - mark_half, x + mark_half, y + mark_half};
  }

  std::vector<box> taken_;
};

} // namespace bench
