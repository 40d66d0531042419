// `fovea attend`: attention on .npy files, with every option of a call as a flag, for those who check another
// implementation.
#include <algorithm>
#include <optional>

#include "arguments.hpp"
#include "commands.hpp"
#include "fovea/fovea.h"
#include "npy.hpp"
#include "output.hpp"
#include "page.hpp"
#include "request.hpp"
#include "svg.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

std::vector<flag> attend_flags() {
  return {
      {"--q", "FILE", "queries, [heads][queries][dim], or [queries][dim] of one head"},
      {"--k", "FILE", "keys, [kv heads][keys][dim]"},
      {"--v", "FILE", "values, [kv heads][keys][v_dim]"},
      {"--mask", "FILE", "[queries][keys] or [heads][queries][keys]: bool, true = seen; or floats to add"},
      {"--out", "FILE", "writes the output, [heads][queries][v_dim]"},
      {"--weights", "FILE", "writes the softmax weights, [heads][queries][keys]"},
      {"--stage", "N", "of --weights: 1 scaled scores, 2 after softcap, 3 after bias (0: weights)"},
      {"--lse", "FILE", "writes the log-sum-exp, [heads][queries]"},
      {"--draw", "", "draws the weights"},
      {"--svg", "FILE", "draws them into this file"},
      {"--causal", "", "a query sees no key behind its position"},
      {"--position", "N", "of query 0 among the keys (the queries are the last keys)"},
      {"--window-left", "N", "keys before its position that a query sees (all)"},
      {"--window-right", "N", "keys behind its position that a query sees (all)"},
      {"--prefix", "N", "keys that all queries see"},
      {"--keep-first", "N", "first keys that are seen outside the window"},
      {"--first-key", "N", "position of the first key"},
      {"--scale", "X", "what scores are multiplied by (1 / sqrt(dim))"},
      {"--softcap", "X", "scores become X tanh(score / X)"},
      {"--alibi", "FILE", "slopes, [heads]"},
      {"--sinks", "FILE", "logits without a key, [heads]"},
      {"--isa", "NAME", "computes with this instruction set (the best of this CPU)"},
      {"--plain", "", "ASCII only, no colours"},
      {"--color", "", "colours, also where the output is no terminal"},
      {"--help", "", "this text"}};
}

int32_t signed_number(const flags& given, const std::string& name) {
  const std::string& text = given.at(name);
  const bool minus = !text.empty() && text[0] == '-';
  const int64_t value = whole_number(name, minus ? text.substr(1) : text, 0, INT32_MAX);
  return static_cast<int32_t>(minus ? -value : value);
}

struct heads_of_rows {
  int32_t heads = 1, rows = 0, columns = 0;
  std::vector<float> numbers;
};

heads_of_rows read_heads(const flags& given, const std::string& name) {
  if (!given.count(name)) throw usage_error(name + " is missing: --q, --k and --v name .npy files");
  npy_array a = read_npy(name, given.at(name));
  if (!a.is_float()) throw usage_error(name + " is not of floats: save float32, float16 or float64");
  if (a.shape.size() != 2 && a.shape.size() != 3)
    throw usage_error(name + " has the shape " + shape_text(a.shape) +
                      ": give [heads][tokens][dim] or [tokens][dim]");
  heads_of_rows h;
  if (a.shape.size() == 3) h.heads = a.shape[0];
  h.rows = a.shape[a.shape.size() - 2];
  h.columns = a.shape.back();
  h.numbers = std::move(a.numbers);
  return h;
}

std::vector<float> read_per_head(const flags& given, const std::string& name, int32_t heads) {
  if (!given.count(name)) return {};
  npy_array a = read_npy(name, given.at(name));
  if (!a.is_float() || a.shape.size() != 1 || a.shape[0] != heads)
    throw usage_error(name + " has the shape " + shape_text(a.shape) +
                      format(": give %d floats, one for each head", heads));
  return std::move(a.numbers);
}

