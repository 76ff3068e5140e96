// A network between gateways and a server that can be made to fail: slow, cut, silent, or with somebody else at its end.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ratel::test {

enum class Mood {
  kPass,
  kSlow,     ///< replies are held back for 40 ms
  kCut,      ///< questions get through; the connection is closed in place of their replies
  kSwallow,  ///< bytes vanish both ways, connections stay
  kRefuse    ///< every command is answered by an error of ours, and none reaches the server
};

class FaultyRelay {
 public:
  explicit FaultyRelay(int server_port);
  ~FaultyRelay();
  FaultyRelay(const FaultyRelay&) = delete;
  FaultyRelay& operator=(const FaultyRelay&) = delete;

  int port() const { return port_; }
  /// `error` is what kRefuse answers, such as "LOADING ...".
  void Become(Mood mood, std::string error = "");

 private:
  void Accept();
  void Serve(int client);
  /// What came from the client; false when the connection is over.
  bool FromClient(int client, int server);
  bool FromServer(int client, int server);
  std::string Error() const;

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<Mood> mood_{Mood::kPass};
  mutable std::mutex mutex_;
  std::string error_;
  std::atomic<bool> over_{false};
  std::vector<std::thread> connections_;
  std::thread thread_;
};

}  // namespace ratel::test
