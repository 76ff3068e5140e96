#include "gateway.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

namespace gateway {
namespace {

constexpr int kThreads = 64;
/// Above that a path is refused: the library matches it with a regular expression, which recurses for every byte.
constexpr size_t kMaxPath = 2048;

ratel::Config ConfigOf(const Options& options) {
  ratel::Config config;
  config.LoadFile(options.rules);
  if (!options.redis.empty()) config.UseRedis(options.redis);
  if (!options.secret.empty()) config.SetSecret(options.secret);
  config.SetLog([](int level, std::string_view text) {
    const char* name = level == RL_LOG_ERROR ? "error" : level == RL_LOG_WARNING ? "warning" : "info";
    std::fprintf(stderr, "%s: %.*s\n", name, static_cast<int>(text.size()), text.data());
  });
  return config;
}

std::string_view Field(const httplib::Request& request, const char* name) {
  const auto field = request.headers.find(name);
  return field == request.headers.end() ? std::string_view() : std::string_view(field->second);
}

std::vector<std::string_view> Fields(const httplib::Request& request, const char* name) {
  std::vector<std::string_view> values;
  const auto [first, last] = request.headers.equal_range(name);
  for (auto field = first; field != last; ++field) values.emplace_back(field->second);
  return values;
}

/// A stand-in for authentication: believes what it is told. A real gateway verifies the token and takes the user from it.
std::string_view User(const httplib::Request& request) {
  const std::string_view user = Field(request, "X-User");
  if (!user.empty()) return user;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = Field(request, "Authorization");
  return authorization.substr(0, kBearer.size()) == kBearer ? authorization.substr(kBearer.size()) : std::string_view();
}

/// Another stand-in: a real gateway works the cost out from the request. Nothing when the field is not a positive number.
std::optional<int64_t> Cost(const httplib::Request& request) {
  const std::string_view text = Field(request, "X-Cost");
  if (text.empty()) return RL_COST_OF_RULE;
  int64_t units = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), units);
  if (error != std::errc() || end != text.data() + text.size() || units < 1) return std::nullopt;
  return units;
}

/// The id that the lines of a field tell, as in the middlewares of the other languages; empty when they tell none.
std::string_view IdempotencyId(const std::vector<std::string_view>& lines) {
  constexpr size_t kMaxId = 255;
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  const bool told = lines.size() == 1 && lines[0].size() <= kMaxId && std::ranges::all_of(lines[0], is_printable);
  return told ? lines[0] : std::string_view();
}

void SetText(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", "text/plain");
}

httplib::Server::HandlerResponse Handled(httplib::Response& response, int status, const std::string& text) {
  SetText(response, status, text);
  return httplib::Server::HandlerResponse::Handled;
}

/// Copies "Name: value\r\n" lines into a response.
void SetFields(httplib::Response& response, std::string_view lines) {
  while (!lines.empty()) {
    const size_t colon = lines.find(": ");
    const size_t end = lines.find("\r\n");
    response.set_header(std::string(lines.substr(0, colon)), std::string(lines.substr(colon + 2, end - colon - 2)));
    lines.remove_prefix(end + 2);
  }
}

/// A body that nobody reads would be taken for the next request: the connection has to end with this answer. So does
/// one where it is in doubt what is a body.
void LeaveBody(httplib::Request& request) {
  if (!HasBody(request) && Fault(request) == nullptr) return;
  request.headers.erase("Connection");
  request.headers.emplace("Connection", "close");
}

/// Closes the connection after an answer of our own that LeaveBody() marked. The library says "close" and yet reads on:
/// only an answer that fails to be written ends it, so this one fails when all of it is written.
void EndConnection(const httplib::Request& request, httplib::Response& response) {
  if (response.get_header_value("Connection") != "close" || response.content_provider_) return;
  const bool is_head = request.method == "HEAD";
  if (is_head)
    const_cast<httplib::Request&>(request).method = "GET";  // else nothing would be written, and nothing fail
  if (is_head) response.body.clear();
  response.content_length_ = std::max<size_t>(response.body.size(), 1);
  response.is_chunked_content_provider_ = false;
  response.content_provider_ = [body = response.body](size_t, size_t, httplib::DataSink& sink) {
    if (!body.empty()) sink.write(body.data(), body.size());
    return false;
  };
  response.body.clear();
}

bool TakesBody(const httplib::Request& request) {
  return request.method == "POST" || request.method == "PUT" || request.method == "PATCH" ||
         (request.method == "DELETE" && request.has_header("Content-Length"));
}

/// As docs/headers.md says: only what is over a limit is a 429.
int StatusOf(const ratel::Decision& decision) {
  switch (decision.Reason()) {
    case RL_REASON_BLOCKED:
      return 403;
    case RL_REASON_STORE:
      return 503;
    default:
      return 429;
  }
}

}  // namespace

