// A file as memory: pages are read when they are first touched, and shared by all programs that map the file.
#pragma once
#include <cstddef>
#include <string>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#else
#include <cstdio>
#include <memory>
#endif

namespace minilm {

// Nobody may shorten the file while it is mapped: touching what is gone would end the program.
class mapped_file {
 public:
  explicit mapped_file(const std::string& path) { open(path); }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  const std::string& problem() const { return problem_; } // empty: there is none
  const unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

#if defined(__unix__) || defined(__APPLE__)
  ~mapped_file() {
    if (size_ > 0) munmap(const_cast<unsigned char*>(data_), size_);
  }

 private:
  void open(const std::string& path) {
    // A pipe that nobody writes to is opened at once, and refused.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about = {};
    if (file < 0 || fstat(file, &about) != 0)
      problem_ = std::strerror(errno);
    else if (!S_ISREG(about.st_mode))
      problem_ = "it is not a file";
    else if (about.st_size > 0)
      map(file, static_cast<size_t>(about.st_size));
    if (file >= 0) close(file);
  }

  void map(int file, size_t size) {
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) {
      problem_ = std::strerror(errno);
      return;
    }
    data_ = static_cast<const unsigned char*>(memory);
    size_ = size;
  }
#else // without mmap the file is read as a whole
 private:
  void open(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (!file || std::fseek(file, 0, SEEK_END) != 0) {
      problem_ = "it cannot be opened";
    } else {
      size_ = static_cast<size_t>(std::ftell(file));
      memory_.reset(new unsigned char[size_]);
      std::rewind(file);
      if (std::fread(memory_.get(), 1, size_, file) != size_) problem_ = "it cannot be read";
      data_ = memory_.get();
    }
    if (file) std::fclose(file);
  }
  std::unique_ptr<unsigned char[]> memory_;
#endif

  std::string problem_;
  const unsigned char* data_ = nullptr;
  size_t size_ = 0;
};

} // namespace minilm
