// The picture in the terminal, and the two minutes that are compared.
#include <algorithm>

#include "sustained.hpp"

namespace bench {
namespace {

// The mean of what is known, 0 without anything.
double mean(const std::vector<moment>& all, double from, double to, double (*value)(const moment&)) {
  double sum = 0;
  int count = 0;
  for (const moment& m : all) {
    if (m.second <= from || m.second > to || value(m) <= 0) continue;
    sum += value(m);
    ++count;
  }
  return count ? sum / count : 0;
}

moment mean_of(const std::vector<moment>& all, double from, double to) {
  return {to,
          mean(all, from, to, [](const moment& m) { return m.gflops; }),
          {mean(all, from, to, [](const moment& m) { return m.at.clock_mhz; }),
           mean(all, from, to, [](const moment& m) { return m.at.temperature_c; })}};
}

} // namespace

endurance endurance_of(const std::vector<moment>& all) {
  if (all.empty()) return {};
  const double end = all.back().second, stretch = std::min(60.0, end / 2);
  return {mean_of(all, 0, stretch), mean_of(all, end - stretch, end)};
}

std::string bars(const std::vector<double>& values, size_t columns, bool utf8) {
  constexpr const char* blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                    "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr const char* letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  std::vector<double> means;
  columns = std::min(columns, values.size());
  for (size_t column = 0; column < columns; ++column) {
    double sum = 0;
    int count = 0;
    for (size_t i = column * values.size() / columns; i < (column + 1) * values.size() / columns; ++i)
      if (values[i] > 0) sum += values[i], ++count;
    means.push_back(count ? sum / count : 0);
  }
  double least = 0, most = 0;
  for (double m : means) {
    if (m > 0 && (least == 0 || m < least)) least = m;
    most = std::max(most, m);
  }
  least = std::min(least, 0.9 * most); // noise of a percent is not to fill the height
  std::string text;
  for (double m : means) {
    const size_t height = m > 0 ? static_cast<size_t>(7.999 * (m - least) / (most - least)) : 0;
    text += m <= 0 ? "?" : utf8 ? blocks[height] : letters[height];
  }
  return text;
}

} // namespace bench
