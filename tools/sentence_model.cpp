// Opens the files, explains what is wrong with them, and holds the memory that the encoder works in.
#include "sentence_model.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "fovea/fixed.h"
#include "minilm/smoothing.hpp"
#include "request.hpp"

namespace demo {
namespace {

std::string file_in(const std::string& folder, const char* name) { return folder + "/" + name; }

void check_opened(const minilm::mapped_file& file, const std::string& path) {
  if (file.problem().empty()) return;
  throw usage_error(
      "cannot read " + quote(path) + " (" + file.problem() +
      "): --model names a folder with model.safetensors and vocab.txt; ./dev demo --model fetches one");
}

[[noreturn]] void refuse(const std::string& path, const minilm::refusal& refused) {
  const std::string about = refused.about().empty() ? "" : ", " + quote(refused.about());
  throw usage_error("cannot use " + quote(path) + about + ": " + refused.why());
}

constexpr int most_threads = 256;
constexpr const char* not_numbers = "the weights of this model are too large, or not numbers";

} // namespace

int32_t fixed_isa_by_name(const std::string& name) {
  std::string names;
  for (int32_t isa = 1; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    if (name == fovea_fixed_isa_name(isa)) return isa;
    names += (names.empty() ? "" : ", ") + std::string(fovea_fixed_isa_name(isa));
  }
  throw usage_error("--int8-isa is " + quote(name) +
                    ", which this program cannot use on this CPU: choose one of " + names);
}

std::vector<flag> model_flags() {
  return {{"--model", "DIR", "the folder with model.safetensors and vocab.txt of all-MiniLM-L6-v2"},
          {"--int8", "", "weights and attention in int8"},
          {"--int8-attention", "", "attention alone in int8"},
          {"--threads", "N", "threads to compute with, 1 to 256 (all cores); no bit depends on it"},
          {"--isa", "NAME", "the instruction set of floats (the best of this CPU)"},
          {"--int8-isa", "NAME", "the instruction set of int8 (the best of this CPU)"},
          {"--help", "", "this text"}};
}

model_options read_model_options(const flags& given) {
  model_options asked;
  if (!given.count("--model"))
    throw usage_error("there is no model: add --model DIR, a folder with model.safetensors and vocab.txt");
  asked.folder = given.at("--model");
  asked.int8_weights = given.count("--int8") > 0;
  asked.how.int8_attention = asked.int8_weights || given.count("--int8-attention") > 0;
  if (given.count("--isa")) asked.how.isa = isa_by_name(given.at("--isa"));
  if (given.count("--int8-isa")) asked.how.fixed_isa = fixed_isa_by_name(given.at("--int8-isa"));
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
  asked.threads = static_cast<int>(whole_number(given, "--threads", cores, 1, most_threads));
  return asked;
}

model_words::model_words(const std::string& folder)
    : file_(file_in(folder, "vocab.txt")), words_(std::make_unique<minilm::vocabulary>()) {
  const std::string path = file_in(folder, "vocab.txt");
  check_opened(file_, path);
  const char* const text = reinterpret_cast<const char*>(file_.data());
  const minilm::refusal refused = words_->read({text, file_.size()});
  if (refused) refuse(path, refused);
}

sentence_model::sentence_model(const model_options& options)
    : options_(options),
      words_(options.folder),
      file_(file_in(options.folder, "model.safetensors")),
      shared_(std::make_unique<minilm::batch_space>()),
      crew_(options.threads) {
  const std::string path = file_in(options.folder, "model.safetensors");
  check_opened(file_, path);
  const int32_t dtype = options.int8_weights ? FOVEA_I8 : FOVEA_F32;
  constexpr size_t line = 64;
  const size_t bytes = minilm::model_bytes(dtype);
  memory_ = std::make_unique<std::byte[]>(bytes + line);
  void* packed = memory_.get();
  size_t room = bytes + line;
  std::align(line, bytes, packed, room);
  for (int i = 0; i < options.threads; ++i) own_.push_back(std::make_unique<minilm::worker_space>());
  const minilm::model_file file = {file_.data(), file_.size()};
  minilm::refusal refused = minilm::load(model_, file, words().size(), dtype, packed, bytes);
  if (!refused && options.int8_weights)
    refused = minilm::smooth(model_, file, words().id_of(minilm::vocabulary::begin),
                             words().id_of(minilm::vocabulary::end), options.how, *shared_, *own_[0]);
  if (refused) refuse(path, refused);
}

void sentence_model::encode(const minilm::batch& sentences, float* embeddings, const minilm::insight& seen) {
  std::vector<int32_t> status(own_.size());
  crew_.run([&](int index) {
    minilm::team workers;
    workers.part = {index, crew_.count()};
    workers.wait = [](void* context) { static_cast<crew*>(context)->wait(); };
    workers.context = &crew_;
    const auto i = static_cast<size_t>(index);
    status[i] = minilm::encode(model_, sentences, options_.how, embeddings, *shared_, *own_[i], workers,
                               seen);
  });
  for (int32_t one : status)
    if (one != FOVEA_OK)
      throw usage_error(std::string("the encoder cannot go on (") + fovea_argument_text(one) + ": " +
                        fovea_reason_text(one) + "): " + not_numbers);
  float* const end = embeddings + sentences.sentences * minilm::width;
  if (!std::all_of(embeddings, end, [](float x) { return std::isfinite(x); }))
    throw usage_error(std::string("an embedding is not a number: ") + not_numbers);
}

} // namespace demo
