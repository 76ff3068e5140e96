#include "storage/memory/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <string_view>

namespace ratel::memory {
namespace {

// Linux 6.1; older C libraries have no name for it, older kernels refuse it.
[[maybe_unused]] constexpr int kCollapse = 25;

}  // namespace

Mapping::Mapping(size_t bytes) : reserved_bytes_(bytes >= kHugePage ? bytes + kHugePage : bytes) {
  reserved_ =
      mmap(nullptr, reserved_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved_ == MAP_FAILED) throw std::bad_alloc();
  const size_t to_boundary = -reinterpret_cast<uintptr_t>(reserved_) & (kHugePage - 1);
  address_ = static_cast<char*>(reserved_) + (bytes >= kHugePage ? to_boundary : 0);
#ifdef MADV_NOHUGEPAGE
  // A request must not pay for zeroing 2 MiB, and pages that are not in use must not be resident.
  madvise(reserved_, reserved_bytes_, MADV_NOHUGEPAGE);
#endif
}

Mapping::~Mapping() { munmap(reserved_, reserved_bytes_); }

void Mapping::OfferHuge([[maybe_unused]] size_t offset) const noexcept {
#ifdef MADV_HUGEPAGE
  madvise(As<char>() + offset, kHugePage, MADV_HUGEPAGE);
#endif
}

bool Mapping::MakeHuge([[maybe_unused]] size_t offset) const noexcept {
#ifdef __linux__
  OfferHuge(offset);
  return madvise(As<char>() + offset, kHugePage, kCollapse) == 0;
#else
  return false;
#endif
}

bool HugePagesAllowed() noexcept {
  // "always [madvise] never": what is in force stands in brackets. Asking at once works under "never", too, so it is looked at here.
  const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[64];
  const ssize_t size = read(file, text, sizeof text);
  close(file);
  return size > 0 && std::string_view(text, static_cast<size_t>(size)).find("[never]") == std::string_view::npos;
}

}  // namespace ratel::memory
