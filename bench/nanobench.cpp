// The one place where nanobench's functions are compiled.
#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>