// The call, and the memory that it points into.
class attention_on_files {
 public:
  explicit attention_on_files(const flags& given)
      : q_(read_heads(given, "--q")), k_(read_heads(given, "--k")), v_(read_heads(given, "--v")) {
    check_shapes();
    call_.q.data = q_.numbers.data();
    call_.k.data = k_.numbers.data();
    call_.v.data = v_.numbers.data();
    call_.q_heads = q_.heads;
    call_.kv_heads = k_.heads;
    call_.dim = q_.columns;
    call_.v_dim = v_.columns;
    call_.queries = q_.rows;
    call_.keys = k_.rows;
    read_options(given);
    read_mask(given);
    out_.resize(rows() * static_cast<size_t>(v_.columns));
    call_.out.data = out_.data();
    if (given.count("--lse")) {
      lse_.resize(rows());
      call_.lse = lse_.data();
    }
    if (given.count("--weights") || given.count("--draw") || given.count("--svg")) {
      weights_.resize(rows() * static_cast<size_t>(k_.rows));
      call_.weights.data = weights_.data();
      call_.weights.stage = static_cast<int32_t>(whole_number(given, "--stage", 0, 0, 3));
    }
  }

  void run() {
    std::vector<unsigned char> scratch(fovea_scratch_best(&call_));
    const int32_t status = fovea_attend(&call_, scratch.data(), scratch.size());
    if (status != FOVEA_OK)
      throw usage_error(std::string("fovea_attend refuses the call: ") + fovea_argument_text(status) + ", " +
                        fovea_reason_text(status));
  }

  std::string out_file() const { return npy_text({q_.heads, q_.rows, v_.columns}, out_); }
  std::string lse_file() const { return npy_text({q_.heads, q_.rows}, lse_); }
  std::string weights_file() const { return npy_text({q_.heads, q_.rows, k_.rows}, weights_); }

  std::vector<heat_map> maps() const {
    constexpr int32_t most = 64;
    if (q_.rows > most || k_.rows > most || q_.heads > 16 || q_.rows < 1 || k_.rows < 1)
      throw usage_error(
          format("%d heads of %d queries and %d keys cannot be drawn: give 1 to 64 queries and keys and at "
                 "most 16 heads, or write --weights",
                 q_.heads, q_.rows, k_.rows));
    std::vector<heat_map> all;
    for (int32_t h = 0; h < q_.heads; ++h) {
      heat_map map{format("head %d", h), {}, {}, matrix(q_.rows, k_.rows)};
      for (int32_t i = 0; i < q_.rows; ++i) map.queries.push_back(format("q%d", i));
      for (int32_t j = 0; j < k_.rows; ++j) map.keys.push_back(format("k%d", call_.first_key + j));
      const size_t size = map.weights.values.size();
      std::copy_n(weights_.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(h) * size), size,
                  map.weights.values.begin());
      all.push_back(map);
    }
    return all;
  }

 private:
  size_t rows() const { return static_cast<size_t>(q_.heads) * static_cast<size_t>(q_.rows); }

  void check_shapes() const {
    if (q_.columns != k_.columns)
      throw usage_error(
          format("rows of q have %d numbers, those of k %d: they must be equal", q_.columns, k_.columns));
    if (k_.heads != v_.heads || k_.rows != v_.rows)
      throw usage_error("k and v have not the same heads and keys: save them in the same order of axes");
    if (k_.heads < 1 || q_.heads % k_.heads != 0)
      throw usage_error(
          format("q has %d heads, which is no multiple of the %d of k and v", q_.heads, k_.heads));
  }

  void read_options(const flags& given) {
    if (given.count("--causal")) call_.flags |= FOVEA_CAUSAL;
    if (given.count("--position")) {
      call_.flags |= FOVEA_POSITION;
      call_.position = signed_number(given, "--position");
    }
    if (given.count("--window-left") || given.count("--window-right")) {
      call_.flags |= FOVEA_WINDOW;
      call_.window_left = static_cast<int32_t>(whole_number(given, "--window-left", -1, 0, INT32_MAX));
      call_.window_right = static_cast<int32_t>(whole_number(given, "--window-right", -1, 0, INT32_MAX));
    }
    call_.prefix = static_cast<int32_t>(whole_number(given, "--prefix", 0, 0, INT32_MAX));
    call_.keep_first = static_cast<int32_t>(whole_number(given, "--keep-first", 0, 0, INT32_MAX));
    call_.first_key = static_cast<int32_t>(whole_number(given, "--first-key", 0, 0, INT32_MAX));
    if (given.count("--scale")) {
      call_.flags |= FOVEA_SCALE;
      call_.scale = static_cast<float>(real_number(given, "--scale", 0, -1e30, 1e30));
    }
    call_.softcap = static_cast<float>(real_number(given, "--softcap", 0, 0, 1e30));
    if (given.count("--isa")) call_.isa = isa_by_name(given.at("--isa"));
    alibi_ = read_per_head(given, "--alibi", q_.heads);
    sinks_ = read_per_head(given, "--sinks", q_.heads);
    call_.alibi = alibi_.empty() ? nullptr : alibi_.data();
    call_.sinks = sinks_.empty() ? nullptr : sinks_.data();
  }

  void read_mask(const flags& given) {
    if (!given.count("--mask")) return;
    mask_ = read_npy("--mask", given.at("--mask"));
    const std::vector<int32_t> one = {q_.rows, k_.rows}, each = {q_.heads, q_.rows, k_.rows};
    if (mask_.shape != one && mask_.shape != each)
      throw usage_error("--mask has the shape " + shape_text(mask_.shape) + ": give " + shape_text(one) +
                        " or " + shape_text(each));
    call_.mask.is_bias = mask_.is_float();
    call_.mask.data = mask_.is_float() ? static_cast<const void*>(mask_.numbers.data()) : mask_.bytes.data();
    call_.mask.query_stride = k_.rows;
    call_.mask.head_stride = mask_.shape == each ? static_cast<ptrdiff_t>(q_.rows) * k_.rows : 0;
  }

  heads_of_rows q_, k_, v_;
  npy_array mask_;
  std::vector<float> alibi_, sinks_, out_, lse_, weights_;
  fovea_attention call_ = {};
};

