// For threads of our own: the host's signals are for the host's threads.
#pragma once

#include <signal.h>

namespace ratel {

/// Blocks all signals on the calling thread.
inline void LeaveSignalsToTheHost() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace ratel
