// Letters are normalised one by one and gathered as a word; a complete word is cut into the longest tokens
// that the vocabulary has, from left to right.
#include "tokenizer.hpp"

#include <algorithm>
#include <cstring>

#include "unicode.hpp"
#include "utf8.hpp"

namespace minilm {
namespace {

constexpr std::string_view continuation = "##";
constexpr int longest_word = 100; // letters; a longer word is unknown

uint32_t hash_of(std::string_view letters, bool continues) {
  uint32_t hash = continues ? 0x9E3779B9u : 0x811C9DC5u; // FNV-1a, begun in two ways
  for (char letter : letters) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193u;
  return hash ^ hash >> 15;
}

bool is_continuation(std::string_view word) {
  return word.size() > continuation.size() && word.substr(0, continuation.size()) == continuation;
}

} // namespace

std::string_view vocabulary::word(int32_t id) const { return text_.substr(begins_[id], lengths_[id]); }

refusal vocabulary::read(std::string_view text) {
  text_ = text;
  longest_ = 0;
  size_ = 0;
  std::fill(std::begin(ids_), std::end(ids_), free_slot);
  if (text.size() > UINT32_MAX) return {"the vocabulary is larger than 4 GB", {}};
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, line_end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (size_ == most_words) return {"the vocabulary has more than 32,768 tokens", {}};
    if (line.size() > UINT8_MAX) return {"a token is longer than 255 bytes", line};
    const bool continues = is_continuation(line);
    const std::string_view letters = continues ? line.substr(continuation.size()) : line;
    if (find(letters, continues) >= 0) return {"a token stands twice in the vocabulary", line};
    begins_[size_] = static_cast<uint32_t>(at);
    lengths_[size_] = static_cast<uint8_t>(line.size());
    longest_ = std::max(longest_, letters.size());
    uint32_t slot = hash_of(letters, continues) % slots;
    while (ids_[slot] != free_slot) slot = (slot + 1) % slots;
    ids_[slot] = static_cast<uint16_t>(size_++);
    at = line_end + 1;
  }
  for (int i = 0; i < specials; ++i) {
    special_ids_[i] = find(special_names[i], false);
    if (special_ids_[i] < 0) return {"the vocabulary lacks a token that the model needs", special_names[i]};
  }
  return {};
}

int32_t vocabulary::find(std::string_view letters, bool continues) const {
  for (uint32_t slot = hash_of(letters, continues) % slots; ids_[slot] != free_slot;
       slot = (slot + 1) % slots) {
    const std::string_view found = word(ids_[slot]);
    if (is_continuation(found) != continues) continue;
    if ((continues ? found.substr(continuation.size()) : found) == letters) return ids_[slot];
  }
  return -1;
}

namespace {

class line_reader {
 public:
  line_reader(const vocabulary& words, token_row& row) : words_(words), row_(row) {}

  void read(std::string_view line) {
    row_.count = 0;
    row_.is_cut = false;
    row_.ids[row_.count++] = words_.id_of(vocabulary::begin);
    const char* at = line.data();
    const char* const end = at + line.size();
    while (at != end && !row_.is_cut) at += take(at, end);
    end_word();
    row_.ids[row_.count++] = words_.id_of(vocabulary::end);
  }

 private:
  // One code point or special token; returns its bytes.
  int take(const char* at, const char* end) {
    for (int i = 0; *at == '[' && i < vocabulary::specials; ++i) {
      const std::string_view name = vocabulary::special_names[i];
      if (static_cast<size_t>(end - at) < name.size() || std::memcmp(at, name.data(), name.size()) != 0)
        continue;
      end_word();
      add_token(words_.id_of(static_cast<vocabulary::special>(i)));
      return static_cast<int>(name.size());
    }
    const code_point one = first_code_point(at, end);
    if (one.code < 0x80)
      take_ascii(one.code);
    else if (one.code != not_utf8)
      take_other(one.code);
    return one.bytes;
  }

  void take_ascii(uint32_t code) {
    const bool capital = 'A' <= code && code <= 'Z';
    const bool plain = capital || ('a' <= code && code <= 'z') || ('0' <= code && code <= '9');
    if (plain)
      add_letter(capital ? code + 32 : code);
    else if (code == ' ' || code == '\t' || code == '\n' || code == '\r')
      end_word();
    else if (code > ' ' && code < 0x7F)
      add_alone(code);
  }

  void take_other(uint32_t code) {
    const normal_form form = normalise(code);
    if (form.is_blank) end_word();
    for (int i = 0; i < form.count; ++i)
      if (form.is_ideograph || is_punctuation(form.codes[i]))
        add_alone(form.codes[i]);
      else
        add_letter(form.codes[i]);
  }

  void add_alone(uint32_t code) {
    end_word();
    add_letter(code);
    end_word();
  }

  void add_letter(uint32_t code) {
    if (letters_ < longest_word) bytes_ += static_cast<size_t>(write_utf8(code, word_ + bytes_));
    letters_ = std::min(letters_ + 1, longest_word + 1);
  }

  void end_word() {
    if (letters_ > longest_word)
      add_token(words_.id_of(vocabulary::unknown));
    else if (letters_ > 0)
      add_pieces({word_, bytes_});
    letters_ = 0;
    bytes_ = 0;
  }

  // All of the word or [UNK]: its tokens are known only when the last of them is found.
  void add_pieces(std::string_view word) {
    int32_t pieces[longest_word * 4]; // a hostile vocabulary may cut letters into bytes
    int count = 0;
    for (size_t from = 0; from < word.size(); ++count) {
      size_t bytes = std::min(word.size() - from, words_.longest());
      while (bytes > 0 && (pieces[count] = words_.find(word.substr(from, bytes), from > 0)) < 0) --bytes;
      if (bytes == 0) return add_token(words_.id_of(vocabulary::unknown));
      from += bytes;
    }
    for (int i = 0; i < count; ++i) add_token(pieces[i]);
  }

  void add_token(int32_t id) {
    if (row_.count == most_tokens - 1) // the last place is that of [SEP]
      row_.is_cut = true;
    else
      row_.ids[row_.count++] = id;
  }

  const vocabulary& words_;
  token_row& row_;
  char word_[longest_word * 4];
  size_t bytes_ = 0;
  int letters_ = 0;
};

} // namespace

void tokenize(const vocabulary& words, std::string_view line, token_row& row) {
  line_reader(words, row).read(line);
}

} // namespace minilm
