#include "upstream.hpp"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "pipe.hpp"

namespace gateway {
namespace {

struct IgnoreCase {
  bool operator()(const std::string& a, const std::string& b) const { return strcasecmp(a.c_str(), b.c_str()) < 0; }
};
using Names = std::set<std::string, IgnoreCase>;

constexpr char kAside[] = "Gateway-Aside-";

/// Fields that belong to one connection, those that the library writes itself, and `Forwarded`: the gateway adds nobody
/// to that one, so the next hop would believe what the client wrote there.
const Names& ConnectionFields() {
  static const Names names = {"Connection",
                              "Keep-Alive",
                              "Proxy-Authenticate",
                              "Proxy-Authorization",
                              "Proxy-Connection",
                              "TE",
                              "Trailer",
                              "Transfer-Encoding",
                              "Upgrade",
                              "Expect",
                              "Content-Length",
                              "Forwarded",
                              "REMOTE_ADDR",
                              "REMOTE_PORT",
                              "LOCAL_ADDR",
                              "LOCAL_PORT"};
  return names;
}

/// The fields that `Connection` lists are the connection's, too.
Names ListedFields(const httplib::Headers& headers) {
  Names names;
  const auto [first, last] = headers.equal_range("Connection");
  for (auto field = first; field != last; ++field) {
    std::string_view rest = field->second;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      std::string_view name = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
      while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
      names.emplace(name);
    }
  }
  return names;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool IsTokenChar(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMarks.find(c) != std::string_view::npos;
}

/// RFC 9110, 5.6.2.
bool IsToken(std::string_view name) { return !name.empty() && std::all_of(name.begin(), name.end(), IsTokenChar); }

bool IsFieldValue(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) { return IsControl(c) && c != '\t'; });
}

bool IsField(const httplib::Headers::value_type& field) { return IsToken(field.first) && IsFieldValue(field.second); }

/// 1*DIGIT, and not more of them than a number holds.
bool IsLength(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 18 && std::all_of(text.begin(), text.end(), is_digit);
}

/// Whether the fields leave no doubt about where the body ends.
bool IsFramed(const httplib::Headers& headers) {
  const auto [length, last_length] = headers.equal_range("Content-Length");
  const auto [coding, last_coding] = headers.equal_range("Transfer-Encoding");
  for (auto field = length; field != last_length; ++field) {
    if (!IsLength(field->second) || field->second != length->second) return false;
  }
  if (coding == last_coding) return true;
  return length == last_length && std::next(coding) == last_coding &&
         strcasecmp(coding->second.c_str(), "chunked") == 0;
}

bool Passes(const std::string& name, const Names& listed) {
  return ConnectionFields().count(name) == 0 && listed.count(name) == 0;
}

std::string Restored(const std::string& name) {
  const size_t size = sizeof kAside - 1;
  return name.compare(0, size, kAside) == 0 ? name.substr(size) : name;
}

/// The chain of proxies, with our own peer at its end.
std::string ForwardedFor(const httplib::Request& request) {
  std::string chain;
  const auto [first, last] = request.headers.equal_range("X-Forwarded-For");
  for (auto line = first; line != last; ++line) chain += line->second + ", ";
  return chain + request.remote_addr;
}

/// One request to the server, on a thread of its own: the library's client pushes the answer, its server pulls it.
class Exchange {
 public:
  Exchange(const std::string& host, int port) : client_(host, port) {
    client_.set_url_encode(false);
    client_.set_decompress(false);
    client_.set_read_timeout(60);
  }
  ~Exchange() {
    pipe_.LeaveReader();
    client_.stop();
    if (thread_.joinable()) thread_.join();
  }

  /// Waits for the answer's status and fields; false when there is none. `body` is read to its end meanwhile.
  bool Begin(const httplib::Request& request, const httplib::ContentReader* body) {
    Prepare(request, body);
    std::future<bool> begun = begun_.get_future();
    thread_ = std::thread([this] { Run(); });
    return begun.get();
  }

  const httplib::Response& Head() const { return head_; }
  Pipe& Body() { return pipe_; }

 private:
  void Prepare(const httplib::Request& request, const httplib::ContentReader* body) {
    const Names listed = ListedFields(request.headers);
    request_.method = request.method;
    request_.path = request.target;
    for (const auto& [name, value] : request.headers) {
      if (Passes(name, listed) && strcasecmp(name.c_str(), "X-Forwarded-For") != 0) {
        request_.headers.emplace(Restored(name), value);
      }
    }
    request_.headers.emplace("X-Forwarded-For", ForwardedFor(request));
    request_.headers.emplace("Connection", "close");
    if (body != nullptr) PrepareBody(request, *body);
    request_.response_handler = [this](const httplib::Response& head) { return Start(head); };
    request_.content_receiver = [this](const char* data, size_t size, uint64_t, uint64_t) {
      return pipe_.Write(std::string(data, size));
    };
  }

