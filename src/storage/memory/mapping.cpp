#include "storage/memory/mapping.hpp"

#include <sys/mman.h>

#include <new>

namespace ratel::memory {

Mapping::Mapping(size_t bytes) : address_(nullptr), bytes_(bytes) {
  address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address_ == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_NOHUGEPAGE
  // A request must not pay for zeroing 2 MiB, and pages that are not in use must not be resident.
  madvise(address_, bytes, MADV_NOHUGEPAGE);
#endif
}

Mapping::~Mapping() { munmap(address_, bytes_); }

}  // namespace ratel::memory
