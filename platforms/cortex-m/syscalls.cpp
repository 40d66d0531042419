// What newlib asks of a system, answered by semihosting: text goes to the host, the heap lies between data
// and stack, files do not exist. For test programs only; the library itself needs none of this.
#include <sys/stat.h>
#include <sys/times.h>

#include "semihosting.hpp"

extern "C" {
extern char heap_begin, stack_top;
void* __dso_handle = nullptr;

void* _sbrk(ptrdiff_t bytes) {
  static char* end = &heap_begin;
  const ptrdiff_t stack_room = 65536; // tables of tests stand there, too
  if (&stack_top - end < bytes + stack_room) return reinterpret_cast<void*>(-1);
  char* const begin = end;
  end += bytes;
  return begin;
}

int _write(int, const char* text, int count) {
  char piece[65];
  for (int done = 0; done < count;) {
    int length = 0;
    while (length < 64 && done < count) piece[length++] = text[done++];
    piece[length] = 0;
    board::write_text(piece);
  }
  return count;
}

int _fstat(int, struct stat* file) {
  file->st_mode = S_IFCHR;
  return 0;
}

[[noreturn]] void _exit(int code) { board::exit_with(static_cast<uint32_t>(code)); }
int _isatty(int) { return 1; }
int _read(int, char*, int) { return 0; }
int _lseek(int, int, int) { return 0; }
int _open(const char*, int, int) { return -1; }
int _close(int) { return -1; }
int _unlink(const char*) { return -1; }
int _link(const char*, const char*) { return -1; }
int _kill(int, int) { return -1; }
int _getpid() { return 1; }
int _gettimeofday(void*, void*) { return -1; }

// What clock() reads: under QEMU the hundredths of a second that the emulator itself has computed.
clock_t _times(struct tms* times) {
  *times = {};
  times->tms_utime = static_cast<clock_t>(board::ask_host(board::request::read_clock, nullptr));
  return times->tms_utime;
}

int __aeabi_atexit(void*, void (*)(void*), void*) {
  return 0;
} // a program that ends with the board destroys nothing
}
