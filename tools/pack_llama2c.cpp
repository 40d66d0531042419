// A whole model of llama2.c: the image that examples/stories opens, its tokenizer, caches of a prompt, and
// the first tokens that it writes.
#include <algorithm>

#include "c_header.hpp"
#include "matrix.hpp"
#include "output.hpp"
#include "pack.hpp"
#include "story_model.hpp"
#include "table.hpp"

namespace demo {
namespace {

constexpr int32_t golden_tokens = 8;

std::string count_text(uint64_t count) { return std::to_string(count); }

[[noreturn]] void refuse(const std::string& path, const minilm::refusal& refused) {
  throw usage_error("cannot use " + quote(path) + ": " + refused.why());
}

class model_packer {
 public:
  model_packer(const minilm::mapped_file& file, const pack_wish& wish, const flags& given)
      : wish_(wish), given_(given) {
    stories::model_file model;
    minilm::refusal refused = stories::read_llama2c(file.data(), file.size(), model);
    if (refused) refuse(wish.file, refused);
    image_ = std::make_unique<aligned_bytes>(stories::image_size(model.of, wish.dtype));
    refused = stories::pack_image(model, wish.dtype, image_->data(), image_->size());
    if (!refused) refused = stories::open_image(image_->data(), image_->size(), model_);
    if (refused) refuse(wish.file, refused);
  }

  std::string run() {
    constexpr uint64_t most_bytes = 1 << 26; // a compiler takes minutes for more
    if (!wish_.header.empty() && wish_.image.empty() && image_->size() > most_bytes)
      throw usage_error("a header of more than 64 MB is too much for a compiler: add --image weights.bin");
    c_header header("Packed by fovea pack: a model of examples/stories.");
    table t{"", {"what", "bytes"}, {{"model", count_text(image_->size())}}, "lr"};
    define_shape(header);
    add_words(header, t);
    add_prompt(header, t);
    if (wish_.golden) add_golden(header);
    // Last: nothing here reads these.
    if (wish_.helium) stories::reorder_for_helium(image_->data(), image_->size());
    if (wish_.smlad) stories::arrange_for_smlad(image_->data(), image_->size());
    if (wish_.image.empty()) header.words(wish_.name + "_model", image_->data(), image_->size());
    std::vector<output_file> files;
    if (!wish_.image.empty())
      files.push_back({wish_.image, {reinterpret_cast<const char*>(image_->data()), image_->size()}});
    if (!wish_.header.empty()) files.push_back({wish_.header, header.text()});
    write_whole(files);
    std::string text;
    for (const std::string& line : table_lines(t, 100)) text += line + "\n";
    return to_ascii(text);
  }

 private:
  int32_t cache() const { return given_.count("--int8-cache") ? int32_t{FOVEA_I8} : int32_t{FOVEA_F32}; }

  std::string macro(const char* end) const { return in_capitals(wish_.name) + end; }

  void define_shape(c_header& header) const {
    const stories::shape& s = model_.of;
    header.define(macro("_SHAPE"), format("{%d, %d, %d, %d, %d, %d, %d, %d}", s.width, s.hidden, s.layers,
                                          s.heads, s.kv_heads, s.words, s.positions, s.own_classifier));
    header.define(macro("_CACHE"), cache() == FOVEA_I8 ? "FOVEA_I8" : "FOVEA_F32");
    header.define(macro("_MODEL_BYTES"), count_text(image_->size()));
  }

  void add_words(c_header& header, table& t) {
    if (!given_.count("--words")) return;
    const std::string& path = given_.at("--words");
    words_file_ = std::make_unique<minilm::mapped_file>(path);
    if (!words_file_->problem().empty())
      throw usage_error("cannot read " + quote(path) + " (" + words_file_->problem() +
                        "): --words names tok512.bin");
    index_.resize(2 * static_cast<size_t>(model_.of.words));
    const minilm::refusal refused = words_.read(words_file_->data(), words_file_->size(), model_.of.words,
                                                index_.data());
    if (refused) refuse(path, refused);
    header.define(macro("_WORDS_BYTES"), count_text(words_file_->size()));
    header.words(wish_.name + "_words", words_file_->data(), words_file_->size());
    t.rows.push_back({"tokenizer", count_text(words_file_->size())});
  }

  // All tokens of the prompt but the last are in the caches; with the last one the story goes on.
  void add_prompt(c_header& header, table& t) {
    if (!given_.count("--prompt")) return;
    const std::string& prompt = given_.at("--prompt");
    if (prompt.empty() || prompt.size() > 65536)
      throw usage_error("--prompt is empty, or longer than 65,536 bytes");
    std::vector<int32_t> ids(prompt.size() + 2);
    const int32_t count = words_.encode(prompt, ids.data(), static_cast<int32_t>(ids.size()));
    if (count < 2 || count > model_.of.positions)
      throw usage_error(format("the prompt has %d tokens: give one of 2 to %d", count, model_.of.positions));
    story_decoder decoder(model_, count - 1, {}, 1, cache());
    decoder.begin();
    decoder.read(ids.data(), count - 1);
    header.define(macro("_PROMPT_TOKENS"), std::to_string(count - 1));
    header.define(macro("_PROMPT_LAST"), std::to_string(ids[static_cast<size_t>(count - 1)]));
    header.words(wish_.name + "_prompt", decoder.caches(), decoder.caches_size());
    t.rows.push_back({format("caches of %d tokens", count - 1), count_text(decoder.caches_size())});
  }

  void add_golden(c_header& header) {
    const int32_t tokens = std::min(golden_tokens, model_.of.positions);
    story_decoder decoder(model_, tokens, {}, 1, cache());
    decoder.begin();
    stories::sampler likeliest;
    int32_t id = stories::begin_of_text;
    uint64_t digest = fnv1a("");
    std::string ids;
    for (int32_t i = 0; i < tokens; ++i) {
      const float* const logits = decoder.read(&id, 1);
      const size_t bytes = sizeof(float) * static_cast<size_t>(model_.of.words);
      digest = fnv1a({reinterpret_cast<const char*>(logits), bytes}, digest);
      likeliest.choose(const_cast<float*>(logits), model_.of.words, id);
      ids += format(i ? ", %d" : "%d", id);
    }
    header.line(
        "/* Read token 1, then each token that was the likeliest: the tokens, and FNV-1a over the bits of "
        "all "
        "logits. */");
    header.define(macro("_GOLDEN_TOKENS"), "{" + ids + "}");
    header.define(macro("_GOLDEN_COUNT"), std::to_string(tokens));
    header.define(macro("_GOLDEN_DIGEST"), format("0x%016llxu", static_cast<unsigned long long>(digest)));
  }

  const pack_wish& wish_;
  const flags& given_;
  std::unique_ptr<aligned_bytes> image_;
  std::unique_ptr<minilm::mapped_file> words_file_;
  stories::model model_;
  stories::vocabulary words_;
  std::vector<uint32_t> index_;
};

} // namespace

std::string pack_llama2c(const minilm::mapped_file& file, const pack_wish& wish, const flags& given) {
  return model_packer(file, wish, given).run();
}

} // namespace demo
