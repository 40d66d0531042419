/* A plugin for QEMU that counts instructions between two marker functions, in all and by function. No emulated cache or pipeline is
 * in it, so the counts are the same on every run and every machine.
 *
 *   cc -O2 -fPIC -shared -o count_instructions.so count_instructions.c
 *   qemu-aarch64 -plugin ./count_instructions.so -d plugin program
 *
 * A line for each function, "counted NUMBER SYMBOL", goes to QEMU's log when the program ends. With the argument regions=on a line
 * "region NUMBER" goes there whenever the end marker is reached: what was counted since the last begin marker.
 *
 * The few entry points of QEMU are declared here, because its header is not packaged. All of them kept their form from version 1 of the
 * interface on; an emulator that insists on a later number gets it by -DPLUGIN_VERSION=4, for example. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif

typedef uint64_t plugin_id;
struct qemu_plugin_tb; /* a run of instructions that is entered at its top and left at its end */
struct qemu_plugin_insn;

extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* run);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* run, size_t index);
extern const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* insn);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb*));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*, void (*)(unsigned vcpu, void* data), int flags, void* data);
extern void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void* data), void* data);
extern void qemu_plugin_outs(const char* text);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_VERSION;

struct function {
  char* name;
  uint64_t executed;
  struct function* next;
};

struct run {
  struct function* of;
  size_t instructions;
};

static struct function* functions;
static int counting, tells_regions;
static uint64_t in_region;

static void* made(size_t size) {
  void* memory = calloc(1, size);
  if (!memory) abort(); /* the emulator has no way on either */
  return memory;
}

static struct function* function_named(const char* name) {
  for (struct function* f = functions; f; f = f->next)
    if (strcmp(f->name, name) == 0) return f;
  struct function* f = made(sizeof *f);
  f->name = made(strlen(name) + 1);
  strcpy(f->name, name);
  f->next = functions;
  return functions = f;
}

static void begin(unsigned vcpu, void* data) {
  (void)vcpu, (void)data;
  counting = 1;
  in_region = 0;
}

static void end(unsigned vcpu, void* data) {
  char line[64];
  (void)vcpu, (void)data;
  counting = 0;
  if (!tells_regions) return;
  snprintf(line, sizeof line, "region %" PRIu64 "\n", in_region);
  qemu_plugin_outs(line);
}

static void add(unsigned vcpu, void* data) {
  const struct run* r = data;
  (void)vcpu;
  if (!counting) return;
  r->of->executed += r->instructions;
  in_region += r->instructions;
}

/* The markers are left out of the count: begin counts only what is entered after it. */
static void translate(plugin_id id, struct qemu_plugin_tb* tb) {
  const char* symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0));
  (void)id;
  if (!symbol) symbol = "?";
  if (strcmp(symbol, "fovea_cost_begin") == 0) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, begin, 0, NULL);
  } else if (strcmp(symbol, "fovea_cost_end") == 0) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, end, 0, NULL);
  } else {
    struct run* r = made(sizeof *r);
    r->of = function_named(symbol);
    r->instructions = qemu_plugin_tb_n_insns(tb);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, add, 0, r);
  }
}

static void report(plugin_id id, void* data) {
  (void)id, (void)data;
  for (const struct function* f = functions; f; f = f->next) {
    char number[64];
    if (f->executed == 0) continue;
    snprintf(number, sizeof number, "counted %" PRIu64 " ", f->executed);
    qemu_plugin_outs(number);
    qemu_plugin_outs(f->name);
    qemu_plugin_outs("\n");
  }
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void* info, int count, char** arguments) {
  (void)info;
  for (int i = 0; i < count; ++i) tells_regions |= strcmp(arguments[i], "regions=on") == 0;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_atexit_cb(id, report, NULL);
  return 0;
}
