// A redis-server of the test's own: on a free port of the loopback and a unix socket, in a folder of its own, stopped by its process id.
#pragma once

#include <hiredis/hiredis.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ratel::test {

/// A port that nobody listens on at the moment; for a node of a cluster with its bus port, 10000 above.
int FreePort(bool with_bus = false);

class RedisServer {
 public:
  /// Starts it and waits until it answers. `arguments` come after those that every test wants: no files, no output.
  explicit RedisServer(std::vector<std::string> arguments = {}, bool start = true);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  void AddArguments(const std::vector<std::string>& arguments) {
    arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  }
  void Start();
  /// SIGKILL, and waits until it is gone.
  void Kill();
  void Pause();   ///< SIGSTOP
  void Resume();  ///< SIGCONT
  bool running() const { return process_ > 0; }

  int port() const { return port_; }
  const std::string& folder() const { return folder_; }
  std::string url(std::string_view options = "") const;
  std::string unix_url(std::string_view options = "") const;

  /// One command on a connection of its own; the reply as text, "(error) ..." for an error.
  std::string Do(std::initializer_list<std::string_view> arguments);
  std::string Do(const std::vector<std::string>& arguments);
  /// Every key, in order.
  std::vector<std::string> Keys();
  long long Integer(std::initializer_list<std::string_view> arguments);
  /// The value of a line "name:value" of INFO.
  std::string Info(std::string_view section, std::string_view name);

  std::string password;         ///< with which Do logs in
  std::string sentinel_config;  ///< not empty: it is a sentinel with this in its file

 private:
  bool Answers();
  bool Has(std::string_view argument) const;
  bool is_node() const { return Has("--cluster-enabled"); }
  redisReply* Command(const std::vector<std::string>& arguments);

  std::string folder_;
  int port_ = 0;
  std::vector<std::string> arguments_;
  int process_ = -1;
};

}  // namespace ratel::test