Gateway::Gateway(const Options& options) : options_(options), registry_(ConfigOf(options)) {
  registry_.Watch(options.rules, std::chrono::milliseconds(options.watch_ms));
  if (!options.upstream.empty()) upstream_.emplace(options.upstream);

  server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server_.set_keep_alive_max_count(1000);
  server_.set_keep_alive_timeout(2);
  server_.set_tcp_nodelay(true);
  // Not SO_REUSEPORT, the library's own choice: two gateways would share a port without a word.
  server_.set_socket_options([](socket_t socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  server_.set_post_routing_handler(EndConnection);
  server_.set_pre_routing_handler([this](const auto& request, auto& response) { return Arrive(request, response); });

  const auto plain = [this](const auto& request, auto& response) { Answer(request, response, nullptr); };
  const auto with_body = [this](const auto& request, auto& response, const auto& body) {
    Answer(request, response, HasBody(request) ? &body : nullptr);
  };
  const char* const any = "[\\s\\S]*";
  server_.Get(any, plain).Options(any, plain);
  server_.Post(any, with_body).Put(any, with_body).Patch(any, with_body).Delete(any, with_body);
  // What the library refuses by itself leaves a connection that nobody should go on with.
  server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.has_header("Content-Type")) return;
    SetText(response, response.status, "bad request");
    response.set_header("Connection", "close");
  });
}

bool Gateway::Bind() {
  if (options_.port == 0) {
    port_ = server_.bind_to_any_port(options_.host.c_str());
  } else if (server_.bind_to_port(options_.host.c_str(), options_.port)) {
    port_ = options_.port;
  }
  return port_ > 0;
}

void Gateway::Stop() {
  // The library forgets a stop that comes before it serves.
  for (int i = 0; i < 1000 && !server_.is_running(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  server_.stop();
}

Gateway::Verdict Gateway::Arrive(const httplib::Request& received, httplib::Response& response) {
  // The library shows its own request as const.
  auto& request = const_cast<httplib::Request&>(received);
  PutAside(request);
  const Verdict verdict = Decide(request, response);
  if (verdict == Verdict::Handled || !TakesBody(request)) LeaveBody(request);
  return verdict;
}

Gateway::Verdict Gateway::Decide(const httplib::Request& request, httplib::Response& response) {
  if (const char* fault = Fault(request)) return Handled(response, 400, fault);
  if (upstream_ && HasBody(request) && !TakesBody(request)) {
    return Handled(response, 400, "a body does not go with this method");
  }
  // Who resets the connection at once has no address left. Asking would charge the bucket of all unknown clients.
  if (request.remote_addr.empty()) return Handled(response, 400, "the client has gone");
  if (request.path.size() > kMaxPath) return Handled(response, 414, "the path is too long");
  if (request.path == "/metrics") {
    response.set_content(registry_.Prometheus(), "text/plain; version=0.0.4");
    return Verdict::Handled;
  }
  const std::optional<int64_t> cost = Cost(request);
  if (!cost) return Handled(response, 400, "X-Cost is a whole number, at least 1");

  ratel::Request question;
  question.Method(request.method).Path(request.target);
  question.User(User(request)).ApiKey(Field(request, "X-Api-Key")).Cost(*cost);
  if (!options_.idempotency_header.empty())
    question.IdempotencyId(IdempotencyId(Fields(request, options_.idempotency_header.c_str())));
  ratel::Decision decision;
  std::string fields;
  try {
    decision = registry_.AllowHttp(question, request.remote_addr, Fields(request, "X-Forwarded-For"),
                                   Fields(request, "Forwarded"), fields);
  } catch (const ratel::Error& error) {
    if (error.Status() == RL_E_INVALID_ARGUMENT) return Handled(response, 400, error.what());
    return Handled(response, 503, "the limits could not be checked");
  }
  SetFields(response, fields);
  if (!decision) return Refuse(decision, response);
  if (decision.Delay().count() > 0) std::this_thread::sleep_for(decision.Delay());
  return Verdict::Unhandled;
}

Gateway::Verdict Gateway::Refuse(const ratel::Decision& decision, httplib::Response& response) const {
  response.status = StatusOf(decision);
  response.set_content(registry_.Problem(decision), "application/problem+json");
  return Verdict::Handled;
}

void Gateway::Answer(const httplib::Request& request, httplib::Response& response,
                     const httplib::ContentReader* body) const {
  if (upstream_) {
    upstream_->Forward(request, response, body);
    // Nobody knows how much of the body has been read.
    if (response.status == 502) LeaveBody(const_cast<httplib::Request&>(request));
    return;
  }
  size_t received = 0;
  if (body != nullptr) {
    (*body)([&received](const char*, size_t size) {
      received += size;
      return true;
    });
  }
  SetText(response, 200, "served " + request.method + ", " + std::to_string(received) + " bytes of body");
}

}  // namespace gateway
