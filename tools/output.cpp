// A file is moved into place when complete, so nobody ever finds half of it.
#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sentence.hpp"

namespace demo {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw usage_error("cannot write " + quote(path) + " (" + why +
                    "): name a file in a folder that you may write to");
}

// A file that may not be written is not replaced either.
void check_writable(const fs::path& target, const std::string& path) {
  std::error_code problem;
  if (!fs::exists(target, problem)) return;
  std::FILE* const stream = std::fopen(target.string().c_str(), "rb+");
  if (!stream) refuse(path, std::strerror(errno));
  std::fclose(stream);
}

// The stream is closed in any case.
void write_or_refuse(std::FILE* stream, const output_file& file) {
  if (!stream) refuse(file.path, std::strerror(errno));
  errno = 0;
  const bool written = std::fwrite(file.text.data(), 1, file.text.size(), stream) == file.text.size();
  const bool closed = std::fclose(stream) == 0;
  if (!written || !closed) refuse(file.path, std::strerror(errno));
}

// What a path leads to. Symbolic links stay: the file behind them is written.
fs::path target_of(const std::string& path) {
  std::error_code problem;
  const fs::path target = fs::is_symlink(path, problem) ? fs::canonical(path, problem) : fs::path(path);
  if (problem && target.empty()) refuse(path, problem.message());
  if (fs::is_directory(target, problem)) refuse(path, "it is a folder");
  return target;
}

// A new file in the folder of its target, until it is renamed. A file that was there before is never used for
// it.
class staged_file {
 public:
  staged_file(const output_file& file, const fs::path& target) : path_(file.path), target_(target) {
    constexpr int most_names = 100;
    std::FILE* stream = nullptr;
    for (int i = 0; !stream && i < most_names; ++i) {
      beside_ = target_.string() + ".part" + (i ? std::to_string(i) : "");
      stream = std::fopen(beside_.string().c_str(), "wbx");
      if (!stream && errno != EEXIST) break;
    }
    try {
      write_or_refuse(stream, file);
    } catch (const usage_error&) {
      if (stream) remove();
      throw;
    }
  }
  staged_file(staged_file&& other) noexcept
      : path_(std::move(other.path_)), target_(std::move(other.target_)), beside_(std::move(other.beside_)) {
    other.beside_.clear();
  }
  ~staged_file() { remove(); }

  void move_into_place() {
    std::error_code problem;
    const fs::file_status before = fs::status(target_, problem);
    if (fs::exists(before)) fs::permissions(beside_, before.permissions(), problem);
    fs::rename(beside_, target_, problem);
    if (problem) refuse(path_, problem.message());
    beside_.clear();
  }

 private:
  void remove() {
    std::error_code ignored;
    if (!beside_.empty()) fs::remove(beside_, ignored);
  }

  std::string path_;
  fs::path target_, beside_; // beside_ is empty when nothing stands there
};

// Two files of the same name would leave only one of them.
void refuse_twice(const std::vector<fs::path>& targets, const fs::path& target, const std::string& path) {
  std::error_code problem;
  const auto is_same = [&](const fs::path& other) {
    return fs::weakly_canonical(fs::absolute(other, problem), problem) ==
           fs::weakly_canonical(fs::absolute(target, problem), problem);
  };
  if (std::any_of(targets.begin(), targets.end(), is_same))
    throw usage_error(quote(path) + " would be written twice: give each file a name of its own");
}

} // namespace

void write_whole(const std::vector<output_file>& files) {
  std::vector<staged_file> staged;
  std::vector<fs::path> targets;
  std::vector<const output_file*> devices;
  for (const output_file& file : files) {
    const fs::path target = target_of(file.path);
    std::error_code problem;
    if (fs::exists(target, problem) && !fs::is_regular_file(target, problem)) {
      devices.push_back(&file);
      continue;
    }
    refuse_twice(targets, target, file.path);
    check_writable(target, file.path);
    targets.push_back(target);
    staged.emplace_back(file, target);
  }
  for (const output_file* file : devices) write_or_refuse(std::fopen(file->path.c_str(), "wb"), *file);
  for (staged_file& file : staged) file.move_into_place();
}

void write_whole(const std::string& path, const std::string& text) {
  write_whole(std::vector<output_file>{{path, text}});
}

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return;
  throw usage_error(std::string("cannot write to standard output (") + std::strerror(errno) +
                    "): write to a disk with room, or to a program that reads to the end");
}

} // namespace demo
