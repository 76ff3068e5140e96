#include "redis/server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace ratel::test {

namespace {

/// The port that a socket was bound to, 0 when it could not be.
int Bind(int fd, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return bound ? ntohs(address.sin_port) : 0;
}

bool IsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const bool free = Bind(fd, port) != 0;
  close(fd);
  return free;
}

}  // namespace

int FreePort(bool with_bus) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const int port = Bind(fd, 0);
    close(fd);
    if (port != 0 && (!with_bus || (port + 10000 <= 65535 && IsFree(port + 10000)))) return port;
  }
  throw std::runtime_error("no free port");
}

RedisServer::RedisServer(std::vector<std::string> arguments, bool start) : arguments_(std::move(arguments)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "ratel-redis-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  port_ = FreePort(is_node());
  // Somebody else may have taken the port since.
  for (int attempt = 0; start && !running(); ++attempt) {
    try {
      Start();
    } catch (const std::exception&) {
      if (running() || attempt == 2) throw;
      port_ = FreePort(is_node());
    }
  }
}

RedisServer::~RedisServer() {
  if (running()) Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::Start() {
  const char* program = std::getenv("RATEL_REDIS_SERVER");
  std::vector<std::string> line = {program == nullptr ? "redis-server" : program};
  if (!sentinel_config.empty()) {
    const std::string file = folder_ + "/sentinel.conf";
    if (!std::filesystem::exists(file)) std::ofstream(file) << sentinel_config;
    line.insert(line.end(), {file, "--sentinel"});
  } else {
    line.insert(line.end(), {"--save", "", "--appendonly", "no"});
  }
  // A cluster that speaks TLS speaks nothing else on its port.
  if (Has("--tls-cluster")) line.insert(line.end(), {"--tls-port", std::to_string(port_)});
  line.insert(line.end(), {"--port", Has("--tls-cluster") ? "0" : std::to_string(port_), "--bind", "127.0.0.1", "--dir",
                           folder_, "--unixsocket", folder_ + "/s", "--logfile", folder_ + "/log"});
  line.insert(line.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  for (std::string& one : line) argv.push_back(one.data());
  argv.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (Answers()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = -1;
      throw std::runtime_error(line[0] + " did not start: install redis-server, and see " + folder_ + "/log");
    }
  }
  throw std::runtime_error("redis-server does not answer");
}

void RedisServer::Kill() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

void RedisServer::Pause() { kill(process_, SIGSTOP); }
void RedisServer::Resume() { kill(process_, SIGCONT); }

std::string RedisServer::url(std::string_view options) const {
  return "redis://127.0.0.1:" + std::to_string(port_) + "/0?" + std::string(options);
}
std::string RedisServer::unix_url(std::string_view options) const {
  return "unix://" + folder_ + "/s?" + std::string(options);
}

bool RedisServer::Has(std::string_view argument) const {
  return std::ranges::find(arguments_, argument) != arguments_.end();
}

bool RedisServer::Answers() {
  // An error is an answer, too.
  redisContext* context = redisConnectUnix((folder_ + "/s").c_str());
  auto* reply =
      context != nullptr && context->err == 0 ? static_cast<redisReply*>(redisCommand(context, "PING")) : nullptr;
  const bool answers = reply != nullptr;
  if (reply != nullptr) freeReplyObject(reply);
  if (context != nullptr) redisFree(context);
  return answers;
}

redisReply* RedisServer::Command(const std::vector<std::string>& arguments) {
  redisContext* context = redisConnectUnix((folder_ + "/s").c_str());
  if (context == nullptr || context->err != 0) throw std::runtime_error("no connection to redis-server");
  if (!password.empty()) freeReplyObject(redisCommand(context, "AUTH %s", password.c_str()));
  std::vector<const char*> argv;
  std::vector<size_t> sizes;
  for (const std::string& one : arguments) {
    argv.push_back(one.data());
    sizes.push_back(one.size());
  }
  auto* reply =
      static_cast<redisReply*>(redisCommandArgv(context, static_cast<int>(argv.size()), argv.data(), sizes.data()));
  redisFree(context);
  if (reply == nullptr) throw std::runtime_error("no reply from redis-server");
  return reply;
}

std::string RedisServer::Do(std::initializer_list<std::string_view> arguments) {
  return Do(std::vector<std::string>(arguments.begin(), arguments.end()));
}

std::string RedisServer::Do(const std::vector<std::string>& arguments) {
  redisReply* reply = Command(arguments);
  std::string text = reply->str == nullptr ? "" : std::string(reply->str, static_cast<size_t>(reply->len));
  if (reply->type == REDIS_REPLY_INTEGER) text = std::to_string(reply->integer);
  if (reply->type == REDIS_REPLY_ERROR) text = "(error) " + text;
  freeReplyObject(reply);
  return text;
}

long long RedisServer::Integer(std::initializer_list<std::string_view> arguments) { return std::stoll(Do(arguments)); }

std::string RedisServer::Info(std::string_view section, std::string_view name) {
  const std::string text = "\n" + Do({"INFO", section});
  const size_t at = text.find("\n" + std::string(name) + ":");
  if (at == std::string::npos) return "";
  const size_t from = at + name.size() + 2;
  return text.substr(from, text.find('\r', from) - from);
}

std::vector<std::string> RedisServer::Keys() {
  redisReply* reply = Command({"KEYS", "*"});
  std::vector<std::string> keys;
  for (size_t i = 0; i < reply->elements; ++i)
    keys.emplace_back(reply->element[i]->str, static_cast<size_t>(reply->element[i]->len));
  freeReplyObject(reply);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace ratel::test
