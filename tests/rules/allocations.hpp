// How often this thread has allocated: the test program's operator new counts.
#pragma once

#include <cstddef>

namespace ratel::test {

size_t Allocations();

}  // namespace ratel::test
