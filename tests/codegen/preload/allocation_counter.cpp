// Preloaded into a program (LD_PRELOAD): reports at exit how often the program's own code allocated memory. Allocations
// by libraries are not counted: oneDNN creates small maps whenever a primitive runs, and packing buffers in its gemm.
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

std::atomic<long> requests{0};

struct Range {
  uintptr_t begin = UINTPTR_MAX, end = 0;
};

// The loader lists the program itself first.
int note_program(dl_phdr_info* info, size_t, void* to) {
  Range& range = *static_cast<Range*>(to);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
    range.begin = begin < range.begin ? begin : range.begin;
    range.end = end > range.end ? end : range.end;
  }
  return 1;
}

void count(void* caller) {
  static Range program;
  if (program.end == 0) dl_iterate_phdr(note_program, &program);
  const uintptr_t address = reinterpret_cast<uintptr_t>(caller);
  if (address >= program.begin && address < program.end) requests.fetch_add(1, std::memory_order_relaxed);
}

struct Teller {
  ~Teller() {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "own allocations %ld\n", requests.load());
    if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(1);
  }
} teller;

void* allocate(size_t bytes, void* caller) {
  count(caller);
  void* memory = __libc_malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes, __builtin_return_address(0)); }
void* operator new[](size_t bytes) { return allocate(bytes, __builtin_return_address(0)); }
void operator delete(void* at) noexcept { __libc_free(at); }
void operator delete[](void* at) noexcept { __libc_free(at); }
void operator delete(void* at, size_t) noexcept { __libc_free(at); }
void operator delete[](void* at, size_t) noexcept { __libc_free(at); }

extern "C" {

void* malloc(size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_calloc(n, bytes);
}
void* realloc(void* at, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_realloc(at, bytes);
}
int posix_memalign(void** to, size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  *to = __libc_memalign(alignment, bytes);
  return *to ? 0 : 12;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}

}  // extern "C"
