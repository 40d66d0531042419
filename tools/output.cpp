// A file is moved into place when complete, so nobody ever finds half of it.
#include "output.hpp"

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

void write_or_refuse(const std::string& file, const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  if (!stream) refuse(path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  const bool closed = std::fclose(stream) == 0;
  if (written && closed) return;
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  if (file != path) fs::remove(file, ignored);
  refuse(path, why);
}

} // namespace

void write_whole(const std::string& path, const std::string& text) {
  std::error_code problem;
  if (path.empty()) throw usage_error("--svg has no file name: write --svg attention.svg");
  if (fs::is_directory(path, problem)) refuse(path, "it is a folder");
  if (fs::exists(path, problem) && !fs::is_regular_file(path, problem))
    return write_or_refuse(path, path, text);
  const fs::path target = fs::is_symlink(path, problem) ? fs::canonical(path, problem) : fs::path(path);
  const std::string beside = target.string() + ".part";
  write_or_refuse(beside, path, text);
  fs::rename(beside, target, problem);
  if (!problem) return;
  const std::string why = problem.message();
  fs::remove(beside, problem);
  refuse(path, why);
}

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return;
  throw usage_error(std::string("cannot write to standard output (") + std::strerror(errno) +
                    "): write to a disk with room, or to a program that reads to the end");
}

} // namespace demo
