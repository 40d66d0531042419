// Opens the files of a story model, explains what is wrong with them, and holds the memory of a decoder.
#include "story_model.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "fovea/fixed.h"
#include "stories/llama.hpp"

namespace demo {
namespace {

constexpr const char* model_name = "stories260K.bin";
constexpr const char* words_name = "tok512.bin";
constexpr const char* config_name = "config.json";
constexpr const char* tensors_name = "model.safetensors";

std::string file_in(const std::string& folder, const char* name) { return folder + "/" + name; }

void check_opened(const minilm::mapped_file& file, const std::string& path) {
  if (file.problem().empty()) return;
  throw usage_error(
      "cannot read " + quote(path) + " (" + file.problem() +
      "): --model names a folder with stories260K.bin and tok512.bin (./dev stories fetches one), or with "
      "config.json and model.safetensors");
}

[[noreturn]] void refuse(const std::string& path, const minilm::refusal& refused) {
  const std::string about(refused.about());
  throw usage_error("cannot use " + quote(path) + ": " + (about.empty() ? "" : quote(about) + ": ") +
                    refused.why());
}

} // namespace

aligned_bytes::aligned_bytes(uint64_t size) : size_(static_cast<size_t>(size)) {
  constexpr size_t line = stories::image_align;
  if (size <= std::numeric_limits<size_t>::max() - line)
    memory_.reset(new (std::nothrow) unsigned char[size_ + line]());
  if (!memory_)
    throw usage_error(
        format("this machine does not give %.0f MB of memory: take a smaller model, or fewer tokens",
               static_cast<double>(size) / 1e6));
  void* data = memory_.get();
  size_t room = size_ + line;
  std::align(line, size_, data, room);
  data_ = static_cast<unsigned char*>(data);
}

story_files::story_files(const std::string& folder, int32_t dtype) {
  if (minilm::mapped_file(file_in(folder, config_name)).problem().empty())
    read_llama(folder, dtype);
  else
    read_llama2c(folder, dtype);
}

void story_files::read_llama2c(const std::string& folder, int32_t dtype) {
  const std::string path = file_in(folder, model_name), words_path = file_in(folder, words_name);
  const minilm::mapped_file file(path);
  check_opened(file, path);
  stories::model_file given;
  minilm::refusal refused = stories::read_llama2c(file.data(), file.size(), given);
  if (refused) refuse(path, refused);
  words_file_ = std::make_unique<minilm::mapped_file>(words_path);
  check_opened(*words_file_, words_path);
  index_.resize(2 * static_cast<size_t>(given.of.words));
  refused = words_.read(words_file_->data(), words_file_->size(), given.of.words, index_.data());
  if (refused) refuse(words_path, refused);
  pack(given, dtype, path);
}

void story_files::read_llama(const std::string& folder, int32_t dtype) {
  const std::string config_path = file_in(folder, config_name), path = file_in(folder, tensors_name);
  const minilm::mapped_file config(config_path), file(path);
  check_opened(file, path);
  stories::llama_files files;
  minilm::refusal refused = files.read_config({reinterpret_cast<const char*>(config.data()), config.size()});
  if (refused) refuse(config_path, refused);
  refused = files.read_tensors(file.data(), file.size());
  if (refused) refuse(path, refused);
  pack(files.file(), dtype, path);
}

void story_files::pack(const stories::model_file& file, int32_t dtype, const std::string& path) {
  image_ = std::make_unique<aligned_bytes>(stories::image_size(file.of, dtype));
  minilm::refusal refused = stories::pack_image(file, dtype, image_->data(), image_->size());
  if (!refused) refused = stories::open_image(image_->data(), image_->size(), model_);
  if (refused) refuse(path, refused);
}

std::vector<int32_t> story_files::tokens_of(const std::string& prompt) const {
  constexpr size_t most_letters = 1 << 20;
  if (prompt.size() > most_letters) throw usage_error("--prompt is longer than a million bytes: shorten it");
  std::vector<int32_t> ids(prompt.size() + 2);
  ids.resize(static_cast<size_t>(words_.encode(prompt, ids.data(), static_cast<int32_t>(ids.size()))));
  return ids;
}

void story_files::check_tokens(const std::vector<int32_t>& prompt, int64_t more) const {
  const int64_t positions = model_.of.positions;
  const int64_t needed = static_cast<int64_t>(prompt.size()) - 1 + more;
  if (prompt.size() == 1 && needed > positions)
    throw usage_error(format("the model has positions for %lld tokens: ask for fewer with --tokens",
                             static_cast<long long>(positions)));
  if (needed > positions)
    throw usage_error(format(
        "the prompt has %lld tokens, and %lld are to follow, but the model has %lld positions: shorten the "
        "prompt, or ask for fewer with --tokens",
        static_cast<long long>(prompt.size() - 1), static_cast<long long>(more),
        static_cast<long long>(positions)));
  for (int32_t id : prompt)
    if (id >= model_.of.words)
      throw usage_error(
          format("token %d is none of the model: its tokens are 0 to %d", id, model_.of.words - 1));
}

story_decoder::story_decoder(const stories::model& m, int32_t tokens, const stories::arithmetic& how,
                             int threads, int32_t cache)
    : caches_(stories::caches_size(m.of, tokens, cache)),
      numbers_(stories::numbers_size(m.of, rows)),
      decoder_(m, {caches_.data(), numbers_.data(), tokens, rows, cache}, how),
      logits_(static_cast<size_t>(m.of.words)),
      crew_(threads) {
  for (int i = 0; i < threads; ++i)
    scratch_.push_back(std::make_unique<aligned_bytes>(stories::scratch_size(m.of, rows, cache)));
}

void story_decoder::check(int32_t status) const {
  if (status == FOVEA_OK) return;
  throw usage_error(std::string("the decoder cannot go on (") + fovea_argument_text(status) + ": " +
                    fovea_reason_text(status) + "): the weights of this model are too large");
}

void story_decoder::begin() { check(decoder_.begin()); }

float* story_decoder::read(const int32_t* ids, int32_t count) {
  std::vector<int32_t> status(scratch_.size());
  for (int32_t at = 0; at < count; at += rows) {
    const int32_t now = std::min(rows, count - at), wanted = at + now == count;
    crew_.run([&](int index) {
      stories::team workers;
      workers.part = {index, crew_.count()};
      workers.wait = [](void* context) { static_cast<crew*>(context)->wait(); };
      workers.context = &crew_;
      const auto i = static_cast<size_t>(index);
      status[i] = decoder_.run(ids + at, now, wanted, logits_.data(), scratch_[i]->data(), workers);
    });
    for (int32_t one : status) check(one);
  }
  fovea_rows_in logits = {};
  logits.data = logits_.data();
  if (!stories::all_finite(logits, logits_.size()))
    throw usage_error("a logit is not a number: the weights of this model are too large");
  return logits_.data();
}

std::vector<flag> story_model_flags() {
  return {{"--model", "DIR", "a folder of llama2.c or of transformers (../shared/models/stories260K)"},
          {"--int8", "", "weights in int8"},
          {"--int4", "", "weights in int4, the classifier in int8; of small models W_O, W_1, W_3 only"}};
}

std::string story_folder(const flags& given) {
  return given.count("--model") ? given.at("--model") : "../shared/models/stories260K";
}

int32_t story_dtype(const flags& given) {
  if (given.count("--int8") && given.count("--int4"))
    throw usage_error("--int8 and --int4 exclude each other: keep one of them");
  return given.count("--int8") ? FOVEA_I8 : given.count("--int4") ? FOVEA_I4 : FOVEA_F32;
}

} // namespace demo