void check_wishes(const flags& given) {
  const bool drawn = given.count("--draw") || given.count("--svg");
  if (!drawn && !given.count("--out") && !given.count("--weights") && !given.count("--lse"))
    throw usage_error("nothing would be written: add --out FILE, --weights FILE, --lse FILE or --draw");
  if (given.count("--stage") && !given.count("--weights"))
    throw usage_error("--stage is of the weights: add --weights FILE");
  if (drawn && given.count("--stage")) throw usage_error("scores cannot be drawn: leave out --stage");
  if (given.count("--plain") && given.count("--color"))
    throw usage_error("--plain and --color exclude each other: keep one of them");
}

} // namespace

int run_attend(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, attend_flags(), "fovea attend");
  if (given.count("--help")) {
    print(
        "fovea attend [flags]\n\nAttention on arrays that numpy.save wrote. The flags are the fields of "
        "fovea_attention.\n\n" +
        flags_help(attend_flags()) +
        "\n  fovea attend --q q.npy --k k.npy --v v.npy --causal --out out.npy --draw\n");
    return 0;
  }
  check_wishes(given);
  attention_on_files work(given);
  work.run();
  const bool drawn = given.count("--draw") || given.count("--svg");
  const std::vector<heat_map> maps = drawn ? work.maps() : std::vector<heat_map>();
  std::vector<output_file> files;
  if (given.count("--out")) files.push_back({given.at("--out"), work.out_file()});
  if (given.count("--weights")) files.push_back({given.at("--weights"), work.weights_file()});
  if (given.count("--lse")) files.push_back({given.at("--lse"), work.lse_file()});
  if (given.count("--svg")) files.push_back({given.at("--svg"), svg_document({maps}, "Attention weights")});
  write_whole(files);
  if (!given.count("--draw")) return 0;
  const terminal shown = terminal_of_output(given.count("--plain") > 0, given.count("--color") > 0);
  page out(shown.width, shown.colour);
  out.show(maps);
  print(shown.utf8 ? out.text() : to_ascii(out.text()));
  return 0;
}

} // namespace demo