  void PrepareBody(const httplib::Request& request, const httplib::ContentReader& body) {
    request_.content_provider_ = [&body](size_t, size_t, httplib::DataSink& sink) {
      const bool complete = body([&sink](const char* data, size_t size) { return sink.write(data, size); });
      if (complete && sink.done) sink.done();
      return complete;
    };
    request_.is_chunked_content_provider_ = !request.has_header("Content-Length");
    if (request_.is_chunked_content_provider_) {
      request_.headers.emplace("Transfer-Encoding", "chunked");
    } else {
      request_.content_length_ = static_cast<size_t>(request.get_header_value<uint64_t>("Content-Length"));
    }
  }

  /// False when the answer cannot be passed on. Fields that would break it up are left out.
  bool Start(const httplib::Response& head) {
    const bool framed = IsFramed(head.headers);
    head_.status = head.status;
    std::copy_if(head.headers.begin(), head.headers.end(), std::inserter(head_.headers, head_.headers.end()), IsField);
    started_ = true;
    begun_.set_value(framed);
    return framed;
  }

  void Run() {
    httplib::Response answer;
    httplib::Error error = httplib::Error::Success;
    const bool complete = client_.send(request_, answer, error);
    // An answer without a body (to HEAD, 204) comes without a call of the handler.
    if (complete && !started_) Start(answer);
    if (!started_) begun_.set_value(false);
    pipe_.Close(complete);
  }

  httplib::Client client_;
  httplib::Request request_;
  httplib::Response head_;
  std::promise<bool> begun_;
  bool started_ = false;
  Pipe pipe_;
  std::thread thread_;
};

void CopyHead(const httplib::Response& head, httplib::Response& response) {
  const Names listed = ListedFields(head.headers);
  const httplib::Headers ours = response.headers;
  response.status = head.status;
  for (const auto& [name, value] : head.headers) {
    if (Passes(name, listed) && ours.count(name) == 0) response.headers.emplace(name, value);
  }
}

bool HasNoBody(const httplib::Request& request, const httplib::Response& head) {
  return request.method == "HEAD" || head.status == 204 || head.status == 304 ||
         head.get_header_value("Content-Length") == "0";
}

/// Writes one piece of the answer; false ends the connection, so that a broken answer cannot pass for a whole one.
bool WritePiece(Exchange& exchange, httplib::DataSink& sink) {
  if (const std::optional<std::string> chunk = exchange.Body().Read()) return sink.write(chunk->data(), chunk->size());
  if (exchange.Body().Complete() && sink.done) sink.done();
  return exchange.Body().Complete();
}

}  // namespace

void PutAside(httplib::Request& request) {
  for (auto field = request.headers.begin(); field != request.headers.end();) {
    field = Restored(field->first) != field->first ? request.headers.erase(field) : std::next(field);
  }
  for (const char* name : {"Content-Type", "Content-Encoding", "Accept-Encoding", "Range"}) {
    const auto [first, last] = request.headers.equal_range(name);
    const std::vector<httplib::Headers::value_type> fields(first, last);
    request.headers.erase(first, last);
    for (const auto& field : fields) request.headers.emplace(kAside + field.first, field.second);
  }
  request.ranges.clear();
}

const char* Fault(const httplib::Request& request) {
  if (std::any_of(request.target.begin(), request.target.end(), IsControl)) return "the target has a control character";
  if (!std::all_of(request.headers.begin(), request.headers.end(), IsField)) return "a header field is malformed";
  return IsFramed(request.headers) ? nullptr : "the length of the body is ambiguous";
}

bool HasBody(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0");
}

Upstream::Upstream(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view text = url;
  const size_t colon = text.rfind(':');
  if (text.substr(0, kScheme.size()) != kScheme || colon < kScheme.size()) {
    throw std::invalid_argument("--upstream is http://HOST:PORT");
  }
  host_ = text.substr(kScheme.size(), colon - kScheme.size());
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port_);
  if (host_.empty() || error != std::errc() || end != text.data() + text.size() || port_ < 1 || port_ > 65535) {
    throw std::invalid_argument("--upstream is http://HOST:PORT");
  }
}

void Upstream::Forward(const httplib::Request& request, httplib::Response& response,
                       const httplib::ContentReader* body) const {
  const auto exchange = std::make_shared<Exchange>(host_, port_);
  if (!exchange->Begin(request, body)) {
    response.status = 502;
    response.set_content("the server behind the gateway gave no answer\n", "text/plain");
    return;
  }
  const httplib::Response& head = exchange->Head();
  CopyHead(head, response);
  if (HasNoBody(request, head)) {
    if (head.has_header("Content-Length"))
      response.set_header("Content-Length", head.get_header_value("Content-Length"));
    return;
  }
  const std::string type =
      head.has_header("Content-Type") ? head.get_header_value("Content-Type") : "application/octet-stream";
  response.headers.erase("Content-Type");  // the library writes it again
  const auto release = [exchange](bool) { exchange->Body().LeaveReader(); };
  if (head.has_header("Content-Length")) {
    response.set_content_provider(
        static_cast<size_t>(head.get_header_value<uint64_t>("Content-Length")), type,
        [exchange](size_t, size_t, httplib::DataSink& sink) { return WritePiece(*exchange, sink); }, release);
  } else {
    response.set_chunked_content_provider(
        type, [exchange](size_t, httplib::DataSink& sink) { return WritePiece(*exchange, sink); }, release);
  }
}

}  // namespace gateway
